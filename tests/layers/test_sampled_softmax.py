# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The sampled softmax: its formula, what it leaves out, and the softmax that it approaches."""

import math

import torch
from torch.nn import functional as F
from torch.testing import assert_close

from hf_lecture_models.layers.sampled_softmax import SampledSoftmaxLinear, sampled_softmax_loss


def test_the_loss_is_the_formula_word_by_word() -> None:
    torch.manual_seed(0)
    hidden, weight, bias = torch.randn(3, 4), torch.randn(6, 4), torch.randn(6)
    targets, sample = torch.tensor([0, 5, 2]), torch.tensor([5, 1, 1, 2])
    log_noise = torch.randn(6).log_softmax(0)
    expected = 0.0
    for h, target in zip(hidden, targets.tolist(), strict=True):
        score = {word: float(weight[word] @ h + bias[word]) for word in range(6)}
        drawn = [word for word in sample.tolist() if word != target]
        others = sum(math.exp(score[word]) / (4 * math.exp(log_noise[word])) for word in drawn)
        expected -= math.log(math.exp(score[target]) / (math.exp(score[target]) + others))
    found = sampled_softmax_loss(hidden, weight, bias, targets, sample, log_noise)
    assert math.isclose(found.item(), expected, rel_tol=1e-5)


def test_it_approaches_the_softmax_and_is_one_in_evaluation() -> None:
    torch.manual_seed(0)
    layer, hidden, targets = SampledSoftmaxLinear(4, 6, 300_000), torch.randn(5, 4), torch.tensor([0, 1, 2, 3, 4])
    layer.set_token_counts(torch.tensor([50, 20, 10, 10, 5, 5]))
    whole = F.cross_entropy(layer(hidden), targets, reduction="sum")
    assert_close(layer.eval().loss(hidden, targets), whole)
    # The target itself takes no part in the sample, where it would count twice.
    assert_close(layer.train().loss(hidden, targets), whole, rtol=0.01, atol=0.01)


def test_a_sample_of_nothing_but_the_target() -> None:
    layer = SampledSoftmaxLinear(2, 1, 3)
    loss = layer.loss(torch.ones(2, 2), torch.zeros(2, dtype=torch.long))
    assert loss.item() == 0
    loss.backward()
    assert bool((layer.weight.grad == 0).all())
