# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Measures as functions of sums over rows, so that they can be measured again on rows drawn with replacement."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_CLASSES = 200
"""The most classes of which macro-F1 and Matthews' correlation follow from sums: a row has three numbers for each."""


@dataclass(frozen=True)
class Sums:
    """A measure that follows from the sums of a few numbers of each row.

    >>> right = ratio([1, 0, 1], [1, 1, 1])
    >>> right.measure()
    0.6666666666666666

    Attributes:
        rows: (rows, numbers), of any type of numbers; sums are float64.
        value: returns the measure (...) of sums (..., numbers).
    """

    rows: np.ndarray
    value: Callable[[np.ndarray], np.ndarray]

    def measure(self) -> float:
        """Return the measure of all rows."""
        return float(self.value(self.rows.sum(0, dtype=float)))


def ratio(numerators: Any, denominators: Any) -> Sums:
    """Return the sum of the first numbers over the sum of the second ones; 0 where that is 0 / 0."""
    return Sums(_columns(numerators, denominators), lambda sums: divide(sums[..., 0], sums[..., 1]))


def accuracy(predictions: Sequence[Any], references: Sequence[Any], counted: Any = None) -> Sums:
    """Return the share of predictions that are right.

    Args:
        counted: (rows,) whether a row counts; None: all do.
    """
    right = np.asarray(predictions) == np.asarray(references)
    counts = np.ones(len(right), bool) if counted is None else np.asarray(counted)
    return ratio(right & counts, counts)


def f1(predictions: Sequence[int], references: Sequence[int]) -> Sums:
    """Return F1 of the class 1."""
    ours, theirs = np.asarray(predictions) == 1, np.asarray(references) == 1
    return ratio(2.0 * (ours & theirs), ours.astype(float) + theirs)


def macro_f1(predictions: Sequence[int], references: Sequence[int], classes: int) -> Sums:
    """Return the mean F1 of the classes that are predicted or right."""

    def value(sums: np.ndarray) -> np.ndarray:
        found, predicted, there = np.split(sums, 3, axis=-1)
        occurring = (predicted + there > 0).sum(-1)
        return divide(divide(2 * found, predicted + there).sum(-1), np.maximum(occurring, 1))

    return Sums(_class_counts(predictions, references, classes), value)


def matthews_correlation(predictions: Sequence[int], references: Sequence[int], classes: int) -> Sums:
    """Return the correlation of predicted and right classes (Matthews, Gorodkin)."""

    def value(sums: np.ndarray) -> np.ndarray:
        found, predicted, there = np.split(sums, 3, axis=-1)
        rows = there.sum(-1)
        spread = (rows**2 - (predicted**2).sum(-1)) * (rows**2 - (there**2).sum(-1))
        return divide(found.sum(-1) * rows - (predicted * there).sum(-1), np.sqrt(np.maximum(spread, 0)))

    return Sums(_class_counts(predictions, references, classes), value)


def _class_counts(predictions: Sequence[int], references: Sequence[int], classes: int) -> np.ndarray:
    """Return three numbers of each class: whether a row is found in it, predicted in it, and right in it."""
    ours, theirs = (np.eye(classes, dtype=np.uint8)[np.asarray(side, int)] for side in (predictions, references))
    return np.concatenate([ours * theirs, ours, theirs], axis=1)


def pearson(predictions: Any, references: Any) -> Sums:
    """Return Pearson's correlation, 0 where one side does not vary."""
    x, y = (_centred(side) for side in (predictions, references))

    def value(sums: np.ndarray) -> np.ndarray:
        rows, first, second, squares, other_squares, products = np.moveaxis(sums, -1, 0)
        spread = (rows * squares - first**2) * (rows * other_squares - second**2)
        return divide(rows * products - first * second, np.sqrt(np.maximum(spread, 0)))

    return Sums(_columns(np.ones(len(x)), x, y, x * x, y * y, x * y), value)


def spearmanr(predictions: Sequence[float], references: Sequence[float]) -> Sums:
    """Return Pearson's correlation of the ranks among all rows; rows drawn again keep these ranks."""
    return pearson(ranks(predictions), ranks(references))


def ranks(numbers: Any) -> np.ndarray:
    """Return the place of each number in ascending order, from 1; equal numbers share the mean of their places.

    If one of them is NaN, all ranks are: (rows,) float64.

    >>> ranks([5.0, 7.0, 5.0])
    array([1.5, 3. , 1.5])
    """
    numbers = np.asarray(numbers, float)
    if np.isnan(numbers).any():
        return np.full(len(numbers), np.nan)
    _, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    return (counts.cumsum() - (counts - 1) / 2)[places]


def exp_ratio(numerators: Any, denominators: Any) -> Sums:
    """Return exp of the ratio, such as the perplexity of nats per token; NaN without a token."""

    def value(sums: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return np.exp(sums[..., 0] / sums[..., 1])

    return Sums(_columns(numerators, denominators), value)


def divide(numerators: np.ndarray, denominators: np.ndarray) -> np.ndarray:
    """Return the ratios, 0 where the denominator is 0."""
    numerators, denominators = np.asarray(numerators, float), np.asarray(denominators, float)
    return np.divide(numerators, denominators, out=np.zeros(numerators.shape), where=denominators != 0)


def _centred(numbers: Any) -> np.ndarray:
    """Return numbers minus their mean, which keeps the digits of their products; exact zeros where none varies."""
    numbers = np.asarray(numbers, float)
    return numbers - numbers.mean() if len(numbers) and np.ptp(numbers) else np.zeros(len(numbers))


def _columns(*columns: Any) -> np.ndarray:
    return np.stack([np.asarray(column, float) for column in columns], axis=1)
