# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A causal Transformer, from ids to the states of its last block."""

from functools import partial
from typing import Any

from torch import Tensor, nn
from transformers.cache_utils import Cache, DynamicCache
from transformers.modeling_outputs import BaseModelOutputWithPast

from hf_lecture_models.base.attention_models import AttentionPreTrainedModel, TextInputs
from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.layers.attention_kernels import ATTENTION_INSTANCES
from hf_lecture_models.layers.causal_attention import causal_attention
from hf_lecture_models.layers.inputs import input_vectors
from hf_lecture_models.layers.token_positions import bounded_positions


class CausalPreTrainedModel(AttentionPreTrainedModel):
    """A causal Transformer; the base model of an architecture defines `read`.

    `forward` reads sequences of ids (batch, seq), or of `inputs_embeds` (batch, seq, hidden_size), which take the place
    of the word vectors. In `attention_mask` (batch, seen + seq) 1 is a real token; one of four axes says for each
    position what it may attend to (`layers/masks.py`). `position_ids` (batch, seq) count the real tokens of each row
    from 0 unless given; one that is not below `longest_input` is a ValueError. Without a mask, positions that begin
    again at 0 begin another text, which attends to none before it. `past_key_values` holds keys and values of the
    tokens seen before; those of this call are added to it.

    It returns `last_hidden_state` (batch, seq, hidden_size), `past_key_values`, and on request `hidden_states` (the
    input of the first block, each block's output, but last `last_hidden_state`) and `attentions` (batch, heads, seq,
    seen + seq) of each block.
    """

    _supports_attention_backend = True
    _reads_packed_texts = True
    embed_tokens: nn.Module

    def read(self, text: TextInputs) -> Tensor:
        """Return the last hidden state, (batch, seq, hidden)."""
        raise NotImplementedError(f"{type(self).__name__} must define read: from word vectors to the last hidden state")

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPast:
        """Read the sequences."""
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        if ATTENTION_INSTANCES in kwargs:
            self.check_served_call(kwargs[ATTENTION_INSTANCES], attention_mask, position_ids, past_key_values)
        words = input_vectors(self.embed_tokens, input_ids, inputs_embeds)
        limit = self.position_limit(kwargs)
        positions = bounded_positions(words, attention_mask, limit, position_ids, past_key_values)
        name, options = self.attention_choice(kwargs)
        options = {**options, "attention_mask": attention_mask, "cache": past_key_values, "position_ids": position_ids}
        attention = partial(causal_attention, name, **options)
        hidden = self.read(TextInputs(words, positions, past_key_values, attention_mask, attention))
        return BaseModelOutputWithPast(hidden, past_key_values if use_cache else None)
