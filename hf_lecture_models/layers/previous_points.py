# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The points before each point of a sequence, with padding anywhere, and carried from call to call."""

import torch
from torch import Tensor


def previous_points(points: Tensor, mask: Tensor | None, before: Tensor) -> tuple[Tensor, Tensor]:
    """Return for each point the real points before it, and the last points of all.

    >>> points, mask = torch.tensor([[[3.0], [0.0], [5.0]]]), torch.tensor([[True, False, True]])
    >>> windows, last = previous_points(points, mask, before=torch.zeros(1, 1, 1))
    >>> windows.flatten().tolist()[::2], last.flatten().tolist()
    ([0.0, 3.0], [5.0])

    Args:
        points: (batch, seq, n).
        mask: (batch, seq) bool, True = real point; None where all are.
        before: (batch, order, n), the last points of earlier calls, the newest last; zeros at the beginning.

    Returns:
        The `order` points before each, the newest first, (batch, seq, order, n); and what `before` is for the next
        call.
    """
    batch, seq, size = points.shape
    order = before.shape[1]
    real = torch.ones(batch, seq, dtype=torch.bool, device=points.device) if mask is None else mask
    if mask is not None:  # the real points to the front
        to_front = (~mask).long().argsort(dim=1, stable=True)
        points = points.gather(1, to_front.unsqueeze(-1).expand(-1, -1, size))
    known = torch.cat((before.to(points.dtype), points), 1)
    rank = real.long().cumsum(1) - real.long()  # real points before each
    newest_first = torch.arange(order - 1, -1, -1, device=points.device)
    windows = _rows(known, (rank.unsqueeze(-1) + newest_first).flatten(1)).view(batch, seq, order, size)
    last = _rows(known, real.long().sum(1, keepdim=True) + torch.arange(order, device=points.device))
    return windows, last


def _rows(values: Tensor, places: Tensor) -> Tensor:
    """Return the rows of (batch, rows, n) at (batch, places)."""
    return values.gather(1, places.unsqueeze(-1).expand(-1, -1, values.shape[-1]))
