# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Activation functions beside transformers' own, and by their formulas."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close
from transformers.activations import ACT2FN

from hf_lecture_models.layers.activations import ACTIVATIONS, Swish


@pytest.mark.parametrize(("ours", "theirs"), [("relu", "relu"), ("gelu", "gelu_new"), ("silu", "silu")])
def test_values_and_gradients_are_transformers(ours: str, theirs: str) -> None:
    x = torch.linspace(-8, 8, 201, requires_grad=True)
    found, expected = ACTIVATIONS[ours]()(x), ACT2FN[theirs](x)
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


def test_swish_between_the_line_and_relu() -> None:
    """β = 0 gives x / 2; a large β gives ReLU (slide R:882)."""
    swish, x = Swish(), torch.linspace(-4, 4, 41)
    with torch.no_grad():
        swish.beta.fill_(0.0)
        assert_close(swish(x), x / 2)
        swish.beta.fill_(200.0)
        assert_close(swish(x), x.clamp(min=0), rtol=0, atol=1e-6)
