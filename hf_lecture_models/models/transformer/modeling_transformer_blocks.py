# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The blocks of the Transformer's encoder and decoder, post-LN and pre-LN; equations in `modeling_transformer`.

Deviations:
- From the paper: dropout of the attention weights, off unless asked for, and pre-LN, a class of its own. With relative
  buckets the scores q_t · k_s are not divided by √head_dim.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from hf_lecture_models.layers.activations import ACTIVATIONS
from hf_lecture_models.layers.attention import AttentionKernel, MultiHeadAttention
from hf_lecture_models.layers.bidirectional_attention import BidirectionalSelfAttention
from hf_lecture_models.layers.causal_attention import CausalSelfAttention
from hf_lecture_models.layers.cross_attention import CrossAttention, SourceQueryKeyAttention
from hf_lecture_models.layers.position_wise import PositionWise
from hf_lecture_models.models.transformer.configuration_transformer import LectureTransformerConfig


class PostNorm:
    """The sum around a sublayer f, post-LN: the norm comes after it (Vaswani et al.)."""

    dropout: nn.Dropout

    def residual(self, f: Callable[[Tensor], Tensor], norm: nn.Module, h: Tensor) -> Tensor:
        """LN(h + f(h)), (batch, seq, hidden)."""
        return norm(h + self.dropout(f(h)))


class PreNorm:
    """The sum around a sublayer f, pre-LN: the norm comes before f (Xiong et al.)."""

    dropout: nn.Dropout

    def residual(self, f: Callable[[Tensor], Tensor], norm: nn.Module, h: Tensor) -> Tensor:
        """h + f(LN(h)), (batch, seq, hidden)."""
        return h + self.dropout(f(norm(h)))


class EncoderBlock(GradientCheckpointingLayer):
    """Attention and FFN; `residual` puts each between its norm and its sum."""

    residual: Callable[..., Tensor]

    def __init__(self, config: LectureTransformerConfig):
        super().__init__()
        width, eps = config.hidden_size, config.layer_norm_eps
        self.self_attn = BidirectionalSelfAttention(width, config.num_attention_heads, config.attention_dropout)
        self.attention_norm = nn.LayerNorm(width, eps)
        self.ffn = PositionWise(width, config.intermediate_size, ACTIVATIONS[config.hidden_act]())
        self.ffn_norm = nn.LayerNorm(width, eps)
        self.dropout = nn.Dropout(config.dropout)
        if config.position_encoding == "relative_buckets":
            leave_unscaled(self.self_attn)

    def forward(self, e: Tensor, attention: AttentionKernel) -> Tensor:
        """The next state, (batch, source, hidden)."""
        n = self.residual(lambda e: self.self_attn(e, attention)[0], self.attention_norm, e)
        return self.residual(self.ffn, self.ffn_norm, n)


class PostNormEncoderBlock(PostNorm, EncoderBlock):
    """n = LN_1(e + Attention(e)); e = LN_2(n + FFN(n))."""


class PreNormEncoderBlock(PreNorm, EncoderBlock):
    """n = e + Attention(LN_1(e)); e = n + FFN(LN_2(n))."""


class DecoderBlock(GradientCheckpointingLayer):
    """Masked, Cross and FFN; `residual` puts each between its norm and its sum."""

    residual: Callable[..., Tensor]

    def __init__(self, config: LectureTransformerConfig, layer_index: int):
        super().__init__()
        width, eps, dropout = config.hidden_size, config.layer_norm_eps, config.attention_dropout
        heads = config.decoder_attention_heads or config.num_attention_heads
        self.self_attn = CausalSelfAttention(width, heads, dropout, layer_index)
        self.attention_norm = nn.LayerNorm(width, eps)
        self.cross_attn: MultiHeadAttention = CrossAttention(width, heads, dropout, layer_index)
        if config.cross_attention == "source_query_key":
            # Its keys and values are the target's, and are kept behind those of all blocks' masked attention.
            kept = layer_index + (config.decoder_layers or config.num_hidden_layers)
            self.cross_attn = SourceQueryKeyAttention(width, heads, dropout, kept)
        self.cross_attention_norm = nn.LayerNorm(width, eps)
        inner = config.decoder_ffn_dim or config.intermediate_size
        self.ffn = PositionWise(width, inner, ACTIVATIONS[config.hidden_act]())
        self.ffn_norm = nn.LayerNorm(width, eps)
        self.dropout = nn.Dropout(config.dropout)
        if config.position_encoding == "relative_buckets":
            leave_unscaled(self.self_attn)
            leave_unscaled(self.cross_attn)

    def forward(
        self, h: Tensor, masked: AttentionKernel, source: Tensor, cross: AttentionKernel, layer_past: Any = None
    ) -> Tensor:
        """The next state, (batch, target, hidden); `source` is (batch, source, hidden)."""
        seen = None if layer_past is None else layer_past.self_attention_cache  # of the target
        n = self.residual(lambda h: self.self_attn(h, masked, seen)[0], self.attention_norm, h)
        c = self.residual(lambda n: self.cross_attn(n, source, cross, layer_past)[0], self.cross_attention_norm, n)
        return self.residual(self.ffn, self.ffn_norm, c)


class PostNormDecoderBlock(PostNorm, DecoderBlock):
    """n = LN_1(h + Masked(h)); c = LN_2(n + Cross(n, source)); h = LN_3(c + FFN(c))."""


class PreNormDecoderBlock(PreNorm, DecoderBlock):
    """n = h + Masked(LN_1(h)); c = n + Cross(LN_2(n), source); h = c + FFN(LN_3(c))."""


ENCODER_BLOCKS: dict[str, type[EncoderBlock]] = {"post": PostNormEncoderBlock, "pre": PreNormEncoderBlock}
DECODER_BLOCKS: dict[str, type[DecoderBlock]] = {"post": PostNormDecoderBlock, "pre": PreNormDecoderBlock}


def leave_unscaled(attention: MultiHeadAttention) -> None:
    """Let the scores be q_t · k_s alone, as in T5; smaller first queries let them start as if they were scaled."""
    attention.scaling = 1.0
    names = ("qkv_proj", "qk_proj", "q_proj")
    queries: Any = next(getattr(attention, name) for name in names if hasattr(attention, name))
    queries.query_gain = attention.head_dim**-0.5  # read where weights are drawn
