# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A Transformer that reads texts in both directions, from ids to the states of its last block."""

from functools import partial
from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutputWithPooling

from hf_lecture_models.base.attention_models import BidirectionalPreTrainedModel, TextInputs
from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.layers.attention_kernels import ATTENTION_INSTANCES
from hf_lecture_models.layers.bidirectional_attention import bidirectional_attention
from hf_lecture_models.layers.inputs import input_vectors
from hf_lecture_models.layers.token_positions import bounded_positions


class TextEncoderPreTrainedModel(BidirectionalPreTrainedModel):
    """A Transformer that reads texts, or pairs of them, in both directions; the base model defines `read`.

    `forward` reads sequences of ids (batch, seq), or of `inputs_embeds` (batch, seq, hidden_size), which take the place
    of the word vectors. In `attention_mask` (batch, seq) 1 is a real token; one of four axes says for each position
    what it may attend to (`layers/masks.py`). `token_type_ids` (batch, seq) are 0 in the first text of a pair, and
    everywhere if left out, and 1 in the second. `position_ids` (batch, seq) count the real tokens of each row from 0
    unless given; one that is not below `longest_input` is a ValueError, and a 0 within a row begins another text, which
    attends to none before it.

    It returns `last_hidden_state` (batch, seq, hidden_size), `pooler_output` (batch, hidden_size) if the model makes
    one, and on request `hidden_states` (the input of the first block, each block's output) and `attentions` (batch,
    heads, seq, seq) of each block.
    """

    _supports_attention_backend = True
    embed_tokens: nn.Embedding

    def read(self, text: TextInputs, token_type_ids: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return the last hidden state, (batch, seq, hidden), and the vector of the whole, (batch, hidden), or None."""
        raise NotImplementedError(f"{type(self).__name__} must define read: from word vectors to the last hidden state")

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPooling:
        """Read the sequences."""
        if ATTENTION_INSTANCES in kwargs:
            self.check_served_call(kwargs[ATTENTION_INSTANCES], attention_mask, position_ids, None)
        words = input_vectors(self.embed_tokens, input_ids, inputs_embeds)
        counted = attention_mask if position_ids is None else None
        positions = bounded_positions(words, counted, self.position_limit(kwargs), position_ids)
        name, options = self.attention_choice(kwargs)
        attention = partial(
            bidirectional_attention, name, attention_mask=attention_mask, position_ids=position_ids, **options
        )
        text = TextInputs(words, positions, None, attention_mask, attention)
        return BaseModelOutputWithPooling(*self.read(text, token_type_ids))
