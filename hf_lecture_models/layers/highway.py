# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A layer that changes a gated share of its input (Srivastava, Greff & Schmidhuber, "Highway networks", 2015)."""

import torch
from torch import Tensor, nn


class Gate(nn.Linear):
    """T x + b', a class of its own for its initial bias: if it is negative, the layer changes little at first."""


class Highway(nn.Module):
    """y = t ⊙ relu(H x + b) + (1 - t) ⊙ x, with the gate t = σ(T x + b').

    >>> Highway(3)(torch.zeros(2, 3)).shape
    torch.Size([2, 3])
    """

    def __init__(self, size: int):
        super().__init__()
        self.transform = nn.Linear(size, size)
        self.gate = Gate(size, size)

    def forward(self, x: Tensor) -> Tensor:
        """(..., size) to the same shape."""
        t = torch.sigmoid(self.gate(x))
        return t * torch.relu(self.transform(x)) + (1 - t) * x
