# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A learned mix of all layers, for prediction (slide Y:563)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class LayerMix(nn.Module):
    """Σ_u θ_u I_u[t] over the layers u, θ free: it may be negative and need not add to one.

    It starts with θ = 0 but for the last layer's 1: as prediction from the last layer.

    Args:
        num_layers: how many I_u there are.
    """

    def __init__(self, num_layers: int):
        super().__init__()
        self.theta = nn.Parameter(self.initial_theta(num_layers))

    @staticmethod
    def initial_theta(num_layers: int) -> Tensor:
        """(num_layers,): zeros and a one."""
        return torch.arange(num_layers).eq(num_layers - 1).float()

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """As many tensors of one shape as there are layers, to their sum weighted by θ."""
        mixed = layers[0] * self.theta[0]
        for theta, layer in zip(self.theta[1:], layers[1:], strict=True):
            mixed = mixed + layer * theta
        return mixed
