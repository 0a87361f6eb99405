# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The classes of texts that may have several: those from a threshold on, and their measures.

A class is predicted where its probability σ(logit) is at least the class's threshold, the one with the best F1 on the
validation data. A recipe's `thresholds` replace them; without either they are 0.5.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from hf_lecture_models.tasks.classification.classes import best_classes
from hf_lecture_models.tasks.classification.kinds import is_number
from hf_lecture_models.tasks.core.labels import classes_of
from hf_lecture_models.tasks.metrics import sums
from hf_lecture_models.tasks.metrics.sums import Sums

USUAL_THRESHOLD = 0.5
NO_CLASS = "-"
"""The sign for a text without a class in files and lines of predictions."""
_FOUND = "best_threshold."


def checked_thresholds(thresholds: Mapping[str, Any]) -> dict[str, float]:
    """Return a recipe's thresholds as numbers.

    >>> checked_thresholds({"toxic": "0.25"})
    {'toxic': 0.25}

    Raises:
        ValueError: one is not a number from 0 to 1.
    """
    for name, value in thresholds.items():
        if isinstance(value, bool) or not is_number(value) or not 0 <= float(value) <= 1:
            raise ValueError(f"recipe: thresholds.{name} must be a number from 0 to 1, not {value!r}")
    return {name: float(value) for name, value in thresholds.items()}


def class_thresholds(config: Any, thresholds: Mapping[str, float]) -> np.ndarray:
    """Return the threshold of each class, (classes,), 0.5 where none is given.

    Raises:
        ValueError: a threshold is given for a class that the model does not have.
    """
    names = classes_of(config)
    if unknown := [name for name in thresholds if name not in names]:
        raise ValueError(f"`thresholds.{unknown[0]}` names none of the model's classes, {', '.join(names)}")
    return np.array([thresholds.get(name, USUAL_THRESHOLD) for name in names])


def best_thresholds(scores: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """Return the threshold of each class with the best F1, 0.5 for a class without a row.

    It is half-way between two scores, and of several with the same F1 the one nearest to 0.5.

    >>> scores, truths = np.array([[0.9], [0.4], [0.2]]), np.array([[1], [1], [0]])
    >>> best_thresholds(scores, truths).round(4).tolist()
    [0.3]

    Args:
        scores: (rows, classes), probabilities.
        truths: (rows, classes), 1 or True where the row has the class.
    """
    return np.array([_best_threshold(scores[:, index], truths[:, index]) for index in range(scores.shape[1])])


def _best_threshold(scores: np.ndarray, truths: np.ndarray) -> float:
    if not truths.any():
        return USUAL_THRESHOLD
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order].astype(np.float64), np.cumsum(truths[order])
    # With a threshold below the score of the k-th row, the k best rows are predicted: F1 = 2 hits / (k + positives).
    f1 = 2 * hits / (np.arange(1, len(ranked) + 1) + hits[-1])
    middles = (ranked + np.append(ranked[1:], 0.0)) / 2
    is_last = np.append(ranked[1:] < ranked[:-1], True)  # of the rows with its score
    best = middles[is_last & (f1 == f1[is_last].max())]
    return float(min(best, key=lambda middle: abs(middle - USUAL_THRESHOLD)))


def chosen_classes(scores: Tensor, thresholds: np.ndarray) -> np.ndarray:
    """Return which classes each row has, (rows, classes) of booleans.

    Args:
        scores: (rows, classes), probabilities.
        thresholds: (classes,).
    """
    return scores.double().numpy() >= thresholds


