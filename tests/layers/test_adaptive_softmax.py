# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The adaptive softmax equals torch's, whatever the order of the ids, and is a distribution."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from hf_lecture_models.layers.adaptive_softmax import AdaptiveSoftmax, default_cutoffs
from hf_lecture_models.layers.linear_cross_entropy import linear_cross_entropy
from hf_lecture_models.layers.word_scores import target_log_probs

HIDDEN, WORDS, CUTOFFS = 64, 50, [5, 12, 30]


def build(cutoffs: list[int] | None = None, shuffled: bool = True) -> AdaptiveSoftmax:
    torch.manual_seed(0)
    layer = AdaptiveSoftmax(HIDDEN, WORDS, cutoffs or CUTOFFS).double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    if shuffled:
        layer.set_token_counts(torch.randint(100, (WORDS,)))
    return layer


def torchs(layer: AdaptiveSoftmax) -> tuple[nn.AdaptiveLogSoftmaxWithLoss, list[tuple[nn.Parameter, nn.Parameter]]]:
    """torch's own layer with the same weights, and the parameters of both in pairs."""
    theirs = nn.AdaptiveLogSoftmaxWithLoss(HIDDEN, WORDS, layer.bounds[:-1], head_bias=True).double()
    pairs = [(layer.head.weight, theirs.head.weight), (layer.head.bias, theirs.head.bias)]
    for ours, (projection, words) in zip(layer.tails, theirs.tail, strict=True):
        pairs += [(ours.projection.weight, projection.weight), (ours.words.weight, words.weight)]
    for our, their in pairs:
        their.data.copy_(our.data)
    return theirs, pairs


def problem(positions: int = 60) -> tuple[Tensor, Tensor]:
    """Hidden states, and targets among which every word is, if there are enough."""
    torch.manual_seed(1)
    hidden = torch.randn(positions, HIDDEN, dtype=torch.double, requires_grad=True)
    return hidden, torch.arange(positions).remainder(WORDS)[torch.randperm(positions)]


@pytest.mark.parametrize("cutoffs", [[1], [25], [49], CUTOFFS], ids=str)
@pytest.mark.parametrize("shuffled", [False, True])
def test_loss_and_gradients_equal_torchs(cutoffs: list[int], shuffled: bool) -> None:
    layer = build(cutoffs, shuffled)
    theirs, pairs = torchs(layer)
    hidden, targets = problem()
    ours = layer.loss(hidden, targets)
    expected = theirs(hidden, layer.ranks[targets])
    assert_close(ours, -expected.output.sum())
    gradients = torch.autograd.grad(0.3 * ours, [hidden, *(our for our, _ in pairs)])
    wanted = torch.autograd.grad(-0.3 * expected.output.sum(), [hidden, *(their for _, their in pairs)])
    assert_close(gradients, wanted)
    assert_close(layer.target_log_probs(hidden, targets), expected.output)


def test_log_probabilities_and_gradients_equal_torchs() -> None:
    layer = build()
    theirs, pairs = torchs(layer)
    hidden, _ = problem()
    ours, expected = layer(hidden), theirs.log_prob(hidden)[:, layer.ranks]
    assert_close(ours, expected)
    noise = torch.randn_like(ours)
    gradients = torch.autograd.grad((ours * noise).sum(), [hidden, *(our for our, _ in pairs)])
    assert_close(gradients, torch.autograd.grad((expected * noise).sum(), [hidden, *(their for _, their in pairs)]))


def test_it_is_a_distribution_by_id() -> None:
    layer = build()
    hidden, targets = problem()
    log_probs = layer(hidden.view(4, 15, HIDDEN))
    assert log_probs.shape == (4, 15, WORDS)
    assert_close(log_probs.exp().sum(-1), torch.ones(4, 15, dtype=torch.double))
    chosen = log_probs.flatten(0, 1).gather(1, targets[:, None]).squeeze(1)
    assert_close(layer.target_log_probs(hidden, targets), chosen)
    assert_close(layer.loss(hidden, targets), -chosen.sum())


def test_the_shared_functions_ask_the_layer() -> None:
    layer = build()
    hidden, targets = problem()
    assert_close(target_log_probs(hidden, layer, targets, WORDS), layer.target_log_probs(hidden, targets))
    ignored = targets.clone()
    ignored[::3] = -100
    kept = ignored != -100
    assert_close(linear_cross_entropy(hidden, layer, ignored), layer.loss(hidden[kept], targets[kept]))


def test_words_rank_by_count_and_then_by_id() -> None:
    layer = AdaptiveSoftmax(4, 5, [2])
    assert layer.ranks.tolist() == [0, 1, 2, 3, 4]
    layer.set_token_counts(torch.tensor([3, 0, 9, 3, 7]))
    assert layer.ranks.tolist() == [2, 4, 0, 3, 1]
    assert layer.token_counts.tolist() == [3, 0, 9, 3, 7]
    assert {name: buffer.dtype for name, buffer in layer.bfloat16().named_buffers()} == {
        "token_counts": torch.long,
        "ranks": torch.long,
    }


@pytest.mark.parametrize("positions", [0, 1, 3])
def test_clusters_without_targets_get_zero_gradients(positions: int) -> None:
    layer = build(shuffled=False)
    hidden, targets = problem(positions)
    targets.zero_()
    layer.loss(hidden, targets).backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.any()) == (positions > 0 and name.startswith("head")), name
    assert layer.target_log_probs(hidden, targets).shape == (positions,)


def test_bfloat16_autocast_stays_near_float32() -> None:
    layer = build().float()
    hidden, targets = problem()
    hidden = hidden.float()
    exact = layer.loss(hidden, targets)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough, log_probs = layer.loss(hidden, targets), layer(hidden)
    assert rough.dtype == log_probs.dtype == torch.float32
    assert_close(rough, exact, rtol=0.01, atol=0)
    assert_close(log_probs.exp().sum(-1), torch.ones(60), rtol=0, atol=1e-5)
    rough.backward()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())


@pytest.mark.parametrize("vocab_size", [2, 3, 4, 16, 17, 1000, 33_278])
def test_default_cutoffs_fit_any_vocabulary(vocab_size: int) -> None:
    cutoffs = default_cutoffs(vocab_size)
    assert sorted({0, *cutoffs, vocab_size}) == [0, *cutoffs, vocab_size]
    assert cutoffs
