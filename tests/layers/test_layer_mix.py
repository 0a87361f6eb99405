# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The learned mix of layers."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from hf_lecture_models.layers.layer_mix import LayerMix


def test_mix_equals_the_sum_in_outputs_and_gradients() -> None:
    mix = LayerMix(4)
    with torch.no_grad():
        mix.theta.copy_(torch.tensor([0.5, -2.0, 0.0, 3.0]))
    layers = [torch.randn(2, 3, 5, requires_grad=True) for _ in range(4)]
    expected = torch.einsum("u,ubtd->btd", mix.theta, torch.stack(layers))
    assert_close(mix(layers), expected)
    inputs, weights = [mix.theta, *layers], torch.randn(2, 3, 5)
    ours, theirs = (torch.autograd.grad((out * weights).sum(), inputs) for out in (mix(layers), expected))
    assert_close(ours, theirs)


def test_it_starts_as_the_last_layer() -> None:
    layers = [torch.randn(2, 3) for _ in range(3)]
    assert torch.equal(LayerMix(3)(layers), layers[-1])


def test_another_number_of_layers_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        LayerMix(3)([torch.zeros(2)] * 4)
