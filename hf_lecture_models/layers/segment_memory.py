# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The memory of a model that reads a text in segments: the last states of each row, padding left out.

Dai et al., "Transformer-XL", ACL 2019, section 3.2. A memory of `size` states has the last real state at its end; where
a row has had fewer tokens, the places before are not real. So the distance from a token to a place of the memory is the
same whatever padding a batch had.
"""

import torch
from torch import Tensor


class SegmentMemory:
    """Which keys, of the memory and the segment after it, the tokens of a segment attend to, and what is kept of them.

    Args:
        size: states that the memory holds.
        hidden: (batch, seq, hidden), the segment; for shape, type and device only.
        mask: (batch, seq) bool, True = real token; None where all are.
        before: (batch, size) bool, the real states of the memory before the segment; None without a memory.

    >>> memory = SegmentMemory(2, torch.zeros(1, 2, 4), before=torch.tensor([[False, True]]))
    >>> memory.allowed()[0, 0].long()
    tensor([[0, 1, 1, 0],
            [0, 1, 1, 1]])
    >>> memory.real_after
    tensor([[True, True]])
    """

    def __init__(self, size: int, hidden: Tensor, mask: Tensor | None = None, before: Tensor | None = None):
        self.size, self.hidden, self.mask, self.before = size, hidden, mask, before
        batch, seq, _ = hidden.shape
        self.seq, self.keys = seq, seq + (0 if before is None else size)
        real = hidden.new_ones(batch, seq, dtype=torch.bool) if mask is None else mask
        self.real = torch.cat((hidden.new_zeros(batch, size, dtype=torch.bool) if before is None else before, real), 1)
        # Padding first: then the real states are the last ones, in their order.
        self.order = None if mask is None else self.real.int().argsort(dim=1, stable=True)[:, seq:]
        self.real_after = self.real[:, seq:] if self.order is None else self.real.gather(1, self.order)
        """(batch, size) bool, the real states of the memory after the segment."""
        self.distances = self._distances()
        """(batch or 1, seq, keys), the distance in tokens from each key to each query; negative: later."""

    def _distances(self) -> Tensor:
        device = self.hidden.device
        positions = torch.arange(self.seq, device=device)[None]
        if self.mask is not None:
            positions = self.mask.long().cumsum(1) - 1
        places = torch.arange(self.seq - self.keys, 0, device=device).expand(positions.shape[0], -1)
        return positions[:, :, None] - torch.cat((places, positions), 1)[:, None]

    def allowed(self, reach: int | None = None) -> Tensor:
        """Return which keys each query attends to, (batch, 1, seq, keys) bool.

        Args:
            reach: the number of tokens that a query attends to at most, itself included; None: all up to itself.
        """
        distances = self.distances
        allowed = (distances >= 0) & self.real[:, None, -self.keys :]
        if reach is not None:
            allowed = allowed & (distances < reach)
        # Attention over nothing would be NaN: padding attends to itself.
        own = torch.arange(self.keys, device=distances.device) - (self.keys - self.seq)
        return (allowed | (own == torch.arange(self.seq, device=distances.device)[:, None]))[:, None]

    def after(self, memory: Tensor | None, hidden: Tensor) -> Tensor:
        """Return a layer's memory after the segment, (batch, size, hidden), without a gradient; 0 where not real.

        Args:
            memory: (batch, size, hidden), the memory before; None without one.
            hidden: (batch, seq, hidden), the layer's input.
        """
        if memory is None:
            memory = hidden.new_zeros(hidden.shape[0], self.size, hidden.shape[2])
        extended = torch.cat((memory, hidden), 1).detach()
        if self.order is None:
            return extended[:, self.seq :]
        kept = extended.gather(1, self.order[..., None].expand(-1, -1, hidden.shape[2]))
        return kept.masked_fill(~self.real_after[..., None], 0.0)
