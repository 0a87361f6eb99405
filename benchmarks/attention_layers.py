# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The layers that `attention_cost` compares: of one width, each with a function for forward and backward pass.

All are causal but those named "both sides". Peers are transformers' layers, followed by the output matrix that
transformers has in another module.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import LongformerConfig, ReformerConfig
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention
from transformers.models.reformer.modeling_reformer import LSHSelfAttention

from hf_lecture_models import EfficientTransformerConfig
from hf_lecture_models.layers.bidirectional_attention import BidirectionalSelfAttention, bidirectional_attention
from hf_lecture_models.layers.causal_attention import CausalSelfAttention, causal_attention
from hf_lecture_models.layers.efficient_attention import Rows
from hf_lecture_models.layers.recurrent_layer import RecurrentLayer
from hf_lecture_models.layers.relative_attention import Distances, RelativeSelfAttention, ScoreBiases
from hf_lecture_models.layers.segment_memory import SegmentMemory
from hf_lecture_models.layers.sinusoids import sinusoids
from hf_lecture_models.models.efficient_transformer.modeling_efficient_transformer import (
    ATTENTION_KINDS,
    attention_sizes,
)

WIDTH, HEADS, VOCAB = 256, 4, 512
WINDOW, RANDOM_WINDOW, RANDOM_BLOCKS, MIXED, FEATURES, CHUNK, HASHES, SEGMENT = 128, 64, 2, 128, 128, 64, 4, 256
SHAPE = {
    "hidden_size": WIDTH,
    "heads": HEADS,
    "local": {"window": WINDOW, "sentinels": 1},
    "random": {"window": RANDOM_WINDOW, "blocks": RANDOM_BLOCKS, "sentinels": 1},
    "hierarchical": {"block": "nearest power of two to the square root of the length"},
    "low rank": {"mixed keys": MIXED},
    "performer": {"features": FEATURES},
    "hashing": {"hashes": HASHES, "chunk": CHUNK, "buckets": f"2 * length / {CHUNK}"},
    "Transformer-XL": {"segment": SEGMENT, "memory": SEGMENT},
}
BOTH = ", both sides"
DENSE, DENSE_BOTH = "dense, sdpa", f"dense, sdpa{BOTH}"
KINDS = ("local", "random", "hierarchical", "linear", "performer", "hashing")
PEERS = {f"Longformer{BOTH}": f"local{BOTH}", f"Reformer{BOTH}": f"hashing{BOTH}"}
Layer = tuple[nn.Module, Callable[[Tensor, Tensor], None]]


def whole(layer: nn.Module, forward: Callable[[Tensor], Tensor]) -> Layer:
    """Return a layer, and a function that runs forward and backward pass on a whole text at once."""
    return layer, lambda hidden, gradient: forward(hidden).backward(gradient)


def dense(implementation: str, length: int) -> Layer:
    """Return causal attention to all tokens by "eager" or "sdpa"."""
    layer = CausalSelfAttention(WIDTH, HEADS)
    return whole(layer, lambda hidden: layer(hidden, causal_attention(implementation, hidden))[0])


def dense_both_sides(length: int) -> Layer:
    """Return attention of all tokens to all, by sdpa."""
    layer = BidirectionalSelfAttention(WIDTH, HEADS)
    return whole(layer, lambda hidden: layer(hidden, bidirectional_attention("sdpa", hidden))[0])


