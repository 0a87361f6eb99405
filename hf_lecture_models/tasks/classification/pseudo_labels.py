# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Transfer by pseudo-labels: a trained model labels texts, and another model also learns from these.

Slide N:64 counts this as transfer of features: unlabelled data become labelled. The label is the teacher's most
probable class (Lee 2013, "Pseudo-Label"), whatever its probability.
"""

from collections import Counter
from dataclasses import replace
from typing import Any

import torch

from hf_lecture_models.data.files import is_table
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.classification.labels import ids_by_name, read_labels
from hf_lecture_models.tasks.core.factories import load_checkpoint, load_tokenizer, log_once
from hf_lecture_models.tasks.core.labels import classes_of


def with_pseudo_labels(task: Any, rows: Rows, recipe: Any) -> Rows:
    """Return the rows, followed by those of `unlabelled_files` with labels of the teacher `pseudo_labels`.

    Args:
        task: the task of text classification.
        recipe: the recipe of the task; it names the teacher and the files.

    Raises:
        ValueError, OSError: as `task.read`; or the teacher is not a trained classifier, has other classes than the
            rows, or cannot read a row.
    """
    for name in recipe.unlabelled_files:
        # The only column of a file of texts is `text`, whatever the name is in tables.
        columns = recipe.columns if is_table(name) else {"text": "text"}
        unlabelled = task.read(replace(recipe, predict_files=[name], predict_split="", columns=columns), "predict")
        names = [column for column in rows.columns if column != "label"]
        if missing := [column for column in names if column not in unlabelled.columns]:
            raise ValueError(
                f"{unlabelled.sources[0][0]} has no column {missing[0]}, but {rows.sources[0][0]} has; "
                f"`columns.{missing[0]}` names it"
            )
        labels = teacher_labels(task, rows, unlabelled, recipe)
        columns = {column: rows.columns[column] + unlabelled.columns[column] for column in names}
        documents = [*rows.documents, *[None] * len(unlabelled)] if rows.documents else ()
        sources = rows.sources + unlabelled.sources
        rows = Rows(columns | {"label": rows.columns["label"] + labels}, sources, documents=documents)
    return rows


def teacher_labels(task: Any, rows: Rows, unlabelled: Rows, recipe: Any) -> list[Any]:
    """Return the teacher's most probable class for each unlabelled row, spelled as the labels of `rows`.

    Raises:
        ValueError: the teacher is not a trained classifier, has other classes than `rows`, or cannot read a row.
        OSError: there is no such teacher.
    """
    teacher, new = load_checkpoint(task.auto_class, recipe.pseudo_labels, recipe.seed)
    if new:
        raise ValueError(f"{recipe.pseudo_labels} is no trained classifier: it does not hold {', '.join(new)}")
    tokenizer = load_tokenizer(recipe.pseudo_labels)
    labels = _labels_of_classes(teacher.config, rows, recipe)
    teacher.to("cuda" if torch.cuda.is_available() else "cpu")
    encoded = task.encode(teacher, tokenizer, unlabelled, recipe)
    found = task.predict(teacher, tokenizer, encoded).argmax(1).tolist()
    counts = Counter(classes_of(teacher.config)[index] for index in found)
    said = ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
    log_once(f"{recipe.pseudo_labels} labels the {len(found):,} texts of {unlabelled.sources[0][0]}: {said}")
    return [labels[index] for index in found]


def _labels_of_classes(config: Any, rows: Rows, recipe: Any) -> list[Any]:
    """Return the label of the training data for each class of the teacher."""
    read = dict(zip(read_labels(rows), rows.columns["label"], strict=True))
    # The classes of a benchmark may be missing in a small number of rows.
    names = recipe.label_names | {label: recipe.label_names.get(label, label) for label in read}
    ids = ids_by_name(config, recipe.label_names)
    labels = {ids.get(name, ids.get(name.casefold())): read.get(label, label) for label, name in names.items()}
    if labels.keys() != set(range(config.num_labels)):
        theirs, ours = ", ".join(classes_of(config)), ", ".join(dict.fromkeys(names.values()))
        raise ValueError(
            f"{recipe.pseudo_labels} tells apart {theirs}, the data {ours}; "
            "`label_names.LABEL` gives a label of the data the teacher's name"
        )
    return [labels[index] for index in range(config.num_labels)]
