# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models that make one vector of a text's words, which are coded as numbers, one-hot vectors or trained vectors."""

from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutputWithPooling

from hf_lecture_models.base.fixed_vocabulary import keep_vocabulary
from hf_lecture_models.base.modeling import LecturePreTrainedModel, model_forward
from hf_lecture_models.layers.input_codings import word_mask
from hf_lecture_models.layers.inputs import look_up, token_ids


class WordInputsPreTrainedModel(LecturePreTrainedModel):
    """A model that codes words by `embed_tokens` and reads them in `read`.

    `forward` reads ids (batch, seq); a row may be empty. In `attention_mask` (batch, seq) 1 is a real token; without
    one, all are real. The configuration's `bos_token_id`, `eos_token_id` and `pad_token_id` are left out either way.

    It returns `pooler_output` (batch, size), the text's vector, and `last_hidden_state` (batch, seq, size), a vector of
    each word, 0 for tokens that are left out; on request `hidden_states`, the last of which is `last_hidden_state`.
    """

    embed_tokens: nn.Module

    def read(self, u: Tensor, words: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
        """Return the `hidden_states` and the text's vector.

        Args:
            u: (batch, seq, size), the coded words, 0 elsewhere.
            words: (batch, seq) bool, the tokens that are words.
        """
        raise NotImplementedError(f"{type(self).__name__} must define read: how it reads the words of a text")

    @model_forward
    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **kwargs: bool
    ) -> BaseModelOutputWithPooling:
        """Read the words of each text."""
        ids, config = token_ids(input_ids, allow_empty=True), self.config
        ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
        words = word_mask(ids, attention_mask, [config.bos_token_id, config.pad_token_id, *ends])
        u = look_up(self.embed_tokens, ids).where(words.unsqueeze(-1), 0.0)
        states, vector = self.read(u, words)
        return BaseModelOutputWithPooling(
            states[-1], vector, self.shown_states(kwargs.get("output_hidden_states"), *states)
        )

    def resize_token_embeddings(self, new_num_tokens: int | None = None, *args: Any, **kwargs: Any) -> Any:
        """Resize the vocabulary, as transformers does; refused with a fixed coding, which has no vectors of words."""
        if self.config.has_word_vectors:
            return super().resize_token_embeddings(new_num_tokens, *args, **kwargs)
        reason = (
            f"a model with input_coding={self.config.input_coding!r} cannot be resized: words have no vectors of their "
            "own, and its size is part of the coding; train a new model with vocab_size=len(tokenizer)"
        )
        return keep_vocabulary(self, reason, new_num_tokens, *args, **kwargs)
