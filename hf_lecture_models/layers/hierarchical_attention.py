# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Hierarchical attention (slide Y:601): the own block token by token, every other block by its mean.

The two levels of Zhu & Soricut, "H-transformer-1D: fast one-dimensional hierarchical attention for sequences", 2021,
section 4, in their plainest form. With blocks of b tokens, k̄_B and v̄_B the means of the keys and values of block B,

    o_i = Σ_{j in B(i)} a_ij v_j + Σ_{B ≠ B(i)} a_iB v̄_B,   a_i = softmax(q_i · [k_j; k̄_B] / √head_dim)

The causal form has only the j ≤ i and the blocks before B(i), which are complete. T tokens cost O(T (b + T / b)), least
for b = √T, where it is O(T^1.5). With one block it is full attention.
"""

import torch
from torch import Tensor

from hf_lecture_models.layers.efficient_attention import (
    EfficientAttention,
    Part,
    Rows,
    appended,
    blocks_of,
    softmax_over,
)
from hf_lecture_models.layers.recurrent_cache import State


class HierarchicalAttention(EfficientAttention):
    """The base of the two forms: the blocks and their means.

    Args:
        hidden_size: width of input and output; `num_heads` must divide it.
        num_heads: heads.
        block_size: b.
    """

    def __init__(self, hidden_size: int, num_heads: int, block_size: int):
        super().__init__(hidden_size, num_heads)
        self.block_size = block_size

    def means(self, tensor: Tensor, real: Tensor) -> Tensor:
        """Return the mean of the real tokens of each block, (batch, heads, blocks, head_dim)."""
        blocks, real = blocks_of(tensor, self.block_size), blocks_of(real[:, None], self.block_size)[..., None]
        return (blocks * real).sum(3) / real.sum(3).clamp(min=1)

    def in_blocks(self, q: Tensor, k: Tensor, v: Tensor, rows: Rows) -> Tensor:
        """Return o_i of each head, (batch, heads, seq, head_dim), for texts from their beginning."""
        size, (keys, values) = self.block_size, (blocks_of(x, self.block_size) for x in (k, v))
        number, place = (torch.arange(n, device=q.device) for n in (keys.shape[2], size))
        own = self.sees(place[:, None], place) & blocks_of(rows.real[:, None], size)[:, :, :, None]
        far = self.sees(number[:, None], number) & (number[:, None] != number)
        there = far[:, None] & (number * size < rows.counts[:, None])[:, None, None, None]
        k_mean, v_mean = (self.means(x, rows.real)[:, :, None] for x in (k, v))
        parts: list[Part] = [(keys, values, own), (k_mean, v_mean, there)]
        return softmax_over(blocks_of(q, size), parts, self.scaling).flatten(2, 3)[:, :, : q.shape[2]]

    def sees(self, query: Tensor, key: Tensor) -> Tensor:
        """Return whether a query at a place, or in a block, attends to a key at another."""
        return key <= query if self.is_causal else torch.ones_like(key <= query)


class BidirectionalHierarchicalAttention(HierarchicalAttention):
    """Own block and the means of all others; the last block's mean is that of the tokens that it has."""

    is_causal = False

    def attend_heads(self, hidden: Tensor, rows: Rows, state: State | None) -> tuple[Tensor, None]:
        """Return o_i of each head, (batch, heads, seq, head_dim)."""
        q, k, v = self.split_heads(self.qkv_proj(hidden), 3)
        return self.in_blocks(q, k, v, rows), None


class CausalHierarchicalAttention(HierarchicalAttention):
    """Own block up to i and the means of those before; later calls need all keys and values."""

    is_causal = True

    def state_shapes(self, batch: int) -> list[tuple[int, ...]]:
        """Return those of all keys, all values, and the count of tokens."""
        every = (batch, self.num_heads, -1, self.head_dim)
        return [every, every, (batch,)]

    def attend_heads(self, hidden: Tensor, rows: Rows, state: State | None) -> tuple[Tensor, State]:
        """Return o_i of each head, (batch, heads, seq, head_dim), and the state after the call."""
        q, k, v = self.split_heads(self.qkv_proj(hidden), 3)
        after = rows.seen + rows.counts
        if state is None:
            return self.in_blocks(q, k, v, rows), (k, v, after)
        k, v = (appended(old, new, rows.seen) for old, new in zip(state[:2], (k, v), strict=True))
        size, places = self.block_size, torch.arange(k.shape[2], device=k.device)
        query = rows.places[:, :, None]
        own = (places <= query) & (places // size == query // size)
        real = places < after[:, None]
        k_mean, v_mean = (self.means(x, real) for x in (k, v))
        far = torch.arange(k_mean.shape[2], device=k.device) < query // size
        parts: list[Part] = [(k, v, own[:, None]), (k_mean, v_mean, far[:, None])]
        return softmax_over(q, parts, self.scaling), (k, v, after)
