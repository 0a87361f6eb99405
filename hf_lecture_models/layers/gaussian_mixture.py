# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Mixtures of Gaussians as the distribution of the next point, by the outputs of a network.

Graves, "Generating sequences with recurrent neural networks", 2013, section 4.1; slide N s18 (unit variance). With
components k = 1, ..., K and points x of n numbers,

    p(x) = Σ_k π_k Π_i φ(z_i) / s_i,   φ(z) = exp(-z²/2) / √(2π)

where z_i and s_i of a component are, with d = (x - μ) / σ in each number,

    diagonal    z_i = d_i, s_i = σ_i
    bivariate   z_1 = d_1, s_1 = σ_1, z_2 = (d_2 - ρ d_1) / √(1 - ρ²), s_2 = σ_2 √(1 - ρ²)

In each, z_i is standard normal given the numbers before x_i. The bivariate one is the paper's: z_1² + z_2² equals
(d_1² + d_2² - 2 ρ d_1 d_2) / (1 - ρ²). Data on a grid with steps h have probabilities, too: the number x_i is the cell
from x_i - h/2 to x_i + h/2, given the centres of the cells before it,

    P(x) = Σ_k π_k Π_i [Φ(z_i + h / 2s_i) - Φ(z_i - h / 2s_i)]

which sums to 1 over the grid, so that -log_2 P(x) is the length of a code.
"""

import math
from copy import copy
from typing import Self

import torch
from torch import Tensor


class GaussianMixture:
    """A mixture with diagonal covariances.

    >>> normal = GaussianMixture(torch.zeros(1), torch.zeros(1, 2), torch.ones(1, 2))
    >>> bool(normal.log_density(torch.zeros(2)).isclose(torch.tensor(-math.log(2 * math.pi))))
    True

    Args:
        log_weights: ln π, (..., components).
        means: μ, (..., components, n).
        scales: σ, (..., components, n).
    """

    def __init__(self, log_weights: Tensor, means: Tensor, scales: Tensor):
        self.log_weights, self.means, self.scales = log_weights, means, scales

    @classmethod
    def num_outputs(cls, components: int, size: int) -> int:
        """Return the number of outputs that make a mixture of points of `size` numbers."""
        return components * (1 + 2 * size)

    @classmethod
    def from_outputs(
        cls, outputs: Tensor, components: int, size: int, sigma_floor: float, max_correlation: float
    ) -> Self:
        """Return the mixture of a network's outputs (..., num_outputs): π̂, then μ̂, then σ̂.

        π = softmax(π̂), μ = μ̂, σ = σ_floor + exp(σ̂).
        """
        weights, means, scales = outputs.split((components, components * size, components * size), -1)
        shape = (components, size)
        return cls(weights.log_softmax(-1), means.unflatten(-1, shape), sigma_floor + scales.unflatten(-1, shape).exp())

    @property
    def steps(self) -> Tensor:
        """s, (..., components, n)."""
        return self.scales

    def residuals(self, points: Tensor) -> Tensor:
        """Return z, (..., components, n), of points (..., n)."""
        return (points.unsqueeze(-2) - self.means) / self.scales

    def offsets(self, residuals: Tensor) -> Tensor:
        """Return x - μ of these z, (..., components, n): the inverse of `residuals`."""
        return self.scales * residuals

    def log_density(self, points: Tensor) -> Tensor:
        """Return ln p(x) in nats, (...), of points (..., n)."""
        z = self.residuals(points)
        normal = -0.5 * z.square() - self.steps.log() - 0.5 * math.log(2 * math.pi)
        return (self.log_weights + normal.sum(-1)).logsumexp(-1)

    def log_probability(self, points: Tensor, step: float) -> Tensor:
        """Return ln P(x) in nats, (...) float64, of points (..., n) on a grid with this step."""
        wide = self.double()
        z, half = wide.residuals(points.double()), 0.5 * step / wide.steps
        return (wide.log_weights + log_interval(z - half, z + half).sum(-1)).logsumexp(-1)

    def draw(self, generator: torch.Generator | None = None, temperature: float = 1.0) -> Tensor:
        """Return a drawn point, (..., n), of the mixture with weights π^(1/T) and deviations σ √T."""
        weights = (self.log_weights / temperature).softmax(-1)
        chosen = torch.multinomial(weights.flatten(0, -2), 1, generator=generator).view(*weights.shape[:-1], 1, 1)
        noise = torch.empty_like(self.means).normal_(generator=generator) * temperature**0.5
        drawn = self.means + self.offsets(noise)
        return drawn.gather(-2, chosen.expand(*drawn.shape[:-2], 1, drawn.shape[-1])).squeeze(-2)

    def mean(self) -> Tensor:
        """Return the expected point, (..., n)."""
        return (self.log_weights.exp().unsqueeze(-1) * self.means).sum(-2)

    def double(self) -> Self:
        """Return the mixture in float64."""
        found = copy(self)
        vars(found).update({name: tensor.double() for name, tensor in vars(self).items()})
        return found


class UnitVariance(GaussianMixture):
    """One Gaussian with σ = 1: -ln p(x) is half of the squared error, plus n/2 ln 2π."""

    @classmethod
    def num_outputs(cls, components: int, size: int) -> int:
        """Return the number of outputs, those of one mean."""
        return size

    @classmethod
    def from_outputs(
        cls, outputs: Tensor, components: int, size: int, sigma_floor: float, max_correlation: float
    ) -> Self:
        """Return the Gaussian around a network's outputs (..., size)."""
        means = outputs.unsqueeze(-2)
        return cls(torch.zeros_like(means[..., 0]), means, torch.ones_like(means))


