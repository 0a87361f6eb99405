# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Precision, recall and F1 of each class, its row of the confusion matrix, and the mean of F1 (macro-F1)."""

from collections import Counter
from collections.abc import Sequence
from typing import Any


def measures_by_class(predictions: Sequence[Any], references: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Return `macro_f1`, the mean F1 of the classes that occur, and `classes`, the figures of each class by its name.

    A figure that would divide by 0 is 0. `predicted` counts the predictions for the rows of a class, which is its row
    of the confusion matrix.

    >>> found = measures_by_class([0, 1, 1], [0, 1, 0], ["bad", "good"])
    >>> round(found["macro_f1"], 4), found["classes"]["good"]["recall"], found["classes"]["bad"]["predicted"]
    (0.6667, 1.0, {'bad': 1, 'good': 1})

    Args:
        predictions, references: ids of classes.
        names: the names of the classes, in the order of their ids.

    Raises:
        ImportError: scikit-learn is not installed.
    """
    try:
        from sklearn.metrics import precision_recall_fscore_support
    except ImportError as error:
        raise ImportError("measures need scikit-learn: pip install 'hf-lecture-models[train]'") from error
    right = [int(reference) for reference in references]
    figures = precision_recall_fscore_support(right, predictions, labels=range(len(names)), zero_division=0)[:3]
    counts, pairs, occurring = Counter(right), Counter(zip(right, predictions, strict=True)), {*right, *predictions}
    if len(set(names)) < len(names):
        names = [f"{name} ({index})" for index, name in enumerate(names)]
    classes: dict[str, dict[str, Any]] = {}
    for index, (name, *own) in enumerate(zip(names, *(column.tolist() for column in figures), strict=True)):
        predicted = {other: pairs[index, place] for place, other in enumerate(names)}
        classes[name] = dict(zip(("precision", "recall", "f1"), own, strict=True))
        classes[name] |= {"examples": counts[index], "predicted": predicted}
    f1 = [figures[2][index] for index in sorted(occurring)]
    return {"macro_f1": float(sum(f1) / max(1, len(f1))), "classes": classes}
