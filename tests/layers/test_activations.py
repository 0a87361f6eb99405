# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Activation functions beside transformers' own, and by their formulas."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close
from transformers.activations import ACT2FN

from hf_lecture_models.layers.activations import ACTIVATIONS, Swish


@pytest.mark.parametrize("name", ["relu", "gelu", "gelu_new", "silu"])
def test_values_and_gradients_are_transformers(name: str) -> None:
    """Under the same names."""
    x = torch.linspace(-8, 8, 201, requires_grad=True)
    found, expected = ACTIVATIONS[name]()(x), ACT2FN[name](x)
    assert_close(found, expected, rtol=1e-5, atol=1e-6)
    gradients = [torch.autograd.grad(y.square().sum(), x)[0] for y in (found, expected)]
    assert_close(*gradients, rtol=1e-4, atol=1e-5)


def test_gelu_is_that_of_the_slide() -> None:
    """x Φ(x), R:878; the tanh form is another function."""
    x = torch.linspace(-4, 4, 81, dtype=torch.float64)
    exact = x * torch.distributions.Normal(0.0, 1.0).cdf(x)
    assert_close(ACTIVATIONS["gelu"]()(x), exact, rtol=0, atol=1e-7)
    assert 4e-4 < (ACTIVATIONS["gelu_new"]()(x) - exact).abs().max() < 4.8e-4


def test_swish_starts_as_silu_and_its_beta_learns() -> None:
    swish, x = Swish(), torch.linspace(-4, 4, 41)
    assert_close(swish(x), torch.nn.functional.silu(x))
    with torch.no_grad():
        swish.beta.fill_(1.7)
    assert_close(swish(x), x / (1 + torch.exp(-1.7 * x)))
    swish(x).sum().backward()
    step = 1e-3
    with torch.no_grad():
        values = []
        for beta in (1.7 + step, 1.7 - step):
            swish.beta.fill_(beta)
            values.append(swish(x.double()).sum())
    assert_close(swish.beta.grad.double(), (values[0] - values[1]) / (2 * step), rtol=1e-3, atol=1e-3)


def test_swish_between_the_line_and_relu() -> None:
    """β = 0 gives x / 2; a large β gives ReLU (slide R:882)."""
    swish, x = Swish(), torch.linspace(-4, 4, 41)
    with torch.no_grad():
        swish.beta.fill_(0.0)
        assert_close(swish(x), x / 2)
        swish.beta.fill_(200.0)
        assert_close(swish(x), x.clamp(min=0), rtol=0, atol=1e-6)
