# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Noise-contrastive estimation: the formula, the noise, and the softmax that it approaches."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from hf_lecture_models.layers.noise_contrastive import NoiseContrastiveLinear, noise_contrastive_loss

HIDDEN, WORDS = 6, 9


def problem(positions: int = 7, samples: int = 5) -> tuple[Tensor, ...]:
    torch.manual_seed(0)
    hidden = torch.randn(positions, HIDDEN, dtype=torch.double, requires_grad=True)
    weight = torch.randn(WORDS, HIDDEN, dtype=torch.double, requires_grad=True)
    bias = torch.randn(WORDS, dtype=torch.double, requires_grad=True)
    targets, noise = torch.randint(WORDS, (positions,)), torch.randint(WORDS, (samples,))
    return hidden, weight, bias, targets, noise, torch.rand(WORDS, dtype=torch.double).log_softmax(0)


def test_loss_and_gradients_equal_the_formula() -> None:
    hidden, weight, bias, targets, noise, log_noise = problem()
    expected = torch.zeros((), dtype=torch.double)
    for h, target in zip(hidden, targets.tolist(), strict=True):
        scores = [weight[w] @ h + bias[w] for w in range(WORDS)]
        text = [scores[w].exp() / (scores[w].exp() + len(noise) * log_noise[w].exp()) for w in range(WORDS)]
        expected = expected - text[target].log() - sum((1 - text[w]).log() for w in noise.tolist())
    ours = noise_contrastive_loss(hidden, weight, bias, targets, noise, log_noise)
    assert_close(ours, expected)
    wanted = [hidden, weight, bias]
    assert_close(torch.autograd.grad(ours, wanted), torch.autograd.grad(expected, wanted))
    assert torch.autograd.gradcheck(
        lambda *given: noise_contrastive_loss(*given, targets, noise, log_noise), (hidden, weight, bias)
    )


def test_scores_of_any_size_stay_finite() -> None:
    hidden, weight, bias, targets, noise, log_noise = problem()
    loss = noise_contrastive_loss(hidden * 1e4, weight, bias, targets, noise, log_noise)
    assert loss.isfinite()
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(loss, [hidden, weight, bias]))


def test_noise_is_the_smoothed_unigram_distribution() -> None:
    layer = NoiseContrastiveLinear(HIDDEN, 5, 40_000)
    assert_close(layer.log_noise(), torch.full((5,), -math.log(5)))
    counts = torch.tensor([0, 5, 1, 30, 9])
    layer.set_token_counts(counts)
    expected = (counts + 1) / 50
    assert_close(layer.log_noise().exp(), expected)
    assert_close(layer.bias, expected.log())
    torch.manual_seed(0)
    drawn = layer.draw_noise()
    # Four standard deviations of the rarest word's share are 0.003.
    assert_close(drawn.bincount(minlength=5) / len(drawn), expected, rtol=0, atol=0.01)
    assert drawn.bincount(minlength=5)[0] > 0


def test_noise_follows_the_global_seed() -> None:
    layer = NoiseContrastiveLinear(HIDDEN, WORDS, 20).train()
    hidden, targets = torch.randn(4, HIDDEN), torch.randint(WORDS, (4,))
    losses = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        losses.append(layer.loss(hidden, targets).item())
    assert losses[0] == losses[1] != losses[2]


def test_evaluation_is_the_softmax() -> None:
    layer = NoiseContrastiveLinear(HIDDEN, WORDS, 20)
    layer.set_token_counts(torch.randint(9, (WORDS,)))
    hidden, targets = torch.randn(4, HIDDEN), torch.randint(WORDS, (4,))
    exact = F.cross_entropy(layer(hidden), targets, reduction="sum")
    assert not torch.isclose(layer.loss(hidden, targets), exact)
    assert_close(layer.eval().loss(hidden, targets), exact)
    assert_close(layer(hidden), F.linear(hidden, layer.weight, layer.bias))


@pytest.mark.parametrize(("samples", "error"), [(20, 1.5), (2_000, 0.15), (200_000, 0.015)])
def test_the_gradient_approaches_that_of_the_softmax(samples: int, error: float) -> None:
    """At scores that are normalised; the distance falls with the root of the number of samples."""
    torch.manual_seed(0)
    hidden, targets = torch.randn(1, HIDDEN).expand(12, -1).double(), torch.randint(WORDS, (12,))
    layer = NoiseContrastiveLinear(HIDDEN, WORDS, samples).double()
    layer.set_token_counts(torch.tensor([9, 8, 7, 6, 5, 4, 3, 2, 1]))
    with torch.no_grad():
        layer.bias -= layer(hidden[0]).logsumexp(-1)
    exact = torch.autograd.grad(F.cross_entropy(layer(hidden), targets, reduction="sum"), layer.bias)[0]
    ours = torch.autograd.grad(layer.loss(hidden, targets), layer.bias)[0]
    assert (ours - exact).norm() / exact.norm() < error


def test_bfloat16_autocast_stays_near_float32() -> None:
    layer = NoiseContrastiveLinear(HIDDEN, WORDS, 30)
    hidden, targets = torch.randn(8, HIDDEN), torch.randint(WORDS, (8,))
    losses = []
    for enabled in (False, True):
        torch.manual_seed(0)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            losses.append(layer.loss(hidden, targets))
    assert losses[1].dtype == torch.float32
    assert_close(losses[1], losses[0], rtol=0.01, atol=0)
    losses[1].backward()
    assert layer.weight.grad.isfinite().all()
