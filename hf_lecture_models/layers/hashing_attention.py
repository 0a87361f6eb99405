# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Attention by hashing: a token is compared only with tokens in the same bucket (slide Y:601).

Kitaev, Kaiser & Levskaya, "Reformer: the efficient transformer", 2020, section 2. Queries and keys are one vector x_i,
k_i = x_i / |x_i|. Each of h rounds has a random matrix R, and similar vectors often share the bucket

    bucket(i) = argmax [R k_i; -R k_i]
    o_i = Σ_{j in N(i)} softmax_j(x_i · k_j) v_j,   N(i) = {j: bucket(j) = bucket(i) in some round}

As in the authors' code, scores are not divided by √head_dim: the k are of length 1. Its own k_i is the most similar to
x_i, so a token attends to itself only where nothing else is in N(i). The R are drawn when the layer is built and saved.

The bidirectional form sorts the tokens by bucket and compares chunks of b with the chunks beside them; of a bucket that
is larger, N(i) has what is near enough in this order. It costs O(T b h²). A sorted order is not causal: a later
token moves earlier ones to other chunks. So the causal form computes all scores with j ≤ i and hides those outside of
N(i), T².
"""

import math
from collections.abc import Iterable, Iterator
from functools import reduce

import torch
from torch import Tensor
from torch.nn import functional as F

from hf_lecture_models.layers.drawn_buffers import DrawnBuffers
from hf_lecture_models.layers.efficient_attention import EfficientAttention, Rows, neighbouring, tokens_at
from hf_lecture_models.layers.execution import is_traced
from hf_lecture_models.layers.recurrent_cache import State

QUERIES = 256
"""The causal form computes the scores of so many tokens together, with no key after the last of them."""

_SELF = -5e4
"""The score of a token with itself, which has a weight only beside nothing else."""


class HashingAttention(DrawnBuffers, EfficientAttention):
    """The base of the two forms: vectors and buckets.

    Args:
        hidden_size: width of input and output; `num_heads` must divide it.
        num_heads: heads; each has its own R.
        num_hashes: h, the rounds.
        num_buckets: the buckets of a round, an even number.
        seed: from which the R are drawn.
    """

    num_parts = 2
    rotations: Tensor

    def __init__(self, hidden_size: int, num_heads: int, num_hashes: int, num_buckets: int, seed: int):
        super().__init__(hidden_size, num_heads)
        self.num_hashes, self.num_buckets = num_hashes, num_buckets
        self.register_drawn(seed)

    def drawn_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return that of the R."""
        return {"rotations": (self.num_heads, self.num_hashes, self.head_dim, self.num_buckets // 2)}

    def draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the R, (heads, hashes, head_dim, buckets / 2)."""
        return {name: torch.randn(shape, generator=generator) for name, shape in self.drawn_shapes().items()}

    def buckets(self, k: Tensor, rows: Rows) -> Tensor:
        """Return the bucket of each key in each round, (batch, heads, hashes, seq); padding has one of its own."""
        rotated = k.detach()[:, :, None] @ self.rotations.to(k.dtype)
        (largest, first), (smallest, second) = rotated.max(-1), rotated.min(-1)
        buckets = torch.where(largest >= -smallest, first, second + rotated.shape[-1])
        return buckets.masked_fill(~rows.real[:, None, None], self.num_buckets)

    def vectors(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return x, k and v, (batch, heads, seq, head_dim) each."""
        x, v = self.split_heads(self.qkv_proj(hidden), 2)
        return x, F.normalize(x, dim=-1), v


class CausalHashingAttention(HashingAttention):
    """N(i) among the j ≤ i, as a mask; later calls need all keys, values and buckets, those of padding too."""

    is_causal = True

    def state_shapes(self, batch: int) -> list[tuple[int, ...]]:
        """Return those of all keys, all values, all buckets, and the count of real tokens."""
        every = (batch, self.num_heads, -1, self.head_dim)
        return [every, every, (batch, self.num_heads, self.num_hashes, -1), (batch,)]

    def attend_heads(self, hidden: Tensor, rows: Rows, state: State | None) -> tuple[Tensor, State]:
        """Return o_i of each head, (batch, heads, seq, head_dim), and the state after the call."""
        x, k, v = self.vectors(hidden)
        buckets = own = self.buckets(k, rows).to(_integers(self.num_buckets))
        if state is not None:
            k, v = torch.cat((state[0], k), dim=2), torch.cat((state[1], v), dim=2)
            buckets = torch.cat((state[2], own), dim=3)
        # What is traced holds for texts of any length: it computes all scores together.
        parts = [(x, own)] if is_traced() else zip(x.split(QUERIES, dim=2), own.split(QUERIES, dim=3), strict=True)
        outputs, end = [], k.shape[2] - x.shape[2]
        for queries, ours in parts:
            before, end = end, end + queries.shape[2]
            # 0 where two tokens share a bucket in some round.
            masked = reduce(torch.minimum, _distances(ours.unbind(2), buckets[..., :end].unbind(2)))
            later = torch.ones(end - before, end, dtype=masked.dtype, device=masked.device).triu(before + 1)
            scores = _biases(masked.maximum(later), before, x.dtype).add_(queries @ k[:, :, :end].transpose(-1, -2))
            outputs.append(scores.softmax(-1).to(v.dtype) @ v[:, :, :end])
        return torch.cat(outputs, dim=2), (k, v, buckets, rows.seen + rows.counts)


class BidirectionalHashingAttention(HashingAttention):
    """N(i) on both sides, by sorting.

    Args:
        chunk_size: b, the tokens of a chunk of the sorted text.
    """

    is_causal = False

    def __init__(self, hidden_size: int, num_heads: int, num_hashes: int, num_buckets: int, seed: int, chunk_size: int):
        super().__init__(hidden_size, num_heads, num_hashes, num_buckets, seed)
        self.chunk_size = chunk_size

    def attend_heads(self, hidden: Tensor, rows: Rows, state: State | None) -> tuple[Tensor, None]:
        """Return o_i of each head, (batch, heads, seq, head_dim)."""
        x, k, v = self.vectors(hidden)
        seq, size = x.shape[2], self.chunk_size
        length = (seq + size - 1) // size * size
        # Padding is sorted to the end.
        buckets = F.pad(self.buckets(k, rows), (0, length - seq), value=self.num_buckets)
        vectors = [F.pad(tensor, (0, 0, 0, length - seq)) for tensor in (x, k, v)]
        # All keys differ, so the order is that of a stable sort, which ONNX does not have.
        steps = torch.arange(length, device=x.device)
        order = (buckets * length + steps).argsort(dim=-1)  # (batch, heads, hashes, seq)
        rank = torch.zeros_like(order).scatter(-1, order, steps.expand_as(order))
        # Along the order buckets and chunks grow: labels differ by at most 1 if, in one bucket, the chunks do.
        labels = (2 * buckets + rank // size).to(_integers(2 * self.num_buckets + length // size))
        places = zip(order.unbind(2), rank.unbind(2), strict=True)
        rounds = [self._round(vectors, labels[:, :, : number + 1], *each) for number, each in enumerate(places)]
        sums, totals, largest = (torch.stack(parts) for parts in zip(*rounds, strict=True))
        scales = (largest - largest.amax(0)).exp2()  # (hashes, batch, heads, seq, 1)
        return ((scales * sums).sum(0) / (scales * totals).sum(0))[:, :, :seq].to(v.dtype), None

    def _round(self, vectors: list[Tensor], labels: Tensor, order: Tensor, rank: Tensor) -> list[Tensor]:
        """Return Σ_j w_j v_j (batch, heads, seq, head_dim), Σ_j w_j, and m, where w_j = 2^(score_j log2(e) - m).

        A pair of tokens has a weight only in the first round in which it meets. The `labels` (batch, heads, rounds,
        seq) are those of the rounds so far; `order` is the token at each place of the sorted text, `rank` the inverse.
        """
        tensors = (*vectors, *labels.unbind(2))
        x, k, v, *ours = (tokens_at(tensor, order).unflatten(2, (-1, self.chunk_size)) for tensor in tensors)
        k, v, theirs = _with_sides(k, 0), _with_sides(v, 0), [_with_sides(label, -2) for label in ours]
        # 1 where two tokens meet, else 2.
        *before, last = (distance.clamp(1, 2) for distance in _distances(ours, theirs))
        masked = reduce(lambda sum_, other: sum_.add_(2).sub_(other), before, last - 1)
        # Powers of 2, because torch's exp is ten times slower where the result is 0.
        scores = _biases(masked, self.chunk_size, x.dtype).add_(x @ k.transpose(-1, -2), alpha=math.log2(math.e))
        # In float16 Σ_j w_j is at most 1, or Σ_j w_j v_j could be too large.
        room = math.log2(3 * self.chunk_size) if scores.dtype == torch.float16 else 0.0
        largest = scores.detach().amax(-1, keepdim=True) + room
        weights = scores.sub_(largest).exp2_()
        results = (weights.to(v.dtype) @ v, weights.sum(-1, keepdim=True), largest)
        return [tokens_at(result.flatten(2, 3), rank) for result in results]


def _integers(largest: int) -> torch.dtype:
    """Return the type of numbers from -2 to `largest`, and of their differences."""
    return torch.int16 if largest + 2 < 2**15 else torch.int32


def _distances(ours: Iterable[Tensor], theirs: Iterable[Tensor]) -> Iterator[Tensor]:
    """Yield |a - b| of each a (..., queries) and b (..., keys), of round after round: (..., queries, keys)."""
    return ((one[..., None] - other[..., None, :]).abs_() for one, other in zip(ours, theirs, strict=True))


def _biases(masked: Tensor, own: int, dtype: torch.dtype) -> Tensor:
    """Return what is added to scores: the lowest number where `masked` > 0; key `own` is the first query itself."""
    biases = masked.clamp(max=1).to(dtype).mul_(torch.finfo(dtype).min)
    biases.diagonal(own, -2, -1).fill_(_SELF)
    return biases


def _with_sides(chunks: Tensor, fill: int) -> Tensor:
    """Join each chunk with those beside it, `fill` beyond the ends: (batch, heads, chunks, 3 chunk, ...)."""
    side = torch.full_like(chunks[:, :, :1], fill)
    return neighbouring(torch.cat((side, chunks, side), dim=2), 3)
