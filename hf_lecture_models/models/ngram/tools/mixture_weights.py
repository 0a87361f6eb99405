# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The weights of a mixture: those that make held-out events most probable, with their standard errors.

Expectation maximisation (F. Jelinek and R. Mercer, Interpolated Estimation of Markov Source Parameters from Sparse
Data, 1980), of the events e with the probabilities P_i(e):

    weight_i <- mean over e of weight_i P_i(e) / sum_j weight_j P_j(e)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

MIN_WEIGHT, MAX_STEPS, TOLERANCE = 1e-4, 1000, 1e-7
_SINGULAR = 1e-10


def fit_weights(probs: np.ndarray) -> list[float]:
    """Return one weight per model, together 1, that make the events most probable: (models, events) probabilities.

    No weight is below `MIN_WEIGHT`, but for the last division by their sum.

    >>> [round(weight, 3) for weight in fit_weights(np.array([[0.5, 0.5, 0.5], [0.9, 0.9, 0.3]]))]
    [0.0, 1.0]
    """
    probs = probs[:, probs.any(0)]  # events that all models give the probability 0 do not count
    weights = np.full(len(probs), 1 / len(probs))
    for _ in range(MAX_STEPS):
        joint = weights[:, None] * probs
        updated = (joint / joint.sum(0)).mean(1).clip(MIN_WEIGHT) if joint.size else weights
        updated /= updated.sum()
        change, weights = np.abs(updated - weights).max(), updated
        if change < TOLERANCE:
            break
    return weights.tolist()


def standard_errors(probs: np.ndarray, weights: Sequence[float]) -> list[float | None]:
    """Return the standard error of each weight that `fit_weights` found, or None.

    With the weight of one model as 1 - the others', d_i(e) = (P_i(e) - P_last(e)) / P(e) is the derivative of ln P(e),
    and I = sum over e of d(e) d(e)^T the observed Fisher information. The variances are the diagonal of its inverse (B.
    Efron and D. Hinkley, Assessing the Accuracy of the Maximum Likelihood Estimator, 1978). Events count as
    independent, though the words of a text are not: the errors are rather too small.

    A weight at its bound, `MIN_WEIGHT`, has no error, and is held where it is for the others. None has one where the
    models are so alike that the events do not tell their weights.

    >>> probs = np.repeat([[0.9, 0.1], [0.1, 0.9]], 50, axis=1)
    >>> [round(error, 4) for error in standard_errors(probs, [0.5, 0.5])]  # d = 1.6 or -1.6: 1 / sqrt(100 x 2.56)
    [0.0625, 0.0625]

    Args:
        probs: (models, events).
    """
    probs = probs[:, probs.any(0)]
    free = np.flatnonzero(~at_bound(weights))
    errors: list[float | None] = [None] * len(weights)
    if len(free) < 2 or not probs.size:
        return errors
    slopes = (probs[free[:-1]] - probs[free[-1]]) / (np.asarray(weights) @ probs)
    information = slopes @ slopes.T
    values = np.linalg.eigvalsh(information)
    if not values[0] > _SINGULAR * max(values[-1], 1):
        return errors
    covariance = np.linalg.inv(information)
    for index, variance in zip(free, [*np.diag(covariance), covariance.sum()], strict=True):
        errors[index] = math.sqrt(variance)
    return errors


def at_bound(weights: Sequence[float]) -> np.ndarray:
    """Return which weights are as small as `fit_weights` makes them, (models,) bool."""
    return np.asarray(weights) <= MIN_WEIGHT


def checked_weights(weights: Sequence[float], models: int) -> list[float]:
    """Return given weights, divided by their sum; a ValueError says what is wrong with them.

    >>> checked_weights([0.3, 0.7], 2)
    [0.3, 0.7]
    >>> checked_weights([0.3, 0.3], 2)
    Traceback (most recent call last):
    ValueError: `weights` are [0.3, 0.3], together 0.6; give numbers above 0 that add up to 1
    """
    weights = [float(weight) for weight in weights]
    total = math.fsum(weights)
    if len(weights) != models:
        raise ValueError(f"`weights` are {len(weights)} for {models} models; give one for each")
    if not (all(weight > 0 for weight in weights) and math.isclose(total, 1, rel_tol=0, abs_tol=1e-6)):
        rule = "give numbers above 0 that add up to 1"
        raise ValueError(f"`weights` are {weights}, together {total:g}; {rule}")
    return [weight / total for weight in weights]
