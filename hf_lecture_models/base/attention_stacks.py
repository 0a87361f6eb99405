# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The forward passes of a Transformer's encoder and decoder: inputs, positions, kernels and caches."""

from functools import partial
from typing import Any

from torch import Tensor, nn
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput, BaseModelOutputWithPastAndCrossAttentions

from hf_lecture_models.base.attention_models import AttentionPreTrainedModel, TextInputs
from hf_lecture_models.base.encoder_decoder import checked_source, keys_and_values
from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.layers.bidirectional_attention import bidirectional_attention
from hf_lecture_models.layers.causal_attention import causal_attention
from hf_lecture_models.layers.cross_attention import CrossAttention
from hf_lecture_models.layers.inputs import input_vectors
from hf_lecture_models.layers.token_positions import bounded_positions


class EncoderStack(AttentionPreTrainedModel):
    """An encoder, which reads sources; an architecture defines `read`.

    `forward` reads ids (batch, source) or `inputs_embeds`, with `attention_mask`, 1 = real token. It returns
    `last_hidden_state` (batch, source, hidden_size) and on request `hidden_states` and `attentions`.
    """

    embed_tokens: nn.Embedding

    def read(self, text: TextInputs) -> Tensor:
        """Return the last hidden state, (batch, source, hidden)."""
        raise NotImplementedError(f"{type(self).__name__} must define read: from word vectors to the last hidden state")

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: Any,
    ) -> BaseModelOutput:
        """Read the sources."""
        words = input_vectors(self.embed_tokens, input_ids, inputs_embeds)
        positions = bounded_positions(words, attention_mask, self.longest_input)
        name, options = self.attention_choice(kwargs)
        attention = partial(bidirectional_attention, name, attention_mask=attention_mask, **options)
        return BaseModelOutput(self.read(TextInputs(words, positions, None, attention_mask, attention)))


class DecoderStack(AttentionPreTrainedModel):
    """A decoder, which reads the target so far and the encoder's states of the source; an architecture defines `read`.

    `forward` reads ids (batch, target) or `inputs_embeds`, with `attention_mask` (batch, seen + target), in which 1 is
    a real token; `encoder_hidden_states` (batch, source, hidden_size) with `encoder_attention_mask`; and an
    `EncoderDecoderCache`, to which it adds the keys and values of this call. It returns `last_hidden_state` (batch,
    target, hidden_size), `past_key_values`, and on request `hidden_states`, `attentions` (batch, heads, target, seen +
    target) and `cross_attentions` (batch, heads, target, source).
    """

    _can_record_outputs = AttentionPreTrainedModel._can_record_outputs | {"cross_attentions": CrossAttention}
    embed_tokens: nn.Embedding

    def read(
        self, text: TextInputs, source: Tensor, source_mask: Tensor | None, cache: EncoderDecoderCache | None
    ) -> Tensor:
        """Return the last hidden state, (batch, target, hidden).

        Args:
            text: the target; its cache is that of its own keys and values.
            source: (batch, source, hidden), the encoder's states.
            source_mask: (batch, source), 1 = real token.
            cache: keys and values of target and source.
        """
        raise NotImplementedError(f"{type(self).__name__} must define read: from word vectors to the last hidden state")

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """Read the targets."""
        cache = keys_and_values(self.config, past_key_values, use_cache)
        seen = None if cache is None else cache.self_attention_cache
        words = input_vectors(self.embed_tokens, input_ids, inputs_embeds, "decoder_")
        positions = bounded_positions(words, attention_mask, self.longest_input, cache=seen)
        source = checked_source(encoder_hidden_states, words)
        name, options = self.attention_choice(kwargs)
        attention = partial(causal_attention, name, attention_mask=attention_mask, cache=seen, **options)
        cross = partial(bidirectional_attention, name, attention_mask=encoder_attention_mask, source=source, **options)
        text = TextInputs(words, positions, seen, attention_mask, attention, cross)
        hidden = self.read(text, source, encoder_attention_mask, cache)
        return BaseModelOutputWithPastAndCrossAttentions(hidden, cache if use_cache else None)
