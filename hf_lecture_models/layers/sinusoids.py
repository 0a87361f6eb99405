# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Sines and cosines of positions (Vaswani et al., "Attention is all you need", 2017, section 3.5; slide R:912)."""

import math

import torch
from torch import Tensor


def sinusoids(positions: Tensor, hidden_size: int) -> tuple[Tensor, Tensor]:
    """Return sin(t / 10000^(2k/hidden)) and the cosines of positions t (...), in their type: (..., hidden / 2) each.

    >>> sines, cosines = sinusoids(torch.tensor([0.0, 1.0]), hidden_size=4)
    >>> sines.shape, cosines[0].tolist()
    (torch.Size([2, 2]), [1.0, 1.0])
    """
    even = torch.arange(0, hidden_size, 2, dtype=positions.dtype, device=positions.device)
    frequencies = torch.exp(even * (-math.log(10_000.0) / hidden_size))
    angles = positions[..., None] * frequencies  # (..., hidden / 2)
    return angles.sin(), angles.cos()
