# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The activation functions of slide R:874-890."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Gelu(nn.Module):
    """GELU(x) = x Φ(x), in the form 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))).

    Hendrycks & Gimpel, "Gaussian error linear units", 2016, section 2. GPT-1 was trained with this form.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Elementwise, any shape."""
        return F.gelu(x, approximate="tanh")


class Swish(nn.Module):
    """Swish_β(x) = x σ(βx), β a trained number that starts at 1 (Ramachandran, Zoph & Le, 2017; slide R:882)."""

    def __init__(self) -> None:
        super().__init__()
        self.beta = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        """Elementwise, any shape."""
        return x * torch.sigmoid(self.beta * x)


ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"relu": nn.ReLU, "gelu": Gelu, "silu": nn.SiLU, "swish": Swish}
