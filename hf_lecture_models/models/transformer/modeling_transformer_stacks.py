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
from transformers.cache_utils import EncoderDecoderCache

from hf_lecture_models.base.attention_models import AttentionPreTrainedModel, TextInputs
from hf_lecture_models.base.attention_stacks import DecoderStack, EncoderStack
from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.cross_attention import LengthTransform
from hf_lecture_models.layers.key_positions import key_positions
from hf_lecture_models.layers.positions import (
    BidirectionalRelativePositions,
    LearnedPositions,
    NoPositions,
    RelativePositions,
    SinesFirstPositions,
    SinusoidalPositions,
)
from hf_lecture_models.layers.token_positions import bounded_positions
from hf_lecture_models.models.transformer.configuration_transformer import LectureTransformerConfig
from hf_lecture_models.models.transformer.modeling_transformer_blocks import DECODER_BLOCKS, ENCODER_BLOCKS

ABSOLUTE_POSITIONS: dict[str, Callable[[LectureTransformerConfig], nn.Module]] = {
    # The word vectors that these get are multiplied by √d already, if they are to be.
    "sinusoidal": lambda config: SinusoidalPositions(config.hidden_size, factor=1.0),
    "sines_first": lambda config: SinesFirstPositions(config.hidden_size, factor=1.0),
    "learned": lambda config: LearnedPositions(config.max_position_embeddings, config.hidden_size),
    "none": lambda config: NoPositions(),
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
            gains = torch.ones_like(module.weight[:, :1])
            gains[: self.config.hidden_size] = getattr(module, "query_gain", 1.0)
            init.copy_(module.weight, gains * module.weight)
        elif isinstance(module, nn.Embedding):
            init.normal_(module.weight, std=self.config.hidden_size**-0.5)


class TransformerStack(LectureTransformerPreTrainedModel):
    """Word vectors with positions, a stack of blocks, and pre-LN's last norm: an encoder or a decoder."""

    relative_positions: ClassVar[type[RelativePositions]]
    """The class of "relative_buckets", which all blocks share."""

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

    def embed(self, text: TextInputs) -> tuple[Tensor, Tensor | None]:
        """√d w + p, (batch, seq, hidden), with dropout; and the b of self-attention, (batch or 1, heads, seq, keys)."""
        keys = text.positions[:, None]
        if text.cache is not None and isinstance(self.position_encoding, RelativePositions):
            keys = key_positions(text.words, text.positions, text.attention_mask, text.cache)
        hidden, bias = self.position_encoding(self.word_factor * text.words, text.positions, keys)
        return self.dropout(hidden), bias


class TransformerEncoder(TransformerStack, EncoderStack):
    """Read the source."""

    relative_positions = BidirectionalRelativePositions

    def __init__(self, config: LectureTransformerConfig):
        block = ENCODER_BLOCKS[config.norm_position]
        super().__init__(config, config.vocab_size, [block(config) for _ in range(config.num_hidden_layers)])

    def read(self, text: TextInputs) -> Tensor:
        """e of each source token after the last block, (batch, source, hidden)."""
        hidden, bias = self.embed(text)
        attention = text.attention(hidden, bias)
        for layer in self.layers:
            hidden = layer(hidden, attention)
        return self.final_norm(hidden)


class TransformerDecoder(TransformerStack, DecoderStack):
    """Read the target so far, and the source.

    With "source_query_key" the outputs have no `cross_attentions`: all weights belong to tokens of the target.
    """

    relative_positions = RelativePositions

    def __init__(self, config: LectureTransformerConfig):
        block, count = DECODER_BLOCKS[config.norm_position], config.decoder_layers or config.num_hidden_layers
        vocab_size = config.decoder_vocab_size or config.vocab_size
        super().__init__(config, vocab_size, [block(config, index) for index in range(count)])
        self.length_transform: LengthTransform | None = None
        if config.cross_attention == "source_query_key":
            self.length_transform = LengthTransform(config.max_position_embeddings)

    def read(
        self, text: TextInputs, source: Tensor, source_mask: Tensor | None, cache: EncoderDecoderCache | None
    ) -> Tensor:
        """h of each target token after the last block, (batch, target, hidden)."""
        hidden, bias = self.embed(text)
        masked = text.attention(hidden, bias)
        if self.length_transform is None:
            cross = text.cross_attention(hidden)
        else:
            # Nguyen's attention has the same mask; the distances' b belongs to self-attention alone.
            cross = masked._replace(position_bias=None)
            source_positions = bounded_positions(source, source_mask, self.longest_input)
            source = self.length_transform(source, source_mask, source_positions, text.positions)
        for layer in self.layers:
            hidden = layer(hidden, masked, source, cross, layer_past=cache)
        return self.final_norm(hidden)
