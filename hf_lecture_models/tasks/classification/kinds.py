# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The kind of the labels of training data: one class for each row, several, or a number."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.core.factories import log_once

SINGLE_LABEL, MULTI_LABEL, REGRESSION = "single_label_classification", "multi_label_classification", "regression"
"""transformers' names of the kinds, its `problem_type`."""
_SEPARATORS = ";|,"


def kind_of_labels(data: Rows) -> str:
    """Return the `problem_type` for the labels of training data.

    Lists are several classes of a row. Numbers are learned as numbers if one is not an integer, and a line says so.
    All other labels are classes.

    >>> kind_of_labels(Rows({"label": [["a", "b"], []]}, [("train.jsonl", 2)]))
    'multi_label_classification'
    >>> kind_of_labels(Rows({"label": ["1", "0", "1"]}, [("train.csv", 3)]))
    'single_label_classification'

    Raises:
        ValueError: most labels are numbers, not all of them integers, but a label is not a number.
    """
    labels = data.columns["label"]
    if any(isinstance(label, list) for label in labels):
        return MULTI_LABEL
    given = {index: label for index, label in enumerate(labels) if label is not None and str(label).strip()}
    numbers = {index: float(label) for index, label in given.items() if is_number(label)}
    first = next((index for index, number in numbers.items() if not number.is_integer()), None)
    if first is None or len(numbers) * 2 <= len(given):
        _note_joined(map(str, given.values()), data.sources[0][0])
        return SINGLE_LABEL
    if other := [index for index in given if index not in numbers]:
        raise ValueError(
            f"{data.where(other[0])}: label is {labels[other[0]]!r}, but most labels are numbers such as "
            f"{labels[first]}; leave the row out, or `problem_type` {SINGLE_LABEL} takes each label as a class"
        )
    log_once(
        f"the labels of {data.sources[0][0]} are numbers such as {labels[first]}, and numbers are learned "
        f"(--problem_type {REGRESSION}); --problem_type {SINGLE_LABEL} takes each as a class"
    )
    return REGRESSION


def is_number(label: Any) -> bool:
    """Return whether a label is a finite number, or the text of one."""
    try:
        return math.isfinite(float(label))
    except (TypeError, ValueError):
        return False


def _note_joined(labels: Iterable[str], source: str) -> None:
    """Log that labels such as "a;b" look like several classes, if one of their parts is in several labels."""
    names = set(labels)
    for sign in _SEPARATORS:
        joined = sorted(name for name in names if sign in name.strip(sign))
        parts = Counter(part for name in names for part in {one.strip() for one in name.split(sign)} if part)
        if found := [name for name in joined if any(parts[one.strip()] > 1 for one in name.split(sign))]:
            log_once(
                f"warning: labels of {source} such as {found[0]!r} look like several classes, and each is taken for a "
                'class of its own; several are lists in .jsonl, {"label": ["a", "b"]}, or columns of 0 and 1 that '
                "--label_columns names"
            )
            return
