# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Attention with one head, and maxout."""

import torch
from torch.testing import assert_close

from hf_lecture_models.layers.source_attention import AdditiveScore, Maxout, attention_weights


def test_weights_of_padding_are_zero_however_large_its_scores() -> None:
    scores, mask = torch.randn(2, 3, 5), torch.tensor([[1, 1, 0, 0, 0], [0, 1, 1, 0, 1]]).bool()
    scores[~mask[:, None].expand_as(scores)] = 1e30
    weights = attention_weights(scores, mask)
    for row, real in enumerate(mask):
        assert_close(weights[row][:, real], scores[row][:, real].softmax(-1))
        assert (weights[row][:, ~real] == 0).all()


def test_a_source_of_padding_alone_gives_no_nan() -> None:
    scores = torch.randn(1, 2, 3, requires_grad=True)
    weights = attention_weights(scores, torch.zeros(1, 3, dtype=torch.bool))
    (gradient,) = torch.autograd.grad(weights.square().sum(), scores)
    assert weights.isfinite().all()
    assert gradient.isfinite().all()


def test_additive_scores_are_a_network_of_both_vectors() -> None:
    score, state, keys = AdditiveScore(3, 4), torch.randn(2, 3), torch.randn(2, 5, 4)
    for row in range(2):
        for j in range(5):
            expected = score.v_a.weight[0] @ torch.tanh(score.W_a.weight @ state[row] + keys[row, j])
            assert_close(score(state, keys)[row, j], expected)


def test_maxout_takes_the_larger_of_neighbours() -> None:
    layer, u = Maxout(3, 2), torch.randn(4, 3)
    x = u @ layer.linear.weight.T + layer.linear.bias
    assert_close(layer(u), torch.stack((x[:, :2].max(1).values, x[:, 2:].max(1).values), 1))
