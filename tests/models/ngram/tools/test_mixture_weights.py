# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Weights of a mixture at the optimum of the held-out probability, and their errors by numeric second derivatives."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from hf_lecture_models.models.ngram.tools.mixture_weights import (
    MIN_WEIGHT,
    at_bound,
    checked_weights,
    fit_weights,
    standard_errors,
)


def events(models: int, number: int, seed: int = 0) -> np.ndarray:
    """Probabilities of which each model gives the highest for some events, and 0 for others."""
    rng = np.random.default_rng(seed)
    probs = rng.beta(0.5, 5, (models, number))
    probs[:, : number // 50] = 0  # all give 0
    probs[0, number // 50 : number // 5] = 0
    return probs


def mean_log(probs: np.ndarray, weights: np.ndarray) -> float:
    seen = probs[:, probs.any(0)]
    return float(np.log(weights @ seen).mean())


def test_no_weights_of_a_fine_grid_are_better():
    probs = events(3, 400)
    best = mean_log(probs, np.array(fit_weights(probs)))
    grid = np.linspace(0, 1, 101)
    others = [(a, b, 1 - a - b) for a, b in itertools.product(grid, grid) if 0 < b < 1 - a and a > 0]
    found = [mean_log(probs, np.array(weights)) for weights in others]
    assert max(found) <= best
    assert max(found) == pytest.approx(best, abs=1e-4)
    assert others[int(np.argmax(found))] == pytest.approx(fit_weights(probs), abs=0.01)


@pytest.mark.parametrize("models", [2, 3, 5])
def test_the_conditions_of_the_optimum(models):
    """The derivative of the mean of ln P by each weight is the same number, 1, as all weights are inside."""
    probs = events(models, 2000, models)
    weights = np.array(fit_weights(probs))
    seen = probs[:, probs.any(0)]
    assert not at_bound(weights).any()
    np.testing.assert_allclose((seen / (weights @ seen)).mean(1), 1, atol=1e-4)


def test_a_model_that_others_beat_everywhere_is_at_its_bound():
    probs = events(2, 300)
    probs = np.stack([*probs, probs.min(0) / 2])
    weights = fit_weights(probs)
    assert at_bound(weights).tolist() == [False, False, True]
    assert weights[2] == pytest.approx(MIN_WEIGHT, rel=1e-3)
    errors = standard_errors(probs, weights)
    assert errors[2] is None
    assert errors[:2] == pytest.approx(standard_errors(probs[:2], fit_weights(probs[:2])), rel=1e-3)


@pytest.mark.parametrize("models", [2, 3, 4])
def test_errors_by_numeric_second_derivatives(models):
    probs = events(models, 500, models)
    weights = np.array(fit_weights(probs))
    free, step = models - 1, 1e-4

    def log_prob(*moves: tuple[int, float]) -> float:
        moved = weights.copy()
        for index, by in moves:
            moved[index] += by
            moved[-1] -= by
        return mean_log(probs, moved) * probs.any(0).sum()

    hessian = np.zeros((free, free))
    for i, j in itertools.product(range(free), repeat=2):
        four = [sign * other * log_prob((i, sign * step), (j, other * step)) for sign in (1, -1) for other in (1, -1)]
        hessian[i, j] = sum(four) / (4 * step**2)
    covariance = np.linalg.inv(-hessian)
    expected = [*np.sqrt(np.diag(covariance)), math.sqrt(covariance.sum())]
    assert standard_errors(probs, weights.tolist()) == pytest.approx(expected, rel=1e-3)


def test_the_spread_of_weights_over_texts_is_their_error():
    """Of many texts drawn from a mixture, the fitted weights lie about the true one as far as their errors say."""
    rng = np.random.default_rng(0)
    one, other = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.3, 0.6])
    found = []
    for _ in range(300):
        drawn = rng.choice(3, 400, p=0.4 * one + 0.6 * other)
        probs = np.stack([one[drawn], other[drawn]])
        weights = fit_weights(probs)
        found.append((weights[0], standard_errors(probs, weights)[0]))
    spread, errors = np.std([weight for weight, _ in found]), np.mean([error for _, error in found])
    assert np.mean([weight for weight, _ in found]) == pytest.approx(0.4, abs=0.01)
    assert errors == pytest.approx(spread, rel=0.15)


def test_no_errors_where_the_events_do_not_tell_the_weights():
    probs = events(2, 100)
    assert standard_errors(probs[[0, 0, 1]], [0.25, 0.25, 0.5]) == [None, None, None]
    assert standard_errors(np.zeros((2, 3)), [0.5, 0.5]) == [None, None]
    assert fit_weights(np.zeros((2, 0))) == [0.5, 0.5]


def test_given_weights():
    assert checked_weights([1 / 3] * 3, 3) == pytest.approx([1 / 3] * 3)
    assert sum(checked_weights([0.3333333, 0.6666667], 2)) == pytest.approx(1, abs=1e-15)
    for weights, message in (
        ([1.0], "are 1 for 2 models; give one for each"),
        ([0.5, 0.6], "together 1.1; give numbers above 0 that add up to 1"),
        ([1.5, -0.5], "give numbers above 0"),
        ([0.0, 1.0], "give numbers above 0"),
        ([math.nan, 0.5], "give numbers above 0"),
        ([math.inf, 0.5], "give numbers above 0"),
    ):
        with pytest.raises(ValueError, match=message):
            checked_weights(weights, 2)
