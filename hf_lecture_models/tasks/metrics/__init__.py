# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Measures of predictions beside the right answers.

`evaluate.load("hf_lecture_models/tasks/metrics/lecture_metric.py", NAME)` gives them, and those of entities and of
answers, to programs that use the library `evaluate`.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from hf_lecture_models.io.runs import log_once
from hf_lecture_models.tasks.metrics.sums import ranks


def compute(name: str, predictions: Sequence[Any], references: Sequence[Any]) -> float:
    """Compute a measure of `METRICS`; if the right answers make it undefined, it is 0 and a line says so.

    >>> compute("accuracy", predictions=[0, 1, 1], references=[0, 1, 0])
    0.6666666666666666

    Raises:
        ValueError: there is not one prediction for each right answer.
    """
    _check_sizes(predictions, references)
    if name == "f1" and 1 not in references:
        say_undefined(name, "the class 1 is not among the right answers")
    elif name not in ("f1", "accuracy") and not _varies(np.asarray(references)):
        say_undefined(name, "all right answers are the same")
    return METRICS[name](predictions, references)


@cache
def say_undefined(name: str, reason: str) -> None:
    """Log once that a measure is undefined: a run measures many times.

    >>> say_undefined("pearson", "all right answers are the same")
    """
    log_once(f"{name} is undefined, and given as 0: {reason}")


def accuracy(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return the share of predictions that are right.

    >>> accuracy([0, 1, 2, 2], [0, 1, 1, 2])
    0.75
    """
    return float(np.mean(np.asarray(predictions) == np.asarray(references)))


def f1(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return 2 · found / (predicted + there), counted for class 1; 0 where neither is predicted nor there.

    >>> f1([1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 1, 0])
    0.5714285714285714
    """
    ours, theirs = np.asarray(predictions) == 1, np.asarray(references) == 1
    both = int(ours.sum() + theirs.sum())
    return float(2 * (ours & theirs).sum() / both) if both else 0.0


def matthews_correlation(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return the correlation of predicted and right classes, 0 if either side has only one class.

    Of two classes it is (tp · tn - fp · fn) / √((tp + fp)(tp + fn)(tn + fp)(tn + fn)). More than two are counted by
    Gorodkin's generalization.

    >>> matthews_correlation([1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 1, 1, 0, 0])
    0.16666666666666666
    """
    sides = np.asarray(predictions), np.asarray(references)
    classes, ids = np.unique(np.concatenate(sides), return_inverse=True)
    ours, theirs = np.split(ids.reshape(-1), 2)
    predicted, there = (np.bincount(side, minlength=len(classes)).astype(float) for side in (ours, theirs))
    items = float(len(ours))
    spread = (items**2 - predicted @ predicted) * (items**2 - there @ there)
    return float(((ours == theirs).sum() * items - predicted @ there) / np.sqrt(spread)) if spread else 0.0


def pearson(predictions: Sequence[float], references: Sequence[float]) -> float:
    """Return cov(predictions, references) / (σ(predictions) σ(references)); 0 where one of them does not vary.

    >>> round(pearson([1.0, 2.0, 4.0], [1.0, 3.0, 4.0]), 4)
    0.9286
    """
    sides = np.asarray(predictions, float), np.asarray(references, float)
    if not all(map(_varies, sides)):
        return 0.0
    with np.errstate(invalid="ignore"):
        correlation = float(np.clip(np.vecdot(*map(_unit_vector, sides)), -1.0, 1.0))
    # Of two rows it is 1 or -1 exactly, as scipy has it.
    return float(round(correlation)) if len(predictions) == 2 and not np.isnan(correlation) else correlation


def spearmanr(predictions: Sequence[float], references: Sequence[float]) -> float:
    """Return Pearson's correlation of the `ranks`; 0 where one side does not vary.

    >>> spearmanr([1.0, 10.0, 100.0], [2.0, 4.0, 3.0])
    0.5
    """
    sides = ranks(predictions), ranks(references)
    if not all(map(_varies, sides)):
        return 0.0
    return float(np.corrcoef(*sides)[1, 0])


def _check_sizes(predictions: Sequence[Any], references: Sequence[Any]) -> None:
    """Raise a ValueError where numpy would repeat one side, or pair each item of it with all of the other."""
    ours, theirs = (np.shape(side) for side in (predictions, references))
    if ours != theirs or len(ours) != 1:
        raise ValueError(
            f"`predictions` has the shape {ours} and `references` {theirs}; give two lists of the same length, with "
            "one prediction for each right answer"
        )


def _varies(values: np.ndarray) -> bool:
    return bool((values != values[:1]).any())


def _unit_vector(numbers: np.ndarray) -> np.ndarray:
    """Return the numbers minus their mean, divided by the length of that; scaled first: no square overflows."""
    centred = numbers - numbers.mean()
    largest = np.abs(centred).max()
    return centred / (largest * np.linalg.norm(centred / largest, axis=-1))


METRICS: dict[str, Callable[[Sequence[Any], Sequence[Any]], float]] = {
    "accuracy": accuracy,
    "f1": f1,
    "matthews_correlation": matthews_correlation,
    "pearson": pearson,
    "spearmanr": spearmanr,
}
