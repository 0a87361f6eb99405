# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
# ruff: noqa: RUF009  (setting() makes fields of a dataclass)
"""Transfer by pseudo-labels: a model that is trained labels texts, and another one learns from these, too.

Slide N:64 counts it as transfer of features: unlabelled data become labelled ones. The label is the teacher's most
probable class (Lee 2013, "Pseudo-Label"), however sure it is of that.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch

from hf_lecture_models.data.files import is_table
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.factories import load_checkpoint, load_tokenizer, tell
from hf_lecture_models.tasks.labels import classes_of
from hf_lecture_models.tasks.text_classification import (
    REGRESSION,
    TextClassification,
    TextClassificationRecipe,
    encode_examples,
    ids_by_name,
    predict,
    read_labels,
)


@dataclass(kw_only=True)
class PseudoLabelRecipe(TextClassificationRecipe):
    """The recipe of a classifier that may learn from another one's labels."""

    pseudo_labels: str = setting("", "folder or Hub name of a trained classifier that labels `unlabelled_files`")
    unlabelled_files: list[str] = setting(
        [], "files of texts, or pairs of texts, to train on as well, with the labels that pseudo_labels gives them"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.pseudo_labels) != bool(self.unlabelled_files):
            raise ValueError("recipe: pseudo_labels and unlabelled_files belong together; name both or none")
        if self.pseudo_labels and self.problem_type == REGRESSION:
            raise ValueError(f"recipe: pseudo_labels are classes, problem_type {REGRESSION} learns numbers")


class PseudoLabelClassification(TextClassification):
    """Text classification on labelled rows and on those that a teacher labels."""

    recipe_class: ClassVar[type[PseudoLabelRecipe]] = PseudoLabelRecipe

    def training_data(self, recipe: PseudoLabelRecipe) -> Rows:  # type: ignore[override]
        """The rows of the training data, and behind them the unlabelled ones with the teacher's labels.

        Raises:
            ValueError, OSError: as `read`; or the teacher is no trained classifier, has other classes than the training
                data, or cannot read a row.
        """
        rows = super().training_data(recipe)
        for name in recipe.unlabelled_files:
            # A file of texts alone calls its only column `text`, whatever tables call theirs.
            columns = recipe.columns if is_table(name) else {"text": "text"}
            changed = replace(recipe, predict_files=[name], predict_split="", columns=columns)
            rows = _joined(rows, self.read(changed, "predict"), recipe)
        return rows


def _joined(rows: Rows, unlabelled: Any, recipe: PseudoLabelRecipe) -> Rows:
    """The rows, and behind them the unlabelled ones with labels as the rows have them."""
    names = [name for name in rows.columns if name != "label"]
    if missing := [name for name in names if name not in unlabelled.columns]:
        raise ValueError(
            f"{unlabelled.sources[0][0]} has no column {missing[0]}, but {rows.sources[0][0]} has; "
            f"--columns.{missing[0]} NAME names it"
        )
    labels = teacher_labels(rows, unlabelled, recipe)
    columns = {name: rows.columns[name] + unlabelled.columns[name] for name in names}
    return Rows(columns | {"label": rows.columns["label"] + labels}, rows.sources + unlabelled.sources)


def teacher_labels(rows: Rows, unlabelled: Rows, recipe: PseudoLabelRecipe) -> list[Any]:
    """The most probable class of each unlabelled row, spelled as a label of `rows`.

    Raises:
        ValueError: the teacher is no trained classifier, has other classes than `rows`, or cannot read a row.
        OSError: there is none.
    """
    teacher, new = load_checkpoint(TextClassification.auto_class, recipe.pseudo_labels, recipe.seed)
    if new:
        raise ValueError(f"{recipe.pseudo_labels} is no trained classifier: it does not hold {', '.join(new)}")
    tokenizer = load_tokenizer(recipe.pseudo_labels)
    labels = _labels_of_classes(teacher.config, rows, recipe)
    teacher.to("cuda" if torch.cuda.is_available() else "cpu")
    found = predict(teacher, tokenizer, encode_examples(teacher, tokenizer, unlabelled, recipe)).argmax(1).tolist()
    counts = Counter(classes_of(teacher.config)[index] for index in found)
    said = ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
    tell(f"{recipe.pseudo_labels} labels the {len(found):,} texts of {unlabelled.sources[0][0]}: {said}")
    return [labels[index] for index in found]


def _labels_of_classes(config: Any, rows: Rows, recipe: PseudoLabelRecipe) -> list[Any]:
    """What the training data call each class of the teacher."""
    read = dict(zip(read_labels(rows), rows.columns["label"], strict=True))
    # A named task has classes that few rows may lack.
    names = recipe.label_names | {label: recipe.label_names.get(label, label) for label in read}
    ids = ids_by_name(config, recipe.label_names)
    labels = {ids.get(name, ids.get(name.casefold())): read.get(label, label) for label, name in names.items()}
    if labels.keys() != set(range(config.num_labels)):
        theirs, ours = ", ".join(classes_of(config)), ", ".join(dict.fromkeys(names.values()))
        raise ValueError(
            f"{recipe.pseudo_labels} tells apart {theirs}, the data {ours}; "
            "--label_names.LABEL NAME gives a label of the data the teacher's name"
        )
    return [labels[index] for index in range(config.num_labels)]
