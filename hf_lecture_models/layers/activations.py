# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The activation functions of slide R:874-890."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from hf_lecture_models.io.compat import init


class Swish(nn.Module):
    """Swish_β(x) = x σ(βx), β a trained number that starts at 1 (Ramachandran, Zoph & Le, 2017; slide R:882)."""

    def __init__(self) -> None:
        super().__init__()
        self.beta = nn.Parameter(torch.ones(()))

    def draw_weights(self) -> None:
        """Set β to its initial value."""
        init.ones_(self.beta)

    def forward(self, x: Tensor) -> Tensor:
        """Elementwise, any shape."""
        return x * torch.sigmoid(self.beta * x)


ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "gelu_new": partial(nn.GELU, approximate="tanh"),
    "silu": nn.SiLU,
    "swish": Swish,
    "tanh": nn.Tanh,
}
"""Named as in transformers.

"gelu" is x Φ(x) (slide R:878); "gelu_new" is 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))), up to 4.8e-4 away, with
which GPT-1 and GPT-2 were trained (Hendrycks & Gimpel, "Gaussian error linear units", 2016, section 2).
"""
