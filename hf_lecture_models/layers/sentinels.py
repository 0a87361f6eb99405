# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Sentinels: the first tokens of a text, which all tokens attend to and which attend to all (slide Y:599).

Beltagy, Peters & Cohan, "Longformer: the long-document transformer", 2020, section 3.1, "global attention". As there,
the sentinels' own attention has matrices of its own: with q°, k°, v° from these,

    o_g = Σ_j softmax_j(q°_g · k°_j / √head_dim) v°_j,   j over all tokens, or over those up to g where it is causal

while the other tokens attend to a sentinel by its ordinary key and value.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from hf_lecture_models.layers.efficient_attention import Part, Rows, softmax_over


class Sentinels(nn.Module):
    """The matrices of the first `count` tokens of each text; causal attention has their keys and values in its state.

    Args:
        hidden_size: width of input and output.
        num_heads: heads.
        count: the number of sentinels.
    """

    def __init__(self, hidden_size: int, num_heads: int, count: int):
        super().__init__()
        self.num_heads, self.count = num_heads, count
        self.qkv_proj = nn.Linear(hidden_size, 3 * hidden_size)

    def project(self, hidden: Tensor) -> Sequence[Tensor]:
        """q°, k° and v° of `hidden` (batch, seq, hidden), each (batch, heads, seq, head_dim)."""
        split = self.qkv_proj(hidden).unflatten(2, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        return split.unbind(0)

    def everywhere(self, hidden: Tensor, rows: Rows, heads: Tensor, scaling: float) -> Tensor:
        """Return the outputs `heads`, (batch, heads, seq, head_dim), with those of the sentinels, which see all."""
        first = min(self.count, hidden.shape[1])
        q, k, v = self.project(hidden)
        own = softmax_over(q[:, :, :first], [(k, v, rows.real[:, None, None])], scaling)
        return torch.cat((own, heads[:, :, first:]), dim=2)

    def backwards(
        self, hidden: Tensor, rows: Rows, heads: Tensor, scaling: float, kept: Sequence[Tensor] | None
    ) -> tuple[Tensor, list[Tensor]]:
        """Return the outputs with those of the sentinels, which see those before them; and all their k° and v°.

        Args:
            kept: k° and v° of the sentinels of earlier calls, (batch, heads, count, head_dim).
        """
        first = min(self.count, hidden.shape[1])
        q, *new = self.project(hidden[:, :first])
        k, v = kept_first(kept, new, rows, self.count)
        places = rows.places[:, :first]
        before = torch.arange(self.count, device=places.device) <= places[:, :, None]
        own = softmax_over(q, [(k, v, before[:, None])], scaling)
        own = torch.where((places < self.count)[:, None, :, None], own, heads[:, :, :first])
        return torch.cat((own, heads[:, :, first:]), dim=2), [k, v]


def kept_first(kept: Sequence[Tensor] | None, new: Sequence[Tensor], rows: Rows, count: int) -> list[Tensor]:
    """Return the first `count` tokens of each text, from what was `kept` of them and the `new` tokens of a call.

    Tensors are (batch, heads, length, head_dim); a place that no token has come to holds zeros.
    """
    places = torch.arange(count, device=rows.seen.device)
    source = (places - rows.seen[:, None]).clamp(0, new[0].shape[2] - 1)[:, None, :, None]
    old, here = ((places < end[:, None])[:, None, :, None] for end in (rows.seen, rows.seen + rows.counts))
    found = []
    for number, tensor in enumerate(new):
        taken = tensor.gather(2, source.expand(-1, tensor.shape[1], -1, tensor.shape[3]))
        before = torch.zeros_like(taken) if kept is None else kept[number]
        found.append(torch.where(old, before, torch.where(here, taken, 0.0)))
    return found


def sentinel_part(keys: Tensor, values: Tensor, seen_outside: Tensor) -> Part:
    """Return the sentinels as a part of `softmax_over` for queries in blocks.

    Args:
        keys: (batch, heads, count, head_dim), their ordinary keys.
        values: their values, of the same shape.
        seen_outside: (batch or 1, blocks, size, count) bool, whether a query attends to one outside its window.
    """
    return keys[:, :, None], values[:, :, None], seen_outside[:, None]
