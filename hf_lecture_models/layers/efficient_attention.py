# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base of the efficient attentions: real tokens in front, their matrices, the state, and one softmax over parts.

Full attention compares each of T tokens with all others, T² scores (slide Y:593). An efficient one compares it with
few of them, or never computes the scores. All are patterns over the tokens' places in their text, so padding is moved
out of the way first: each row's real tokens come first, are attended to, and go back to where they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hf_lecture_models.layers.attention import MultiHeadAttention
from hf_lecture_models.layers.recurrent_cache import State

Part = tuple[Tensor, Tensor, Tensor]


class Rows(NamedTuple):
    """The real tokens of each row of a call; a tuple, so that accelerate and FSDP find the tensors in it.

    >>> rows = Rows.of(torch.tensor([[False, True, True]]), torch.tensor([4]))
    >>> rows.positions.tolist(), rows.to_front(torch.tensor([[0, 7, 8]])).tolist(), rows.real.tolist()
    ([[3, 4, 5]], [[7, 8, 0]], [[True, True, False]])
    """

    seen: Tensor
    """(batch,), the real tokens of each row in earlier calls."""
    real: Tensor
    """(batch, seq) bool, the real tokens once they are in front."""
    positions: Tensor
    """(batch, seq), for each token where it stands in the call, its place in its text; padding has some other."""
    order: Tensor | None
    """(batch, seq), the token that comes to each place; None where all are real."""
    back: Tensor | None
    """(batch, seq), the place that each token comes to."""

    @classmethod
    def of(cls, mask: Tensor, seen: Tensor, padded: bool = True) -> Rows:
        """Return the rows of a mask (batch, seq) bool, True = real token; `padded=False` where all tokens are real."""
        positions = (seen[:, None] + mask.long().cumsum(1) - 1).clamp(min=0)
        if not padded:
            return cls(seen, mask, positions, None, None)
        # All keys differ, so the order is that of a stable sort, which ONNX does not have.
        steps, seq = torch.arange(mask.shape[1], device=mask.device), mask.shape[1]
        order = torch.where(mask, steps, seq + steps).argsort(dim=1)
        return cls(seen, mask.gather(1, order), positions, order, order.argsort(dim=1))

    @property
    def counts(self) -> Tensor:
        """(batch,), the real tokens of each row in this call."""
        return self.real.sum(1)

    @property
    def places(self) -> Tensor:
        """(batch, seq), the place in its text of each token once the real ones are in front."""
        return self.seen[:, None] + torch.arange(self.real.shape[1], device=self.seen.device)

    def to_front(self, tensor: Tensor) -> Tensor:
        """Return `tensor` (batch, seq, ...) with the real tokens of each row in front."""
        return tensor if self.order is None else tokens_at(tensor, self.order)

    def to_places(self, tensor: Tensor) -> Tensor:
        """Undo `to_front`."""
        return tensor if self.back is None else tokens_at(tensor, self.back)


def tokens_at(tensor: Tensor, places: Tensor) -> Tensor:
    """Return the tokens at `places` (..., seq) of a tensor (..., seq) or (..., seq, width).

    >>> tokens_at(torch.tensor([[5, 6, 7], [1, 2, 3]]), torch.tensor([[2, 0, 1], [0, 0, 1]])).tolist()
    [[7, 5, 6], [1, 1, 2]]
    """
    texts = places.flatten(0, -2)
    first = places.shape[-1] * torch.arange(texts.shape[0], device=places.device)
    # Whole rows, in training several times as fast as `gather`.
    taken = tensor.flatten(0, places.dim() - 1).index_select(0, (first[:, None] + texts).flatten())
    return taken.unflatten(0, places.shape)


