# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the efficient attentions compute, with all scores written out: one text at a time, query by query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from hf_lecture_models.layers.hashing_attention import HashingAttention
from hf_lecture_models.layers.hierarchical_attention import HierarchicalAttention
from hf_lecture_models.layers.linear_attention import FeatureAttention, LinearAttention
from hf_lecture_models.layers.local_attention import LocalAttention
from hf_lecture_models.layers.low_rank_attention import LowRankAttention
from hf_lecture_models.layers.random_attention import RandomAttention

Parameters = Mapping[str, Tensor]


def dense_reference(layer: Any, hidden: Tensor, p: Parameters | None = None) -> Tensor:
    """The output of an attention for texts without padding, (batch, seq, hidden), by the weights `p`."""
    p = dict(layer.named_parameters()) if p is None else p
    outputs = []
    for text in hidden:
        parts = projected(text, p["qkv_proj.weight"], p["qkv_proj.bias"], layer.num_heads)
        heads = [of_head(layer, number, p, *(part[number] for part in parts)) for number in range(layer.num_heads)]
        if isinstance(layer, LocalAttention) and layer.num_sentinels:
            names = ("sentinels.qkv_proj.weight", "sentinels.qkv_proj.bias")
            q, k, v = projected(text, *(p[name] for name in names), layer.num_heads)
            heads = [with_sentinels(layer, *each) for each in zip(heads, q, k, v, strict=True)]
        outputs.append(torch.cat(heads, dim=-1) @ p["o_proj.weight"].T + p["o_proj.bias"])
    return torch.stack(outputs)


def projected(text: Tensor, weight: Tensor, bias: Tensor, heads: int) -> list[list[Tensor]]:
    """For query, key and value a matrix (seq, head_dim) of each head."""
    vectors = text @ weight.T + bias
    return [list(part.chunk(heads, dim=-1)) for part in vectors.chunk(len(weight) // text.shape[-1], dim=-1)]


def softmax_of(scores: Tensor, allowed: Tensor) -> Tensor:
    """Rows of positive numbers with the sum 1, 0 where not allowed."""
    shares = (scores - scores.detach().amax(-1, keepdim=True)).exp() * allowed
    return shares / shares.sum(-1, keepdim=True)


def masked_attention(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor) -> Tensor:
    scores = q @ k.T / q.shape[-1] ** 0.5
    return softmax_of(scores.masked_fill(~allowed, -1e9), allowed) @ v


def of_head(layer: Any, head: int, p: Parameters, *parts: Tensor) -> Tensor:
    if isinstance(layer, HashingAttention):
        return by_hashing(layer, head, *parts)
    q, k, v = parts
    if isinstance(layer, LocalAttention):
        return masked_attention(q, k, v, local_pattern(layer, len(q)))
    if isinstance(layer, HierarchicalAttention):
        return by_blocks(layer, q, k, v)
    if isinstance(layer, LowRankAttention):
        mixed = [p[name][:, : len(q)] @ x for name, x in (("key_mix", k), ("value_mix", v))]
        return masked_attention(q, *mixed, torch.ones(len(q), len(mixed[0]), dtype=torch.bool))
    assert isinstance(layer, FeatureAttention)
    return by_features(layer, q, k, v)


def seen_by(layer: Any, length: int) -> Tensor:
    everything = torch.ones(length, length, dtype=torch.bool)
    return everything.tril() if layer.is_causal else everything


def local_pattern(layer: Any, length: int) -> Tensor:
    pattern = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        pattern[i, max(i - layer.window_size, 0) : i + layer.window_size + 1] = True
        pattern[i, : layer.num_sentinels] = True
        if isinstance(layer, RandomAttention):
            for block in layer.random_blocks[i // layer.window_size].tolist():
                if block >= 0:
                    pattern[i, block * layer.window_size : (block + 1) * layer.window_size] = True
    return pattern & seen_by(layer, length)


def with_sentinels(layer: Any, output: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    own = masked_attention(q, k, v, seen_by(layer, len(q)))
    return torch.cat((own[: layer.num_sentinels], output[layer.num_sentinels :]))


def by_blocks(layer: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The keys of the text, followed by those of its blocks: averages, by a matrix."""
    length, size = len(q), layer.block_size
    starts = range(0, length, size)
    average = torch.zeros(len(starts), length)
    allowed = torch.zeros(length, length + len(starts), dtype=torch.bool)
    for number, start in enumerate(starts):
        inside = slice(start, min(start + size, length))
        average[number, inside] = 1 / (inside.stop - start)
        allowed[inside, inside] = seen_by(layer, length)[inside, inside]
        allowed[:, length + number] = True
        allowed[inside, length + number] = False
        if layer.is_causal:
            allowed[:start, length + number] = False
    return masked_attention(q, torch.cat((k, average @ k)), torch.cat((v, average @ v)), allowed)


def by_features(layer: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The matrix of φ(q_i) · φ(k_j), without stabilising anything."""

    def features(x: Tensor) -> Tensor:
        if isinstance(layer, LinearAttention):
            return torch.where(x > 0, x + 1, x.exp())
        x = x / x.shape[-1] ** 0.25
        return (x @ layer.directions.T - (x * x).sum(-1, keepdim=True) / 2).exp() / layer.num_features**0.5

    products = features(q) @ features(k).T * seen_by(layer, len(q))
    return products / products.sum(-1, keepdim=True) @ v


def by_hashing(layer: Any, head: int, x: Tensor, v: Tensor) -> Tensor:
    length = len(x)
    k = x / x.norm(dim=-1, keepdim=True)
    allowed = torch.zeros(length, length, dtype=torch.bool)
    for rotation in layer.rotations[head]:
        rotated = k @ rotation
        buckets = torch.cat((rotated, -rotated), dim=-1).argmax(-1).tolist()
        order = sorted(range(length), key=lambda i, buckets=buckets: (buckets[i], i))
        for i in range(length):
            for j in range(length):
                near = True
                if not layer.is_causal:
                    chunks = [order.index(place) // layer.chunk_size for place in (i, j)]
                    near = abs(chunks[0] - chunks[1]) <= 1
                allowed[i, j] |= near and buckets[i] == buckets[j]
    allowed &= seen_by(layer, length)
    # A token attends to itself only where it can attend to no other.
    others = allowed & ~torch.eye(length, dtype=torch.bool)
    alone = torch.eye(length, dtype=torch.bool) & ~others.any(-1, keepdim=True)
    return masked_attention(x * x.shape[-1] ** 0.5, k, v, others | alone)  # scores are not divided
