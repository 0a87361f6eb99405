# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The loss in pieces equals torch's cross-entropy of the whole logits, gradients included."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from hf_lecture_models.layers import word_scores as module
from hf_lecture_models.layers.execution import has_own_loss
from hf_lecture_models.layers.linear_cross_entropy import linear_cross_entropy
from hf_lecture_models.layers.noise_contrastive import NoiseContrastiveLinear
from hf_lecture_models.layers.word_scores import target_log_probs


def problem(positions: int = 23, ignored: int = 5, bias: bool = True) -> tuple[torch.Tensor, nn.Linear, torch.Tensor]:
    hidden = torch.randn(positions, 8, dtype=torch.double, requires_grad=True)
    head = nn.Linear(8, 11, bias=bias).double()
    targets = torch.randint(11, (positions,))
    targets[torch.randperm(positions)[:ignored]] = -100
    return hidden, head, targets


@pytest.mark.parametrize("rows", [1, 4, 512])
@pytest.mark.parametrize("ignored", [0, 5, 23])
@pytest.mark.parametrize("bias", [True, False])
def test_equals_cross_entropy(rows: int, ignored: int, bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROWS", rows)
    hidden, head, targets = problem(ignored=ignored, bias=bias)
    wanted = [hidden, *head.parameters()]
    ours = linear_cross_entropy(hidden, head, targets)
    theirs = F.cross_entropy(head(hidden), targets, reduction="sum")
    assert_close(ours, theirs)
    assert_close(torch.autograd.grad(ours * 0.3, wanted), torch.autograd.grad(theirs * 0.3, wanted))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("bias", [True, False])
def test_some_positions_count_more_than_others(whole: bool, bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also not at all; in pieces, and with a head that is called as it is."""
    monkeypatch.setattr(module, "_ROWS", 4)
    hidden, head, targets = problem(bias=bias)
    weights = torch.rand(23, dtype=torch.double) * (torch.arange(23) % 3)
    wanted = [hidden, *head.parameters()]
    ours = linear_cross_entropy(hidden, nn.Sequential(head) if whole else head, targets, weights)
    theirs = (F.cross_entropy(head(hidden), targets, reduction="none") * weights).sum()
    assert_close(ours, theirs)
    assert_close(torch.autograd.grad(ours * 0.3, wanted), torch.autograd.grad(theirs * 0.3, wanted))


def test_large_logits_stay_finite() -> None:
    hidden, head, targets = problem()
    hidden = (hidden.detach() * 1e4).requires_grad_()
    ours = linear_cross_entropy(hidden, head, targets)
    assert_close(ours, F.cross_entropy(head(hidden), targets, reduction="sum"))
    assert torch.autograd.grad(ours, hidden)[0].isfinite().all()


def test_other_heads_are_called_whole() -> None:
    hidden, head, targets = problem()
    twice = nn.Sequential(head, nn.Identity())
    assert_close(linear_cross_entropy(hidden, twice, targets), linear_cross_entropy(hidden, head, targets))


class Quantised(torch.Tensor):
    """A matrix that is multiplied with by its own rules only, here by doubling."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is F.linear:
            hidden, weight, bias = args
            return F.linear(hidden, 2 * weight.as_subclass(torch.Tensor), bias)
        if function in (torch.mm, torch.Tensor.t):
            raise NotImplementedError("of a quantised matrix")
        return super().__torch_function__(function, types, args, kwargs or {})


@pytest.mark.parametrize("head_class", [nn.Linear, lambda *sizes: NoiseContrastiveLinear(*sizes, noise_samples=2)])
def test_a_quantised_matrix_is_multiplied_by_its_own_rules(head_class: Any) -> None:
    hidden, targets = torch.randn(5, 8), torch.tensor([1, 2, -100, 3, 4])
    head = head_class(8, 11).eval()
    twice = F.cross_entropy(F.linear(hidden, 2 * head.weight, head.bias), targets, reduction="sum")
    head.weight = nn.Parameter(head.weight.detach().as_subclass(Quantised), requires_grad=False)
    assert_close(linear_cross_entropy(hidden, head, targets), twice)


class HeadOfItsOwn(nn.Linear):
    """An output layer with a loss that is no cross-entropy."""

    def loss(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        assert (targets >= 0).all()
        return (self(hidden) ** 2).sum() + targets.sum()

    def target_log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return -hidden.sum(1) - targets


def test_a_head_with_its_own_loss_is_asked_for_it() -> None:
    hidden, _, targets = problem()
    head, counted = HeadOfItsOwn(8, 11).double(), targets != -100
    expected = (head(hidden[counted]) ** 2).sum() + targets[counted].sum()
    assert_close(linear_cross_entropy(hidden, head, targets), expected)
    assert has_own_loss(head)
    assert not has_own_loss(nn.Linear(8, 11))
    assert_close(target_log_probs(hidden, head, targets, 11), -hidden.sum(1) - targets)


def test_frozen_parts_get_no_gradient() -> None:
    hidden, head, targets = problem()
    head.requires_grad_(False)
    linear_cross_entropy(hidden, head, targets).backward()
    assert head.weight.grad is None
    assert head.bias.grad is None
    assert hidden.grad.abs().sum() > 0


@pytest.mark.parametrize("bias", [True, False])
def test_bfloat16_autocast_stays_near_float32(bias: bool) -> None:
    hidden, head, targets = problem(bias=bias)
    hidden, head = hidden.detach().float().requires_grad_(), head.float()
    wanted = [hidden, *head.parameters()]
    exact = linear_cross_entropy(hidden, head, targets)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = linear_cross_entropy(hidden, head, targets)
    assert rough.dtype == torch.float32
    assert_close(rough, exact, rtol=0.01, atol=0)
    pairs = zip(torch.autograd.grad(rough, wanted), torch.autograd.grad(exact, wanted), strict=True)
    for ours, theirs in pairs:
        assert ours.dtype == theirs.dtype
        assert_close(ours, theirs, rtol=0, atol=0.05)


def test_without_gradients() -> None:
    hidden, head, targets = problem()
    with torch.no_grad():
        assert_close(
            linear_cross_entropy(hidden, head, targets), F.cross_entropy(head(hidden), targets, reduction="sum")
        )


@pytest.mark.parametrize("rows", [1, 4, 512])
def test_log_probs_in_pieces(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROWS", rows)
    hidden, head, targets = problem(ignored=0)
    expected = head(hidden).log_softmax(-1).gather(1, targets[:, None]).squeeze(1)
    assert_close(target_log_probs(hidden, head, targets, 11), expected)
