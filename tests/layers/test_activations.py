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
