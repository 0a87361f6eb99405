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
token moves earlier ones to other chunks. So the causal form computes all scores and hides those outside of N(i), T².
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from hf_lecture_models.layers.drawn_buffers import DrawnBuffers
from hf_lecture_models.layers.efficient_attention import (
    EfficientAttention,
    Rows,
    appended,
    blocks_of,
    neighbouring,
)
from hf_lecture_models.layers.recurrent_cache import State

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

    def buckets(self, k: Tensor) -> Tensor:
        """Return the bucket of each key (batch, heads, seq, head_dim) in each round: (batch, heads, hashes, seq)."""
        rotated = k.detach()[:, :, None] @ self.rotations.to(k.dtype)
        return torch.cat((rotated, -rotated), dim=-1).argmax(-1)

    def vectors(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return x, k and v, (batch, heads, seq, head_dim) each."""
        x, v = self.split_heads(self.qkv_proj(hidden), 2)
        return x, F.normalize(x, dim=-1), v


class CausalHashingAttention(HashingAttention):
    """N(i) among the j ≤ i, as a mask; later calls need all keys and values."""

    is_causal = True

    def state_shapes(self, batch: int) -> list[tuple[int, ...]]:
        """Return those of all keys, all values, and the count of tokens."""
        every = (batch, self.num_heads, -1, self.head_dim)
        return [every, every, (batch,)]

    def attend_heads(self, hidden: Tensor, rows: Rows, state: State | None) -> tuple[Tensor, State]:
        """Return o_i of each head, (batch, heads, seq, head_dim), and the state after the call."""
        x, k, v = self.vectors(hidden)
        own = self.buckets(k)
        keys, values = state[:2] if state is not None else (None, None)
        k, v = appended(keys, k, rows.seen), appended(values, v, rows.seen)
        same = torch.zeros((), dtype=torch.bool, device=k.device)
        for ours, theirs in zip(own.unbind(2), self.buckets(k).unbind(2), strict=True):
            same = same | (ours[..., None] == theirs[..., None, :])
        places, query = torch.arange(k.shape[2], device=k.device), rows.places[:, None, :, None]
        scores = (x @ k.transpose(-1, -2)).masked_fill(places == query, _SELF)
        scores = scores.masked_fill(~(same & (places <= query)), torch.finfo(scores.dtype).min)
        return scores.softmax(-1) @ v, (k, v, rows.seen + rows.counts)


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
        seq = x.shape[2]
        missing = (seq + self.chunk_size - 1) // self.chunk_size * self.chunk_size - seq
        # Padding has a bucket of its own, sorted to the end.
        buckets = self.buckets(k).masked_fill(~rows.real[:, None, None], self.num_buckets)
        buckets = F.pad(buckets, (0, missing), value=self.num_buckets)
        x, k, v = (F.pad(tensor, (0, 0, 0, missing)) for tensor in (x, k, v))
        # All keys differ, so the order is that of a stable sort, which ONNX does not have.
        steps, length = torch.arange(buckets.shape[-1], device=x.device), buckets.shape[-1]
        order = (buckets * length + steps).argsort(dim=-1)  # (batch, heads, hashes, seq)
        rank = order.argsort(dim=-1)
        labels = torch.stack((buckets, rank // self.chunk_size), dim=-1).transpose(2, 3)
        outputs, totals = [], []
        for number, (places, back) in enumerate(zip(order.unbind(2), rank.unbind(2), strict=True)):
            output, total = self._round(x, k, v, labels, places, number)
            outputs.append(_taken(output, back))
            totals.append(_taken(total, back))
        shares = torch.stack(totals).softmax(0)  # (hashes, batch, heads, seq, 1)
        return (shares * torch.stack(outputs)).sum(0)[:, :, :seq].to(v.dtype), None

    def _round(
        self, x: Tensor, k: Tensor, v: Tensor, labels: Tensor, order: Tensor, number: int
    ) -> tuple[Tensor, Tensor]:
        """Return one round's outputs (batch, heads, seq, head_dim) and log Σ_j exp(score_j), in its sorted order.

        Args:
            x: (batch, heads, seq, head_dim), as k and v.
            labels: (batch, heads, seq, hashes, 2), each token's bucket and chunk in each round.
            order: (batch, heads, seq), the token at each place of the sorted text.
            number: the round.
        """
        x, k, v, ours = (blocks_of(_taken(tensor, order), self.chunk_size) for tensor in (x, k, v, labels))
        k, v, theirs = _with_sides(k, 0), _with_sides(v, 0), _with_sides(ours, -1)
        rounds = [
            (ours[..., r, 0, None] == theirs[..., None, :, r, 0])
            & ((ours[..., r, 1, None] - theirs[..., None, :, r, 1]).abs() <= 1)
            for r in range(self.num_hashes)
        ]  # each (batch, heads, chunks, chunk, 3 chunk), whether two tokens meet
        here = torch.arange(self.chunk_size, device=x.device)
        itself = here[:, None] + self.chunk_size == torch.arange(3 * self.chunk_size, device=x.device)
        # The weight of a pair is shared among the rounds in which it meets.
        meetings = torch.stack(rounds).sum(0).clamp(min=1)
        scores = (x @ k.transpose(-1, -2)).masked_fill(itself, _SELF) - meetings.log()
        scores = scores.masked_fill(~rounds[number], torch.finfo(scores.dtype).min)
        output, total = scores.softmax(-1).to(v.dtype) @ v, scores.logsumexp(-1, keepdim=True)
        return output.flatten(2, 3), total.flatten(2, 3)


def _taken(tensor: Tensor, places: Tensor) -> Tensor:
    """Return the tokens at `places` (batch, heads, seq) of (batch, heads, seq, ...)."""
    return tensor.gather(2, places.view(*places.shape, *(1,) * (tensor.dim() - 3)).expand_as(tensor))


def _with_sides(chunks: Tensor, fill: int) -> Tensor:
    """Join each chunk with those beside it, `fill` beyond the ends: (batch, heads, chunks, 3 chunk, ...)."""
    side = torch.full_like(chunks[:, :, :1], fill)
    return neighbouring(torch.cat((side, chunks, side), dim=2), 3)
