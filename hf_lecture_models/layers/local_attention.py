# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Local attention with sentinels (slide Y:599): each token attends to a window and to the first tokens of the text.

Beltagy, Peters & Cohan, "Longformer: the long-document transformer", 2020, section 3.1. With a window of w tokens to
each side and the sentinels G = {0, ..., g - 1},

    o_i = Σ_{j in N(i)} softmax_j(q_i · k_j / √head_dim) v_j,   N(i) = {j: |i - j| ≤ w} ∪ G

and the sentinels themselves see all tokens (`layers/sentinels.py`). The causal form has only the j ≤ i. T tokens cost
O(T (w + g)): queries in blocks of w are compared with their own block and its neighbours.
"""

import torch
from torch import Tensor

from hf_lecture_models.layers.efficient_attention import (
    EfficientAttention,
    Part,
    Rows,
    blocks_of,
    neighbouring,
    softmax_over,
)
from hf_lecture_models.layers.recurrent_cache import State
from hf_lecture_models.layers.sentinels import Sentinels, kept_first, sentinel_part


class LocalAttention(EfficientAttention):
    """The base of the two forms: the window, and the sentinels where there are any.

    Args:
        hidden_size: width of input and output; `num_heads` must divide it.
        num_heads: heads.
        window_size: w, the tokens that a token sees on each side.
        num_sentinels: g; 0 for none.
    """

    def __init__(self, hidden_size: int, num_heads: int, window_size: int, num_sentinels: int):
        super().__init__(hidden_size, num_heads)
        self.window_size, self.num_sentinels = window_size, num_sentinels
        self.sentinels = Sentinels(hidden_size, num_heads, num_sentinels) if num_sentinels else None


class BidirectionalLocalAttention(LocalAttention):
    """N(i) = {j: |i - j| ≤ w} ∪ G, without a state."""

    is_causal = False

    def attend_heads(self, hidden: Tensor, rows: Rows, state: State | None) -> tuple[Tensor, None]:
        """Return o_i of each head, (batch, heads, seq, head_dim)."""
        q, k, v = self.split_heads(self.qkv_proj(hidden), 3)
        heads = softmax_over(blocks_of(q, self.window_size), self.parts(k, v, rows), self.scaling)
        heads = heads.flatten(2, 3)[:, :, : q.shape[2]]
        if self.sentinels is not None:
            heads = self.sentinels.everywhere(hidden, rows, heads, self.scaling)
        return heads, None

    def parts(self, k: Tensor, v: Tensor, rows: Rows) -> list[Part]:
        """Return what the queries, in blocks, attend to."""
        w, seq = self.window_size, k.shape[2]
        keys, values, real = (_with_neighbours(blocks_of(x, w)) for x in (k, v, rows.real[:, None]))
        query, slot = torch.arange(w, device=k.device)[:, None], torch.arange(3 * w, device=k.device)
        parts = [(keys, values, ((slot - w - query).abs() <= w) & real[:, :, :, None])]
        if self.num_sentinels:
            g = torch.arange(self.num_sentinels, device=k.device)[:seq]
            places = torch.arange(keys.shape[2] * w, device=k.device).view(1, -1, w, 1)
            outside = ((places - g).abs() > w) & rows.real[:, None, None, : self.num_sentinels]
            parts.append(sentinel_part(k[:, :, : len(g)], v[:, :, : len(g)], outside))
        return parts


class CausalLocalAttention(LocalAttention):
    """N(i) = {j: i - w ≤ j ≤ i} ∪ {j in G, j ≤ i}; later calls need the keys and values of w tokens and of G."""

    is_causal = True

    def state_shapes(self, batch: int) -> list[tuple[int, ...]]:
        """Return those of the window's k and v, the sentinels' k, v, k° and v°, and the count of tokens."""
        window, first = (
            (batch, self.num_heads, length, self.head_dim) for length in (self.window_size, self.num_sentinels)
        )
        return [window, window, first, first, first, first, (batch,)]

    def attend_heads(self, hidden: Tensor, rows: Rows, state: State | None) -> tuple[Tensor, State]:
        """Return o_i of each head, (batch, heads, seq, head_dim), and the state after the call."""
        q, k, v = self.split_heads(self.qkv_proj(hidden), 3)
        return self.attend_window(hidden, q, k, v, rows, state)

    def attend_window(
        self, hidden: Tensor, q: Tensor, k: Tensor, v: Tensor, rows: Rows, state: State | None
    ) -> tuple[Tensor, State]:
        """Return what `attend_heads` does, from queries, keys and values (batch, heads, seq, head_dim)."""
        seq, w = q.shape[2], self.window_size
        first = kept_first(None if state is None else state[2:4], (k, v), rows, self.num_sentinels)
        empty = k.new_zeros(*k.shape[:2], w, self.head_dim)
        before = (empty, empty) if state is None else state[:2]
        k, v = (torch.cat(pair, dim=2) for pair in zip(before, (k, v), strict=True))
        parts = self.parts(k, v, rows)
        if self.num_sentinels:
            outside = torch.arange(self.num_sentinels, device=k.device) < rows.places[:, :, None] - w
            parts.append(sentinel_part(first[0], first[1], blocks_of(outside[:, None], w)[:, 0]))
        heads = softmax_over(blocks_of(q, w), parts, self.scaling).flatten(2, 3)[:, :, :seq]
        own = first
        if self.sentinels is not None:
            kept = None if state is None else state[4:6]
            heads, own = self.sentinels.backwards(hidden, rows, heads, self.scaling, kept)
        last = (rows.counts[:, None] + torch.arange(w, device=k.device))[:, None, :, None]
        window = [x.gather(2, last.expand(-1, x.shape[1], -1, x.shape[3])) for x in (k, v)]
        return heads, (*window, *first, *own, rows.seen + rows.counts)

    def parts(self, k: Tensor, v: Tensor, rows: Rows) -> list[Part]:
        """Return what the queries, in blocks, see in their windows; k and v begin with those of w tokens before."""
        w = self.window_size
        # The w tokens before are a block, so an exported program sees that there are as many blocks as of queries.
        blocks = (torch.cat((x[:, :, None, :w], blocks_of(x[:, :, w:], w)), dim=2) for x in (k, v))
        keys, values = (neighbouring(x, 2) for x in blocks)
        query, slot = torch.arange(w, device=k.device)[:, None], torch.arange(2 * w, device=k.device)
        in_window = (query <= slot) & (slot <= query + w)
        # The first slot of each block is that many tokens after the beginning of the text, or before it.
        begins = rows.seen[:, None] - w + w * torch.arange(keys.shape[2], device=k.device)
        exists = slot + begins[:, :, None] >= 0  # (batch, blocks, 2 w)
        return [(keys, values, in_window & exists[:, None, :, None])]


def _with_neighbours(blocks: Tensor) -> Tensor:
    """Join each block with the one before and the one after, zeros at the ends: (batch, heads, blocks, 3 w, ...)."""
    none = torch.zeros_like(blocks[:, :, :1])
    return neighbouring(torch.cat((none, blocks, none), dim=2), 3)