def efficient_config(kind: str, length: int, bidirectional: bool = False) -> EfficientTransformerConfig:
    """Return sizes for texts of `length` tokens; hierarchical blocks and hashing's buckets depend on it."""
    block = min((2**power for power in range(15)), key=lambda size: abs(size - length**0.5))
    return EfficientTransformerConfig(
        attention_kind=kind,
        bidirectional=bidirectional,
        max_position_embeddings=length,
        vocab_size=VOCAB,
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        window_size=RANDOM_WINDOW if kind == "random" else WINDOW,
        num_sentinels=1,
        num_random_blocks=RANDOM_BLOCKS,
        block_size=block if kind == "hierarchical" else CHUNK,
        projected_length=MIXED,
        num_random_features=FEATURES,
        num_hashes=HASHES,
        num_buckets=2 * (length // CHUNK),
    )


def efficient(kind: str, bidirectional: bool, length: int) -> Layer:
    """Return one of the efficient attentions."""
    config = efficient_config(kind, length, bidirectional)
    make: Any = ATTENTION_KINDS[kind][bidirectional]
    layer = make(WIDTH, HEADS, **attention_sizes(config, 0))
    rows = Rows.of(torch.ones(1, length, dtype=torch.bool), torch.zeros(1, dtype=torch.long), padded=False)
    return whole(layer, lambda hidden: layer(hidden, rows)[0])


def lstm(length: int) -> Layer:
    """Return an LSTM of the same width."""
    layer = RecurrentLayer(nn.LSTM(WIDTH, WIDTH, batch_first=True))
    return whole(layer, lambda hidden: layer(hidden)[0])


def transformer_xl(length: int) -> Layer:
    """Return Transformer-XL's attention, which reads a text in segments."""
    layer, biases = RelativeSelfAttention(WIDTH, HEADS, WIDTH // HEADS), ScoreBiases(HEADS, WIDTH // HEADS)
    for parameter in biases.parameters():
        nn.init.normal_(parameter, std=0.02)

    def step(hidden: Tensor, gradient: Tensor) -> None:
        memory = before = None
        for part, of_part in zip(hidden.detach().split(SEGMENT, 1), gradient.split(SEGMENT, 1), strict=True):
            part = part.requires_grad_()
            segment, (u, v) = SegmentMemory(SEGMENT, part, before=before), biases()
            vectors = torch.cat(sinusoids(torch.arange(segment.keys), WIDTH), -1)
            distances = Distances(vectors, segment.distances.clamp(min=0))
            attention = causal_attention("eager", part, v[None, :, None], segment.allowed())
            layer(part, memory, u, v, distances, attention)[0].backward(of_part)
            memory, before = segment.after(memory, part), segment.real_after

    return nn.ModuleList([layer, biases]), step


def longformer(length: int) -> Layer:
    """Return transformers' sliding window, whose first token is global."""
    config = LongformerConfig(attention_window=[2 * WINDOW], hidden_size=WIDTH, num_attention_heads=HEADS)
    config.attention_probs_dropout_prob = 0.0
    layer, output = LongformerSelfAttention(config, 0), nn.Linear(WIDTH, WIDTH)
    mask = torch.zeros(1, length)
    mask[:, 0] = 10_000.0  # as LongformerModel marks global tokens
    flags = {"is_index_masked": mask < 0, "is_index_global_attn": mask > 0, "is_global_attn": True}
    return whole(nn.ModuleList([layer, output]), lambda hidden: output(layer(hidden, mask, **flags)[0]))


def reformer(length: int) -> Layer:
    """Return transformers' LSH attention, whose chunks see both neighbours."""
    heads: dict[str, Any] = {"hidden_size": WIDTH, "num_attention_heads": HEADS, "attention_head_size": WIDTH // HEADS}
    sides: dict[str, Any] = {"lsh_attn_chunk_length": CHUNK, "lsh_num_chunks_before": 1, "lsh_num_chunks_after": 1}
    config = ReformerConfig(**heads, **sides, num_hashes=HASHES, num_buckets=2 * (length // CHUNK))
    config.lsh_attention_probs_dropout_prob = 0.0
    layer, output = LSHSelfAttention(config), nn.Linear(WIDTH, WIDTH)
    return whole(nn.ModuleList([layer, output]), lambda hidden: output(layer(hidden).hidden_states))


LAYERS: dict[str, Callable[[int], Layer]] = {
    "dense, eager": partial(dense, "eager"),
    DENSE: partial(dense, "sdpa"),
    **{kind: partial(efficient, kind, False) for kind in KINDS},
    "LSTM": lstm,
    "Transformer-XL": transformer_xl,
    DENSE_BOTH: dense_both_sides,
    f"low rank{BOTH}": partial(efficient, "low_rank", True),
    f"local{BOTH}": partial(efficient, "local", True),
    f"hashing{BOTH}": partial(efficient, "hashing", True),
    f"Longformer{BOTH}": longformer,
    f"Reformer{BOTH}": reformer,
}
