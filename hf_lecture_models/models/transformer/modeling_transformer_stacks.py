# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The Transformer's encoder and decoder: word vectors, positions and blocks; equations in `modeling_transformer`.

Deviations, which the list of `modeling_transformer` has too:
- From the papers: initial weights, and that padding takes no position.
- From N s44-46: one T for all blocks.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput, BaseModelOutputWithPastAndCrossAttentions

from hf_lecture_models.base.attention_models import AttentionPreTrainedModel
from hf_lecture_models.base.encoder_decoder import checked_source, keys_and_values
from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.cross_attention import CrossAttention, LengthTransform
from hf_lecture_models.layers.inputs import input_vectors
from hf_lecture_models.layers.positions import (
    BidirectionalRelativePositions,
    LearnedPositions,
    RelativePositions,
    SinesFirstPositions,
    SinusoidalPositions,
)
from hf_lecture_models.layers.token_positions import bounded_positions, key_positions
from hf_lecture_models.models.transformer.configuration_transformer import LectureTransformerConfig
from hf_lecture_models.models.transformer.modeling_transformer_blocks import (
    DECODER_BLOCKS,
    ENCODER_BLOCKS,
    target_cache,
)

ABSOLUTE_POSITIONS: dict[str, Callable[[LectureTransformerConfig], nn.Module]] = {
    # The word vectors that these get are multiplied by √d already, if they are to be.
    "sinusoidal": lambda config: SinusoidalPositions(config.hidden_size, factor=1.0),
    "sines_first": lambda config: SinesFirstPositions(config.hidden_size, factor=1.0),
    "learned": lambda config: LearnedPositions(config.max_position_embeddings, config.hidden_size),
}


class LectureTransformerPreTrainedModel(AttentionPreTrainedModel):
    """The base class of encoder, decoder, and the models of both."""

    config: LectureTransformerConfig
    # Marian's sinusoids, which are computed here.
    _keys_to_ignore_on_load_unexpected = [r"(^|\.)(en|de)coder\.embed_positions\.weight$"]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, nn.Linear):
            init.xavier_uniform_(module.weight)
            gain: Any = getattr(module, "query_gain", None)
            if gain is not None:
                weight = module.weight.clone()
                weight[: self.config.hidden_size] *= gain
                init.copy_(module.weight, weight)
        elif isinstance(module, nn.Embedding):
            init.normal_(module.weight, std=self.config.hidden_size**-0.5)


class TransformerStack(LectureTransformerPreTrainedModel):
    """Word vectors with positions, a stack of blocks, and pre-LN's last norm: an encoder or a decoder."""

    relative_positions: ClassVar[type[RelativePositions]]
    """The class of "relative_buckets", which all blocks share."""
    input_prefix: ClassVar[str] = ""
    """Errors put it in front of `input_ids`."""

    def __init__(self, config: LectureTransformerConfig, vocab_size: int, blocks: list[nn.Module]):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(vocab_size, config.hidden_size)
        self.word_factor = math.sqrt(config.hidden_size) if config.scale_embedding else 1.0
        self.position_encoding = self._make_positions(config, blocks[0])
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(blocks)
        self.final_norm: nn.Module = nn.Identity()
        if config.norm_position == "pre":
            self.final_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.post_init()

    def _make_positions(self, config: LectureTransformerConfig, block: Any) -> nn.Module:
        if config.position_encoding != "relative_buckets":
            return ABSOLUTE_POSITIONS[config.position_encoding](config)
        buckets, farthest = config.relative_attention_num_buckets, config.relative_attention_max_distance
        return self.relative_positions(block.self_attn.num_heads, buckets, farthest)

    def embed(
        self, ids: Tensor | None, embeds: Tensor | None, attention_mask: Tensor | None, cache: Cache | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """√d w + p, (batch, seq, hidden), with dropout; and the b of self-attention, (batch or 1, heads, seq, keys)."""
        words = self.word_factor * input_vectors(self.embed_tokens, ids, embeds, self.input_prefix)
        positions = bounded_positions(words, attention_mask, self.longest_input, cache=cache)
        keys = positions[:, None]
        if cache is not None and isinstance(self.position_encoding, RelativePositions):
            keys = key_positions(words, positions, attention_mask, cache)
        hidden, bias = self.position_encoding(words, positions, keys)
        return self.dropout(hidden), bias


class TransformerEncoder(TransformerStack):
    """Read the source: ids or `inputs_embeds` (batch, source), and `attention_mask`, 1 = real token.

    It returns `last_hidden_state` (batch, source, hidden_size) and on request `hidden_states` and `attentions`.
    """

    relative_positions = BidirectionalRelativePositions

    def __init__(self, config: LectureTransformerConfig):
        block = ENCODER_BLOCKS[config.norm_position]
        super().__init__(config, config.vocab_size, [block(config) for _ in range(config.num_hidden_layers)])

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: Any,
    ) -> BaseModelOutput:
        """Read the sources."""
        hidden, bias = self.embed(input_ids, inputs_embeds, attention_mask)
        attention = self.bidirectional_attention(hidden, bias, attention_mask, **kwargs)
        for layer in self.layers:
            hidden = layer(hidden, attention)
        return BaseModelOutput(last_hidden_state=self.final_norm(hidden))


class TransformerDecoder(TransformerStack):
    """Read the target so far, ids or `inputs_embeds` (batch, target), and the encoder's states of the source.

    It returns `last_hidden_state` (batch, target, hidden_size), `past_key_values`, and on request `hidden_states`,
    `attentions` (batch, heads, target, seen + target) and `cross_attentions` (batch, heads, target, source),
    which "source_query_key" does not have: none of its weights belongs to a source token.
    """

    relative_positions = RelativePositions
    input_prefix = "decoder_"
    _can_record_outputs = AttentionPreTrainedModel._can_record_outputs | {"cross_attentions": CrossAttention}

    def __init__(self, config: LectureTransformerConfig):
        block, count = DECODER_BLOCKS[config.norm_position], config.decoder_layers or config.num_hidden_layers
        vocab_size = config.decoder_vocab_size or config.vocab_size
        super().__init__(config, vocab_size, [block(config, index) for index in range(count)])
        self.length_transform: LengthTransform | None = None
        if config.cross_attention == "source_query_key":
            self.length_transform = LengthTransform(config.max_position_embeddings)

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
        past_key_values = keys_and_values(self.config, past_key_values, use_cache)
        seen = target_cache(past_key_values)
        hidden, bias = self.embed(input_ids, inputs_embeds, attention_mask, seen)
        source = checked_source(encoder_hidden_states, hidden)
        masked = self.causal_attention(hidden, bias, attention_mask, seen, **kwargs)
        # Nguyen's attention has the same mask; the distances' b is of self-attention alone.
        cross = masked._replace(position_bias=None)
        if self.length_transform is None:
            cross = self.bidirectional_attention(hidden, None, encoder_attention_mask, source, **kwargs)
        else:
            source_positions = bounded_positions(source, encoder_attention_mask, self.longest_input)
            positions = bounded_positions(hidden, attention_mask, self.longest_input, cache=seen)
            source = self.length_transform(source, encoder_attention_mask, source_positions, positions)
        for layer in self.layers:
            hidden = layer(hidden, masked, source, cross, past_key_values=past_key_values)
        return BaseModelOutputWithPastAndCrossAttentions(
            last_hidden_state=self.final_norm(hidden), past_key_values=past_key_values if use_cache else None
        )
