# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A learned mix of all layers, for prediction (slide Y:563) and as the input of another model (slide R:727)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from hf_lecture_models.io.compat import init


class LayerMix(nn.Module):
    """Σ_u θ_u I_u[t] over the layers u, θ free: it may be negative and need not add to one.

    It starts with θ = 1 for the last layer and 0 for the others, which is prediction from the last layer.

    Args:
        num_layers: number of layers I_u.
    """

    def __init__(self, num_layers: int):
        super().__init__()
        self.theta = nn.Parameter(self.initial_theta(num_layers))

    @staticmethod
    def initial_theta(num_layers: int) -> Tensor:
        """(num_layers,): zeros, then a one."""
        return torch.arange(num_layers).eq(num_layers - 1).float()

    def draw_weights(self) -> None:
        """Set θ to its initial value."""
        init.copy_(self.theta, self.initial_theta(len(self.theta)))

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """Return the sum of the layers, tensors of one shape, weighted by θ."""
        mixed = layers[0] * self.theta[0]
        for theta, layer in zip(self.theta[1:], layers[1:], strict=True):
            mixed = mixed + layer * theta
        return mixed


class SoftmaxLayerMix(nn.Module):
    """γ Σ_k s_k h_k over the layers k, with s = softmax(w) (Peters et al. 2018, equation 1).

    It starts with γ = 1 and w = 0, which is the mean of the layers.

    >>> mix = SoftmaxLayerMix(2)
    >>> mix([torch.tensor([1.0]), torch.tensor([3.0])])
    tensor([2.], grad_fn=<MulBackward0>)

    Args:
        num_layers: number of layers h_k.
    """

    def __init__(self, num_layers: int):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(num_layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def draw_weights(self) -> None:
        """Set w and γ to their initial values."""
        init.zeros_(self.w)
        init.ones_(self.gamma)

    @property
    def shares(self) -> Tensor:
        """s: (num_layers,), positive, with the sum 1."""
        return self.w.softmax(0)

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """Return γ times the sum of the layers, tensors of one shape, weighted by s."""
        s = self.shares
        mixed = layers[0] * s[0]
        for share, layer in zip(s[1:], layers[1:], strict=True):
            mixed = mixed + layer * share
        return mixed * self.gamma
