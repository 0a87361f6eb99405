# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Precision, recall and F1 of each class, its row of the confusion matrix, and the mean of F1 (macro-F1)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hf_lecture_models.tasks.metrics.sums import divide


def measures_by_class(predictions: Sequence[Any], references: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Return `macro_f1`, the mean F1 of the classes that occur, and `classes`, the figures of each class by its name.

    A figure that would divide by 0 is 0. `predicted` counts the predictions for the rows of a class, which is its row
    of the confusion matrix.

    >>> found = measures_by_class([0, 1, 1], [0, 1, 0], ["bad", "good"])
    >>> round(found["macro_f1"], 4), found["classes"]["good"]["recall"], found["classes"]["bad"]["predicted"]
    (0.6667, 1.0, {'bad': 1, 'good': 1})

    Args:
        predictions, references: ids of classes, from 0 to `len(names)` - 1.
        names: the names of the classes, in the order of their ids.

    Raises:
        ValueError: there is not one prediction for each right answer, or an id is not that of a class.
    """
    width = len(names)
    ours, theirs = _ids("predictions", predictions, width), _ids("references", references, width)
    if len(ours) != len(theirs):
        raise ValueError(f"there are {len(ours)} `predictions` for {len(theirs)} `references`; give one for each")
    cells = np.bincount(theirs * width + ours, minlength=width**2).reshape(width, width)  # (right, predicted)
    found, predicted, there = cells.diagonal(), cells.sum(0), cells.sum(1)
    figures = divide(found, predicted), divide(found, there), divide(2 * found, predicted + there)
    if len(set(names)) < len(names):
        names = [f"{name} ({index})" for index, name in enumerate(names)]
    classes: dict[str, dict[str, Any]] = {}
    for index, (name, *own) in enumerate(zip(names, *(column.tolist() for column in figures), strict=True)):
        classes[name] = dict(zip(("precision", "recall", "f1"), own, strict=True))
        row = dict(zip(names, cells[index].tolist(), strict=True))
        classes[name] |= {"examples": int(there[index]), "predicted": row}
    f1 = figures[2][(predicted + there) > 0].tolist()
    return {"macro_f1": float(sum(f1) / max(1, len(f1))), "classes": classes}


def _ids(name: str, values: Sequence[Any], classes: int) -> np.ndarray:
    """Return ids as int; others than those of the classes would be counted in the cells of other classes."""
    ids = np.asarray(values, float)
    wrong = ids[(ids < 0) | (ids >= classes) | (ids % 1 != 0)]
    if len(wrong):
        raise ValueError(
            f"`{name}` has the value {wrong[0]:g}, but the {classes} `names` have ids from 0 to {classes - 1}; leave "
            "rows without a class out"
        )
    return ids.astype(int)
