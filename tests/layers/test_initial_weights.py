# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Layers that start in ways of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from hf_lecture_models.layers.initial_weights import OneVectorEmbedding, SmallEmbedding, StateLinear, UniformLinear


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def test_a_uniform_layer_stays_within_its_bound() -> None:
    layer = UniformLinear(100, 50)
    layer.weight.fill_(9.0)
    layer.bias.fill_(9.0)
    layer.draw_weights()
    for tensor in (layer.weight, layer.bias):
        assert 0.05 < tensor.abs().max() <= 0.1
        assert tensor.unique().numel() > 1


def test_a_state_layer_starts_with_the_identity_and_others_start_like_it() -> None:
    first = StateLinear(3, 2)
    first.draw_weights()
    assert torch.equal(first.weight[:, :3], torch.eye(3))
    assert 0 < first.weight[:, 3:].abs().max() <= 5**-0.5
    assert not first.bias.any()
    other = StateLinear(3, 2, like=first)
    other.draw_weights()
    assert torch.equal(other.weight, first.weight)
    assert torch.equal(other.bias, first.bias)
    assert set(other.state_dict()) == {"weight", "bias"}, "the layer that it starts as is not a part of it"


def test_word_vectors_start_as_one() -> None:
    words = OneVectorEmbedding(5, 3)
    words.draw_weights()
    assert torch.equal(words.weight, words.weight[:1].expand(5, 3))
    assert words.weight.any()


def test_word_vectors_start_small_and_special_tokens_at_zero() -> None:
    words = SmallEmbedding(6, 4, special_ids=[0, 5])
    words.draw_weights()
    assert not words.weight[[0, 5]].any()
    assert 0 < words.weight[1:5].abs().max() <= 0.125
