# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The points before each point of a sequence, with padding anywhere, and carried from call to call."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class History(NamedTuple):
    """The last points that were read.

    Attributes:
        points: (batch, order, n), the newest last; zeros where there were fewer.
        known: (batch, 1), how many of them there are.
    """

    points: Tensor
    known: Tensor


def empty_history(points: Tensor, order: int) -> History:
    """Return the history at the beginning of sequences of points (batch, seq, n)."""
    batch, _, size = points.shape
    return History(points.new_zeros(batch, order, size), points.new_zeros(batch, 1))


def previous_points(points: Tensor, mask: Tensor | None, before: History) -> tuple[Tensor, Tensor, History]:
    """Return for each point the points before it.

    >>> points = torch.tensor([[[3.0], [0.0], [5.0]]])
    >>> mask = torch.tensor([[True, False, True]])
    >>> windows, available, history = previous_points(points, mask, empty_history(points, order=1))
    >>> windows.flatten().tolist()[::2], available.flatten().tolist()[::2], history.points.flatten().tolist()
    ([0.0, 3.0], [0, 1], [5.0])

    Args:
        points: (batch, seq, n).
        mask: (batch, seq) bool, True = real point; None where all are.
        before: the last points of earlier calls.

    Returns:
        The `order` real points before each, the newest first, (batch, seq, order, n), zeros where there are fewer; how
        many there are, (batch, seq); and the history after these points.
    """
    batch, seq, size = points.shape
    order = before.points.shape[1]
    real = torch.ones(batch, seq, dtype=torch.bool, device=points.device) if mask is None else mask
    if mask is not None:  # the real points to the front
        to_front = (~mask).long().argsort(dim=1, stable=True)
        points = points.gather(1, to_front.unsqueeze(-1).expand(-1, -1, size))
    known = torch.cat((before.points.to(points.dtype), points), 1)
    rank = real.long().cumsum(1) - real.long()  # real points before each
    newest_first = torch.arange(order - 1, -1, -1, device=points.device)
    windows = _rows(known, (rank.unsqueeze(-1) + newest_first).flatten(1)).view(batch, seq, order, size)
    read, count = real.long().sum(1, keepdim=True), before.known.long()
    last = _rows(known, read + torch.arange(order, device=points.device))
    after = History(last, (count + read).clamp(max=order).to(before.known.dtype))
    return windows, (count + rank).clamp(max=order), after


def _rows(values: Tensor, places: Tensor) -> Tensor:
    """Return the rows of (batch, rows, n) at (batch, places)."""
    return values.gather(1, places.unsqueeze(-1).expand(-1, -1, values.shape[-1]))
