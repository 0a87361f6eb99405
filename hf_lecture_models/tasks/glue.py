# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Classification tasks by name: what their files call the columns and the classes.

SST-2 is a task of GLUE (Wang et al. 2018); the three-way task is the Stanford Sentiment Treebank (Socher et al. 2013)
with its five degrees joined into negative, neutral and positive.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from hf_lecture_models.tasks.text_classification import TextClassification, TextClassificationRecipe
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
class GlueRecipe(TextClassificationRecipe):
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


class Glue(TextClassification):
    """Text classification with the tasks' own names for columns and classes."""

    recipe_class: ClassVar[type[GlueRecipe]] = GlueRecipe
