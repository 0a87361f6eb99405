# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Mixtures of Gaussians: against torch's distributions, the paper's gradients, sums over grids, floors, drawing."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.stats import norm
from torch import distributions
from torch.testing import assert_close

from hf_lecture_models.layers.clipped_gradients import clip_output_gradients
from hf_lecture_models.layers.gaussian_mixture import (
    BivariateMixture,
    CorrelatedGaussian,
    GaussianMixture,
    UnitVariance,
    log_interval,
)

K, BATCH = 4, 6


def outputs_of(kind, size, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(BATCH, kind.num_outputs(K, size), generator=generator).double().requires_grad_()


def points_of(size, seed=1):
    return torch.randn(BATCH, size, generator=torch.Generator().manual_seed(seed)).double()


def torchs(outputs, size, bivariate):
    """torch's mixture of the same outputs, with full covariance matrices."""
    weights, means, sigmas, rhos = outputs.split((K, K * size, K * size, K if bivariate else 0), -1)
    sigmas = 1e-3 + sigmas.unflatten(-1, (K, size)).exp()
    covariance = torch.diag_embed(sigmas.square())
    if bivariate:
        between = 0.999 * rhos.tanh() * sigmas.prod(-1)
        covariance = covariance + between[..., None, None] * torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    normal = distributions.MultivariateNormal(means.unflatten(-1, (K, size)), covariance)
    return distributions.MixtureSameFamily(distributions.Categorical(logits=weights), normal)


@pytest.mark.parametrize(("kind", "size"), [(GaussianMixture, 1), (GaussianMixture, 3), (BivariateMixture, 2)])
def test_density_and_gradients_equal_torchs(kind, size):
    outputs, points = outputs_of(kind, size), points_of(size)
    ours = kind.from_outputs(outputs, K, size, 1e-3, 0.999).log_density(points)
    theirs = torchs(outputs, size, kind is BivariateMixture).log_prob(points)
    assert_close(ours, theirs)
    assert_close(*(torch.autograd.grad(value.sum(), outputs, retain_graph=True)[0] for value in (ours, theirs)))


def test_gradients_are_the_papers():
    """By the responsibilities γ, without floors: π - γ in π̂, and the formulas of the paper in μ̂, σ̂ and ρ̂."""
    outputs, points = outputs_of(BivariateMixture, 2), points_of(2)
    mixture = BivariateMixture.from_outputs(outputs, K, 2, 0.0, 1.0)
    (found,) = torch.autograd.grad(-mixture.log_density(points).sum(), outputs)
    with torch.no_grad():
        weights, means, sigmas, rhos = outputs.split((K, 2 * K, 2 * K, K), -1)
        pi, mu, sigma, rho = (
            weights.softmax(-1),
            means.unflatten(-1, (K, 2)),
            sigmas.exp().unflatten(-1, (K, 2)),
            rhos.tanh(),
        )
        d1, d2 = ((points[:, None] - mu) / sigma).unbind(-1)
        z = d1**2 + d2**2 - 2 * rho * d1 * d2
        normal = (-z / (2 * (1 - rho**2))).exp() / (2 * math.pi * sigma.prod(-1) * (1 - rho**2).sqrt())
        gamma = pi * normal / (pi * normal).sum(-1, keepdim=True)
        c = 1 / (1 - rho**2)
        by_mu = torch.stack((c / sigma[..., 0] * (d1 - rho * d2), c / sigma[..., 1] * (d2 - rho * d1)), -1)
        by_sigma = torch.stack((c * d1 * (d1 - rho * d2) - 1, c * d2 * (d2 - rho * d1) - 1), -1)
        by_rho = d1 * d2 + rho * (1 - c * z)
        expected = (pi - gamma, *(-gamma[..., None] * by for by in (by_mu, by_sigma)), -gamma * by_rho)
    assert_close(found, torch.cat([part.flatten(1) for part in expected], 1))


def test_unit_variance_is_the_squared_error():
    outputs, points = outputs_of(UnitVariance, 3), points_of(3)
    found = -UnitVariance.from_outputs(outputs, 1, 3, 1e-3, 0.999).log_density(points)
    assert_close(found, (points - outputs).square().sum(-1) / 2 + 1.5 * math.log(2 * math.pi))


def test_correlated_gaussian_equals_torchs():
    root = torch.randn(3, 3, generator=torch.Generator().manual_seed(0)).double()
    covariance, points = root @ root.T + torch.eye(3), points_of(3)
    mean = torch.arange(3).double().expand(BATCH, 3)
    ours = CorrelatedGaussian(mean, torch.linalg.cholesky(covariance).expand(BATCH, 3, 3)).log_density(points)
    assert_close(ours, distributions.MultivariateNormal(mean, covariance).log_prob(points))


def test_floors_hold_where_outputs_are_extreme():
    outputs = torch.full((1, BivariateMixture.num_outputs(1, 2)), -200.0)
    mixture = BivariateMixture.from_outputs(outputs, 1, 2, 1e-3, 0.999)
    assert_close(mixture.scales, torch.full((1, 1, 2), 1e-3))
    assert_close(mixture.correlations, torch.tensor([[-0.999]]))
    assert mixture.log_density(torch.tensor([[-200.0, -200.0]])).isfinite().all()
    largest = math.log(1 / (2 * math.pi * 1e-6 * math.sqrt(1 - 0.999**2)))
    assert_close(mixture.log_density(mixture.means[:, 0]).item(), largest, rtol=1e-3, atol=0)


@pytest.mark.cases(1, 2)
@pytest.mark.parametrize(
    ("kind", "size"), [(GaussianMixture, 1), (GaussianMixture, 2), (BivariateMixture, 2), (UnitVariance, 2)]
)
def test_probabilities_sum_to_one(kind, size):
    axis = torch.arange(-200, 201) * 1.0
    grid = torch.stack(torch.meshgrid(*[axis] * size, indexing="ij"), -1).view(-1, 1, size)
    mixture = kind.from_outputs(outputs_of(kind, size)[None].float(), K, size, 1e-3, 0.999)
    assert_close(mixture.log_probability(grid, 1.0).exp().sum(0), torch.ones(BATCH).double(), rtol=0, atol=1e-6)


def test_probability_of_a_small_cell_is_the_density():
    mixture = BivariateMixture.from_outputs(outputs_of(BivariateMixture, 2), K, 2, 1e-3, 0.999)
    found = mixture.log_probability(points_of(2), 1e-4)
    assert_close(found, mixture.log_density(points_of(2)) + 2 * math.log(1e-4), rtol=0, atol=1e-5)


def test_log_interval_far_from_zero():
    for low, high in ((-1.0, 2.0), (-39.0, -38.0), (38.0, 38.5), (-50.0, 50.0), (-0.001, 0.001)):
        side = -high if low > 0 else low, -low if low > 0 else high
        expected = norm.logcdf(side[1]) + math.log(-math.expm1(norm.logcdf(side[0]) - norm.logcdf(side[1])))
        assert_close(log_interval(torch.tensor(low).double(), torch.tensor(high).double()).item(), expected)
    far = log_interval(torch.tensor([-1e4, 1e4]).double(), torch.tensor([-1e4 + 1, 1e4 + 1]).double())
    assert far.isfinite().all()


@pytest.mark.parametrize("temperature", [1.0, 0.25])
def test_drawn_points_have_the_moments(temperature):
    """Weights π^(1/T), deviations σ √T, and the correlations as they are."""
    mixture = BivariateMixture(
        torch.tensor([0.2, 0.8]).log(),
        torch.tensor([[-20.0, 0.0], [20.0, 5.0]]),
        torch.tensor([[1.0, 2.0], [0.5, 3.0]]),
        torch.tensor([0.5, -0.8]),
    )
    many = BivariateMixture(
        *(tensor.expand(40_000, *tensor.shape) for tensor in vars(mixture).values() if tensor is not mixture.rest)
    )
    drawn = many.draw(torch.Generator().manual_seed(0), temperature)
    second = drawn[:, 0] > 0
    assert_close(
        second.double().mean().item(),
        0.8 ** (1 / temperature) / (0.2 ** (1 / temperature) + 0.8 ** (1 / temperature)),
        rtol=0,
        atol=0.01,
    )
    own = drawn[second].T
    assert_close(own.std(1), torch.tensor([0.5, 3.0]) * temperature**0.5, rtol=0.03, atol=0)
    assert_close(torch.corrcoef(own)[0, 1].item(), -0.8, rtol=0.03, atol=0)


def test_clipped_gradients_do_not_depend_on_what_follows():
    outputs = torch.tensor([[3.0, -4.0], [0.5, 9.0]], requires_grad=True)
    for factor in (1.0, 1e-3):
        losses = clip_output_gradients(lambda y: y.square().sum(-1), outputs, 7.0)
        assert_close(losses, outputs.square().sum(-1))
        (found,) = torch.autograd.grad((losses * factor).sum(), outputs)
        assert_close(found, factor * torch.tensor([[6.0, -7.0], [1.0, 7.0]]))
    with torch.no_grad():
        assert_close(clip_output_gradients(lambda y: y.square().sum(-1), outputs, 7.0), outputs.square().sum(-1))
