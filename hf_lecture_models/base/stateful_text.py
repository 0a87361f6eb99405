# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models that read texts from left to right and carry a state of fixed size from call to call."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from transformers.modeling_outputs import BaseModelOutputWithPast

from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.layers.inputs import input_vectors, padding_mask
from hf_lecture_models.layers.recurrent_cache import RecurrentCache, State, carried_states, seen_tokens


class StatefulTextModel:
    """A base model with word vectors `embed_tokens`; it stands before the pre-trained base class.

    An architecture defines `state_shapes` and `read`. `forward` reads sequences of ids (batch, seq), or of
    `inputs_embeds` (batch, seq, input_size). In `attention_mask` (batch, seq) 1 is a real token; a mask that also
    covers the tokens of earlier calls is cut to this call's. Padding, wherever it is, outputs zeros and leaves the
    state as it was. `past_key_values` is the state to start from and is not changed; with `use_cache` the state at the
    end is returned as a new `RecurrentCache`.

    It returns `last_hidden_state` (batch, seq, config.output_size), `past_key_values`, and on request `hidden_states`:
    the word vectors and each layer's output, the last one being `last_hidden_state`.
    """

    config: Any
    embed_tokens: Any
    shown_states: Any

    def state_shapes(self, batch: int) -> Sequence[Sequence[tuple[int, ...]]]:
        """Return, for each layer, the shapes of the tensors of its state."""
        raise NotImplementedError(f"{type(self).__name__} must define state_shapes")

    def read(
        self, words: Tensor, mask: Tensor | None, states: list[State | None]
    ) -> tuple[Tensor, Sequence[State | None] | None]:
        """Return the last hidden state, and each layer's state after the texts; None for a model without a state.

        Args:
            words: (batch, seq, input_size), the word vectors.
            mask: (batch, seq) bool, True = real token; None where all are.
            states: each layer's state before the first word, None at the beginning of the texts.
        """
        raise NotImplementedError(f"{type(self).__name__} must define read: the equations of the model")

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: RecurrentCache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: bool,
    ) -> BaseModelOutputWithPast:
        """Read the sequences, from their beginning or from the state in `past_key_values`."""
        if getattr(self.config, "bidirectional", False) and past_key_values is not None:
            raise ValueError("a bidirectional model cannot go on from past_key_values: it reads the whole text at once")
        words = input_vectors(self.embed_tokens, input_ids, inputs_embeds)
        batch, seq, _ = words.shape
        states = carried_states(past_key_values, self.state_shapes(batch))
        mask = None if attention_mask is None else padding_mask(attention_mask, words, seen_tokens(past_key_values))
        hidden, after = self.read(words, mask, states)
        cache = RecurrentCache.after(past_key_values, after, seq) if use_cache and after is not None else None
        # Where layers are recorded, their outputs take the place of these states.
        shown = self.shown_states(kwargs.get("output_hidden_states"), words, hidden)
        return BaseModelOutputWithPast(hidden, cache, shown)