class EfficientAttention(MultiHeadAttention):
    """The base of all efficient attentions; a subclass defines `attend_heads` and, if it is causal, `state_shapes`.

    Args:
        hidden_size: width of input and output; `num_heads` must divide it.
        num_heads: heads, of head_dim = hidden_size / num_heads each.
    """

    num_parts: ClassVar[int] = 3
    """Vectors of each token and head: query, key and value."""

    def __init__(self, hidden_size: int, num_heads: int):
        super().__init__(hidden_size, num_heads)
        self.qkv_proj = nn.Linear(hidden_size, self.num_parts * hidden_size)
        self.o_proj = nn.Linear(hidden_size, hidden_size)

    def state_shapes(self, batch: int) -> list[tuple[int, ...]]:
        """Return the shapes of the tensors that a causal attention keeps for later calls; -1 is any length."""
        return []

    def attend_heads(self, hidden: Tensor, rows: Rows, state: State | None) -> tuple[Tensor, State | None]:
        """Return the heads' o_t, (batch, heads, seq, head_dim), and what later calls need.

        Args:
            hidden: (batch, seq, hidden), the real tokens of each row in front.
            rows: the rows.
            state: what the call before returned; None at the beginning of the texts.
        """
        raise NotImplementedError(f"{type(self).__name__} must define attend_heads: the equations of the attention")

    def forward(self, hidden: Tensor, rows: Rows, state: State | None = None) -> tuple[Tensor, State | None]:
        """Return W_o [o_t of each head] + b_o, (batch, seq, hidden), and the state after the call."""
        heads, state = self.attend_heads(rows.to_front(hidden), rows, state)
        return self.o_proj(rows.to_places(heads.transpose(1, 2).flatten(2))), state


def softmax_over(q: Tensor, parts: Sequence[Part], scaling: float) -> Tensor:
    """Σ_j a_j v_j, where a is the softmax of q·k_j · scaling over the keys of all parts together.

    Args:
        q: (..., queries, head_dim).
        parts: for each its keys and values, (..., keys, head_dim), and (..., queries, keys) bool, True = may attend.
        scaling: the factor of the scores.

    Returns:
        (..., queries, head_dim); for a query that may attend to nothing, some average of the values.
    """
    scores = [q @ k.transpose(-1, -2) * scaling for k, _, _ in parts]
    masked = [
        score.masked_fill(~allowed, torch.finfo(score.dtype).min)
        for score, (_, _, allowed) in zip(scores, parts, strict=True)
    ]
    weights = torch.cat(masked, dim=-1).softmax(dim=-1).split([part.shape[-1] for part in masked], dim=-1)
    first, *others = (share @ v for share, (_, v, _) in zip(weights, parts, strict=True))
    for other in others:
        first = first + other
    return first


def blocks_of(tensor: Tensor, size: int) -> Tensor:
    """Cut (batch, heads, seq, ...) into blocks, (batch, heads, blocks, size, ...); the last is filled up with zeros."""
    # In this form `torch.export` finds that the lengths agree, for any length.
    seq, blocks = tensor.shape[2], (tensor.shape[2] + size - 1) // size
    filled = F.pad(tensor, (0, 0) * (tensor.dim() - 3) + (0, blocks * size - seq))
    return filled.unflatten(2, (blocks, size))


def neighbouring(blocks: Tensor, count: int) -> Tensor:
    """Join each block with those after it, `count` in all: (batch, heads, blocks, size, ...) to count - 1 blocks fewer.

    >>> neighbouring(torch.tensor([[[[1], [2], [3]]]]), 2).tolist()
    [[[[1, 2], [2, 3]]]]
    """
    wanted = blocks.shape[2] - count + 1
    return torch.cat([blocks[:, :, shift : shift + wanted] for shift in range(count)], dim=3)


def appended(before: Tensor | None, new: Tensor, seen: Tensor) -> Tensor:
    """Return the tokens of each row by their places: `seen` (batch,) of `before`, then those of `new`.

    Both are (batch, heads, length, head_dim); the result has the sum of their lengths, its end being padding.
    """
    if before is None:
        return new
    old = before.shape[2]
    places = torch.arange(old + new.shape[2], device=new.device)
    later = old + places - seen[:, None]
    source = torch.where(places < seen[:, None], places, later).clamp(max=old + new.shape[2] - 1)
    joined = torch.cat((before, new), dim=2)
    return joined.gather(2, source[:, None, :, None].expand_as(joined))