def best_sets(scores: Tensor, thresholds: np.ndarray, names: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Return the classes of each row, most probable first, as dicts with `label` and `score`.

    >>> import torch
    >>> best_sets(torch.tensor([[0.5, 0.75], [0.25, 0.0]]), np.array([0.5, 0.5]), ["a", "b"])
    [[{'label': 'b', 'score': 0.75}, {'label': 'a', 'score': 0.5}], []]

    Args:
        scores: (rows, classes), probabilities.
        thresholds: (classes,).
        names: the class names.
    """
    least = dict(zip(names, thresholds.tolist(), strict=True))
    return [
        [one for one in best_classes(own, names, len(names)) if one["score"] >= least[one["label"]]] for own in scores
    ]


def named_classes(row: np.ndarray, names: Sequence[str]) -> str:
    """Return the names of a row's classes with commas between them, "-" for none.

    >>> named_classes(np.array([True, False, True]), ["a", "b", "c"]), named_classes(np.array([False]), ["a"])
    ('a,c', '-')
    """
    return ",".join(name for name, own in zip(names, row, strict=True) if own) or NO_CLASS


class ClassSets(NamedTuple):
    """The classes that are predicted for rows.

    Attributes:
        chosen: (rows, classes), True where a class is predicted.
        thresholds: (classes,), the thresholds used; None: the classes were not chosen by probabilities.
        best: (classes,), the thresholds with the best F1 on these rows.
    """

    chosen: np.ndarray
    thresholds: np.ndarray | None = None
    best: np.ndarray | None = None


def sets_of_scores(scores: Tensor, truths: Any, thresholds: np.ndarray | None) -> ClassSets:
    """Return the classes of rows by their probabilities.

    Args:
        scores: (rows, classes), probabilities.
        truths: (rows, classes), 1 where a row has a class.
        thresholds: (classes,); None: those with the best F1 on these rows.
    """
    best = best_thresholds(scores.double().numpy(), np.asarray(truths).reshape(scores.shape))
    used = best if thresholds is None else thresholds
    return ClassSets(chosen_classes(scores, used), used, best)


def measures_of_sets(sets: ClassSets, truths: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return `micro_f1`, `macro_f1`, `exact_match`, `examples`, and `classes`, the figures of each class by its name.

    Of hits, predicted and true rows, precision = hits / predicted, recall = hits / true and F1 = 2 hits / (predicted +
    true). A figure that would divide by 0 is 0. micro-F1 counts all classes together, and macro-F1 is the mean of each
    class's F1. An exact match is a row with exactly the right classes. The thresholds with the best F1, if they were
    used, are among the measures as numbers too, which the history of a run keeps.

    >>> found = measures_of_sets(ClassSets(np.array([[True, False], [True, True]])), [[1, 0], [0, 1]], ["a", "b"])
    >>> round(found["micro_f1"], 4), round(found["macro_f1"], 4), found["exact_match"], found["classes"]["a"]["recall"]
    (0.8, 0.8333, 0.5, 1.0)

    Args:
        truths: (rows, classes), 1 where a row has a class.
    """
    right = np.asarray(truths, dtype=bool).reshape(sets.chosen.shape)
    hits, given, there = (sets.chosen & right).sum(0), sets.chosen.sum(0), right.sum(0)
    f1 = _ratio(2 * hits, given + there)
    columns = {"precision": _ratio(hits, given), "recall": _ratio(hits, there), "f1": f1, "examples": there}
    if sets.thresholds is not None and sets.best is not None:
        columns |= {"threshold": sets.thresholds, "best_threshold": sets.best}
    classes = {name: {key: own[index].item() for key, own in columns.items()} for index, name in enumerate(names)}
    found = (
        zip(names, sets.best.tolist(), strict=True) if sets.best is not None and sets.best is sets.thresholds else ()
    )
    return {
        "micro_f1": float(_ratio(2 * hits.sum(), given.sum() + there.sum())),
        "macro_f1": float(f1.mean()),
        "exact_match": float((sets.chosen == right).all(1).mean()),
        "examples": len(right),
        **{f"{_FOUND}{name}": threshold for name, threshold in found},
        "classes": classes,
    }


def _ratio(above: Any, below: Any) -> Any:
    return above / np.maximum(below, 1)  # 0 / 0 is 0


def found_thresholds(measures: Mapping[str, Any]) -> dict[str, float]:
    """Return the best threshold of each class among measures, or among those that the history of a run kept; or {}.

    >>> found_thresholds({"micro_f1": 0.5, "best_threshold.toxic": 0.25})
    {'toxic': 0.25}
    """
    kept = {key.removeprefix(_FOUND): value for key, value in measures.items() if key.startswith(_FOUND)}
    classes = measures.get("classes") or {}
    return kept or {name: own["best_threshold"] for name, own in classes.items() if "best_threshold" in own}


def sums_of_sets(sets: ClassSets, truths: Any) -> dict[str, Sums]:
    """Return micro-F1, macro-F1 and the share of exact matches as sums over rows; of very many classes no macro-F1.

    Args:
        truths: (rows, classes), 1 where a row has a class.
    """
    right = np.asarray(truths, dtype=bool).reshape(sets.chosen.shape)
    hits, marked = sets.chosen & right, sets.chosen.astype(float) + right
    found = {
        "micro_f1": sums.ratio(2 * hits.sum(1), marked.sum(1)),
        "exact_match": sums.ratio((sets.chosen == right).all(1), np.ones(len(right))),
    }
    if sets.chosen.shape[1] <= sums.MOST_CLASSES:

        def mean_f1(totals: np.ndarray) -> np.ndarray:
            above, below = np.split(totals, 2, axis=-1)
            return sums.divide(above, below).mean(-1)

        found["macro_f1"] = Sums(np.concatenate([2.0 * hits, marked], axis=1), mean_f1)
    return found


def only_set(sets: ClassSets, truths: Any, names: Sequence[str]) -> str:
    """Return the only set of classes that is predicted, though rows have others; else "".

    >>> only_set(ClassSets(np.array([[True, False]] * 2)), [[1, 0], [0, 1]], ["a", "b"])
    'the class a'
    """
    chosen, right = sets.chosen, np.asarray(truths, dtype=bool).reshape(sets.chosen.shape)
    if not len(right) or (chosen != chosen[:1]).any() or (right == right[:1]).all():
        return ""
    (first, *_), count = chosen, int(chosen[:1].sum())
    return f"the class{'' if count == 1 else 'es'} {named_classes(first, names)}" if count else "no class"
