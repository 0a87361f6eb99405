# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The last words before each prediction, side by side: the input of a model of fixed order."""

import torch
from torch import Tensor


def context_windows(before: Tensor, vectors: Tensor, real: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return, for each position, its own vector and those of the real tokens before it, nearest first.

    One matrix product then reads whole windows. Copying each vector into all of its windows costs next to nothing
    beside that product.

    Args:
        before: (batch, context_size, size), the vectors before the first position, oldest first.
        vectors: (batch, seq, size).
        real: (batch, seq) bool, True = real token; the others are skipped as if they were not there, and their own
            windows mean nothing. None where all are real.

    Returns:
        The windows (batch, seq, (1 + context_size) * size), and the last `context_size` vectors of each row
        (batch, context_size, size), which are `before` in the next call.

    >>> before, vectors = torch.tensor([[[1], [2]]]), torch.tensor([[[3], [4], [5]]])
    >>> windows, after = context_windows(before, vectors)
    >>> windows.tolist(), after.tolist()
    ([[[3, 2, 1], [4, 3, 2], [5, 4, 3]]], [[[4], [5]]])
    >>> windows, after = context_windows(before, vectors, torch.tensor([[True, False, True]]))
    >>> windows[:, 2].tolist(), after.tolist()
    ([[5, 3, 2]], [[[3], [5]]])
    """
    context_size, seq = before.shape[1], vectors.shape[1]
    if real is not None:
        # Real tokens move together to the left, in their order: the keys differ, for ONNX knows no stable sort.
        steps = torch.arange(seq, device=real.device)
        vectors = _rows_at(vectors, torch.where(real, steps, seq + steps).argsort(dim=1))
    line = torch.cat((before, vectors), 1)  # (batch, context_size + seq, size)
    windows = torch.cat(
        [line[:, context_size - back : context_size - back + seq] for back in range(context_size + 1)], -1
    )
    if real is None:
        return windows, line[:, seq:]
    after = _rows_at(line, real.sum(1, keepdim=True) + torch.arange(context_size, device=line.device))
    return _rows_at(windows, (real.cumsum(1) - 1).clamp(min=0)), after


def _rows_at(vectors: Tensor, places: Tensor) -> Tensor:
    """(batch, picked, size): the vectors at `places` (batch, picked) of each row."""
    return vectors.gather(1, places.unsqueeze(-1).expand(-1, -1, vectors.shape[-1]))
