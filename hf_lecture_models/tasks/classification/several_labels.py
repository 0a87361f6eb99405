# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Several classes of a text, read from lists of names or from columns of 0 and 1."""

from collections.abc import Mapping, Sequence
from typing import Any

from hf_lecture_models.data.rows import UNLABELLED, Rows
from hf_lecture_models.tasks.classification.labels import ids_by_name
from hf_lecture_models.tasks.core.factories import log_once
from hf_lecture_models.tasks.core.labels import classes_of, log_found_classes, names_of_labels

_TRUTH_VALUES = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True}
_FIX = 'a list such as ["a", "b"] names several, [] none; `label_columns` names columns of 0 and 1'


def join_columns(data: Rows, names: Sequence[str]) -> Rows:
    """Return rows whose columns of 0 and 1 are joined to `label`, the list of the names of those with 1.

    >>> rows = Rows({"text": ["a", "b"], "toxic": ["1", "0"], "insult": ["1", "0"]}, [("train.csv", 2)])
    >>> join_columns(rows, ["toxic", "insult"]).columns["label"]
    [['toxic', 'insult'], []]

    Raises:
        ValueError: a value is another one, or none.
    """
    labels: list[list[str]] = [[] for _ in range(len(data))]
    for name in names:
        for index, value in enumerate(data.columns[name]):
            if (truth := _TRUTH_VALUES.get(str(value).strip().lower())) is None:
                fix = UNLABELLED if value in (None, "", -1, "-1") else "each of `label_columns` holds 0 and 1"
                raise ValueError(f"{data.where(index)}: {name} is {value!r}, neither 0 nor 1; {fix}")
            if truth:
                labels[index].append(name)
    columns = {name: values for name, values in data.columns.items() if name not in names}
    return data.with_columns(columns | {"label": labels})


def read_label_lists(data: Rows) -> list[list[str]]:
    """Return the names of each row's classes, as the data spell them, each once.

    Raises:
        ValueError: a row has no label, or one that is not a list of names; or the lists are 0 and 1 for each class.
    """
    labels = data.columns["label"]
    for index, own in enumerate(labels):
        if own is None:
            raise ValueError(f"{data.where(index)} has no label; [] means no class, {UNLABELLED}")
        if not isinstance(own, list):
            raise ValueError(f"{data.where(index)}: label is {own!r}, not a list of classes; {_FIX}")
        for name in own:
            if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
                raise ValueError(f"{data.where(index)}: label is {own!r}, and {name!r} is not a class; {_FIX}")
    lengths, names = set(map(len, labels)), {str(name) for own in labels for name in own}
    if names <= {"0", "1"} and len(lengths) == 1 and any(len(set(own)) < len(own) for own in labels):
        raise ValueError(f"{data.where(0)}: label is {labels[0]!r}, a 0 or 1 for each class; name those with 1: {_FIX}")
    return [list(dict.fromkeys(map(str, own))) for own in labels]


def several_class_names(data: Rows, label_names: Mapping[str, str], columns: Sequence[str] = ()) -> list[str]:
    """Return the names of the classes, in the order of `columns`, or else of their numbers or the alphabet.

    >>> several_class_names(Rows({"label": [["b"], [], ["a", "b"]]}, [("train.jsonl", 3)]), {"a": "angry"})
    ['angry', 'b']

    Raises:
        ValueError: as `read_label_lists`; or no row has a class, or all rows have all classes.
    """
    lists, source = read_label_lists(data), data.sources[0][0]
    found = [name for own in lists for name in own]
    names = list(dict.fromkeys(label_names.get(name, name) for name in columns)) or names_of_labels(found, label_names)
    if not found:
        raise ValueError(f"{source}: no row has a class; there is nothing to learn")
    if len(found) == len(lists) * len(names):
        raise ValueError(f"{source}: all rows have the classes {', '.join(names)}; there is nothing to learn")
    log_found_classes(found, names, label_names, source)
    most = max(map(len, lists))
    log_once(
        f"a text has 0 to {most} of them, {len(found) / len(lists):.2f} on average, none: {lists.count([]):,} texts"
    )
    return names


def label_matrix(config: Any, data: Rows, label_names: Mapping[str, str]) -> list[list[float]]:
    """Return for each row 1.0 at the ids of its classes, and 0.0 at those of the model's other classes.

    Raises:
        ValueError: as `read_label_lists`; or the model does not have a class.
    """
    ids, matrix = ids_by_name(config, label_names), []
    for index, own in enumerate(read_label_lists(data)):
        row = [0.0] * config.num_labels
        for label in own:
            name = label_names.get(label, label)
            if (known := ids.get(name, ids.get(name.casefold()))) is None:
                classes = ", ".join(classes_of(config))
                raise ValueError(
                    f"{data.where(index)}: label {name!r} is none of the model's classes, {classes}; "
                    f"`label_names.{name}` says which one it is"
                )
            row[known] = 1.0
        matrix.append(row)
    return matrix
