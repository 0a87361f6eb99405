# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The labels of rows: read as classes or numbers, and converted to the ids of a model's classes."""

import math
from collections.abc import Mapping
from typing import Any, Protocol

from hf_lecture_models.data.rows import UNLABELLED, UNLEARNED, Rows
from hf_lecture_models.tasks.classification.kinds import MULTI_LABEL, REGRESSION, is_number
from hf_lecture_models.tasks.core.labels import (
    class_fields,
    classes_of,
    has_default_names,
    log_found_classes,
    names_of_labels,
)


class LabelRecipe(Protocol):
    """The fields of a recipe on labels."""

    @property
    def problem_type(self) -> str | None:
        """The kind of labels: classes or numbers."""

    @property
    def label_names(self) -> Mapping[str, str]:
        """The names of classes by the labels of the data."""


def read_labels(data: Rows) -> list[str]:
    """Return the labels of classes as texts.

    Raises:
        ValueError: a row has no label, or a number that is not a class.
    """
    labels, wrong = data.columns["label"], []
    for index, label in enumerate(labels):
        if label is None or not str(label).strip():
            raise ValueError(f"{data.where(index)} has no label; {UNLABELLED}")
        if isinstance(label, list):
            raise ValueError(
                f"{data.where(index)}: label is {label!r}, a list and not a class; `problem_type` {MULTI_LABEL} learns "
                "several classes of a text"
            )
        if isinstance(label, str) and label.startswith("[") and label.endswith("]"):
            raise ValueError(
                f"{data.where(index)}: label is {label!r}, the text of a list; a .jsonl file has lists, "
                '{"label": ["a", "b"]}, or `label_columns` names columns of 0 and 1'
            )
        if not isinstance(label, str | int):
            wrong.append(index)
    if not wrong and all(map(is_number, labels)):  # a table's labels are texts
        wrong = [index for index, label in enumerate(labels) if not float(label).is_integer()]
    if wrong:
        # A single 0.5 turns all numbers of its column into floats.
        index = next((i for i in wrong if not isinstance(labels[i], float) or labels[i] % 1), wrong[0])
        raise ValueError(
            f"{data.where(index)}: label is {labels[index]!r}, no class; problem_type {REGRESSION} in a recipe learns "
            "numbers"
        )
    return list(map(str, labels))


def class_names(data: Rows, label_names: Mapping[str, str]) -> list[str]:
    """Return the names of the data's classes, in the order of their numbers or of the alphabet.

    >>> class_names(Rows({"label": [1, -1, 0, 1]}, [("train.jsonl", 4)]), {"-1": "negative", "0": "neutral"})
    ['negative', 'neutral', '1']

    Raises:
        ValueError: a label is not a class, or there is only one class.
    """
    labels = read_labels(data)
    names = names_of_labels(labels, label_names)
    if len(names) < 2:
        raise ValueError(f"{data.sources[0][0]}: all labels are {names[0]!r}; there is nothing to learn")
    log_found_classes(labels, names, label_names, data.sources[0][0])
    return names


def label_ids(config: Any, data: Rows, recipe: LabelRecipe) -> list[float]:
    """Return the labels for the model's loss: the ids of its classes, or floats.

    Raises:
        ValueError: a label is not one of the classes, or is not a number.
    """
    if recipe.problem_type == REGRESSION:
        return [as_number(label, data.where(index)) for index, label in enumerate(data.columns["label"])]
    ids = ids_by_name(config, recipe.label_names)
    found: list[float] = []
    for index, label in enumerate(read_labels(data)):
        name = recipe.label_names.get(label, label)
        if (known := ids.get(name, ids.get(name.casefold()))) is None:
            fix = UNLABELLED if name == "-1" else f"`label_names.{name}` says which one it is; {UNLEARNED}"
            classes = ", ".join(classes_of(config))
            raise ValueError(f"{data.where(index)}: label {name!r} is none of the model's classes, {classes}; {fix}")
        found.append(known)
    return found


def ids_by_name(config: Any, label_names: Mapping[str, str]) -> dict[str, int]:
    """Return the ids of a model's classes by name, also in small letters if these are still different.

    If the model only numbers its classes, their names are the numbers and, if `label_names` has as many, its names in
    the order of the labels.
    """
    ids = class_fields(classes_of(config))["label2id"]
    small = dict(zip(map(str.casefold, ids), ids.values(), strict=True))
    unnamed: dict[str, int] = {}
    if has_default_names(config):
        named = names_of_labels(label_names, label_names)
        unnamed = {str(index): index for index in ids.values()}
        unnamed |= zip(named, ids.values(), strict=True) if len(named) == len(ids) else {}
    return unnamed | (small if len(small) == len(ids) else {}) | ids


def as_number(label: Any, where: str) -> float:
    """Convert a label to a number.

    Args:
        where: the name of its row for the message.

    Raises:
        ValueError: the label is not a finite number.
    """
    try:
        number = float(label)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{where}: label is {label!r}, no number")
    return number