class BivariateMixture(GaussianMixture):
    """A mixture with full covariances of pairs of numbers; `correlations` are ρ, (..., components)."""

    def __init__(self, log_weights: Tensor, means: Tensor, scales: Tensor, correlations: Tensor):
        super().__init__(log_weights, means, scales)
        self.correlations = correlations
        self.rest = (1 - correlations.square()).sqrt()

    @classmethod
    def num_outputs(cls, components: int, size: int) -> int:
        """Return the number of outputs: 6 for each component."""
        return super().num_outputs(components, size) + components

    @classmethod
    def from_outputs(
        cls, outputs: Tensor, components: int, size: int, sigma_floor: float, max_correlation: float
    ) -> Self:
        """Return the mixture of outputs π̂, μ̂, σ̂ and, last, ρ̂: ρ = ρ_max tanh(ρ̂)."""
        first, last = outputs.split((outputs.shape[-1] - components, components), -1)
        plain = GaussianMixture.from_outputs(first, components, size, sigma_floor, max_correlation)
        return cls(plain.log_weights, plain.means, plain.scales, max_correlation * last.tanh())

    @property
    def steps(self) -> Tensor:
        """s, (..., components, 2)."""
        return torch.stack((self.scales[..., 0], self.scales[..., 1] * self.rest), -1)

    def residuals(self, points: Tensor) -> Tensor:
        """Return z, (..., components, 2)."""
        first, second = super().residuals(points).unbind(-1)
        return torch.stack((first, (second - self.correlations * first) / self.rest), -1)

    def offsets(self, residuals: Tensor) -> Tensor:
        """Return x - μ of these z, (..., components, 2)."""
        first, second = residuals.unbind(-1)
        return self.scales * torch.stack((first, self.correlations * first + self.rest * second), -1)


class CorrelatedGaussian(GaussianMixture):
    """One Gaussian of any covariance L Lᵀ: z = L^-1 (x - μ), and s_i = L_ii.

    Args:
        mean: μ, (..., n).
        factor: L, lower triangular, (..., n, n).
    """

    def __init__(self, mean: Tensor, factor: Tensor):
        scales = factor.diagonal(dim1=-2, dim2=-1).unsqueeze(-2)
        super().__init__(torch.zeros_like(scales[..., 0]), mean.unsqueeze(-2), scales)
        self.factor = factor.unsqueeze(-3)  # (..., 1, n, n)

    def residuals(self, points: Tensor) -> Tensor:
        """Return z, (..., 1, n)."""
        away = (points.unsqueeze(-2) - self.means).unsqueeze(-1)
        return torch.linalg.solve_triangular(self.factor, away, upper=False).squeeze(-1)

    def offsets(self, residuals: Tensor) -> Tensor:
        """Return x - μ of these z, (..., 1, n)."""
        return (self.factor @ residuals.unsqueeze(-1)).squeeze(-1)


def log_interval(low: Tensor, high: Tensor) -> Tensor:
    """Return ln(Φ(high) - Φ(low)), also far from 0, where both are next to 0 or 1.

    >>> log_interval(torch.tensor(40.0).double(), torch.tensor(41.0).double())  # 1 - Φ(40) is 4e-350
    tensor(-804.6084, dtype=torch.float64)
    """
    flip = low > 0  # Φ(high) - Φ(low) = Φ(-low) - Φ(-high)
    low, high = torch.where(flip, -high, low), torch.where(flip, -low, high)
    upper = torch.special.log_ndtr(high)
    return upper + (-torch.expm1(torch.special.log_ndtr(low) - upper)).log()
