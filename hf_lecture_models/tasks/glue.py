# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Classification tasks by name: what their files call the columns and the classes.

SST-2 is a task of GLUE (Wang et al. 2018); the three-way task is the Stanford Sentiment Treebank (Socher et al. 2013)
with its five degrees joined into negative, neutral and positive.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from hf_lecture_models.tasks.pseudo_labels import PseudoLabelClassification, PseudoLabelRecipe
from hf_lecture_models.tasks.text_classification import REGRESSION, read_labels
from hf_lecture_models.trainer.data import Rows
from hf_lecture_models.trainer.recipe import setting


@dataclass(frozen=True)
class NamedTask:
    """The fields of a recipe that follow from a task's name.

    Attributes:
        columns: what its files call the columns.
        label_names: the names of its classes, by what its files call them.
    """

    columns: dict[str, str]
    label_names: dict[str, str] = field(default_factory=dict)


TASKS = {
    "sst2": NamedTask({"text": "sentence", "label": "label"}, {"0": "negative", "1": "positive"}),
    "sst3": NamedTask({"text": "sentence", "label": "label3"}, {"-1": "negative", "0": "neutral", "1": "positive"}),
}


@dataclass(kw_only=True)
class GlueRecipe(PseudoLabelRecipe):
    """The recipe of a task by its name; columns and names of classes may be said otherwise."""

    task: str | None = setting(
        None, "names the columns of its files and its classes; null: a task of your own", choices=tuple(TASKS)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task is not None:
            named = TASKS[self.task]
            self.columns = named.columns | self.columns
            self.label_names = named.label_names | self.label_names


class Glue(PseudoLabelClassification):
    """Text classification with the tasks' own names for columns and classes."""

    recipe_class: ClassVar[type[GlueRecipe]] = GlueRecipe

    def read(self, recipe: GlueRecipe, part: str) -> Rows | None:  # type: ignore[override]
        """The rows of the part, whose labels are the named task's.

        Raises:
            ValueError, OSError: as of any classifier; or a label is none of the task's.
        """
        rows = super().read(recipe, part)
        known = {*recipe.label_names, *recipe.label_names.values()}
        if rows is None or part == "predict" or recipe.task is None or not known or recipe.problem_type == REGRESSION:
            return rows
        for index, label in enumerate(read_labels(rows)):
            if label not in known:
                classes = ", ".join(f"{label} ({name})" for label, name in recipe.label_names.items())
                raise ValueError(
                    f"{rows.where(index)}: label {label!r} is none of {recipe.task}'s, {classes}; "
                    f"--label_names.{label} NAME says which one it is"
                )
        return rows
