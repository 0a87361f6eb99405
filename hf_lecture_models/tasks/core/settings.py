# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The settings of a task: how its data become a model's inputs, and outputs become predictions and measures.

A recipe of the task has the same fields, so that a run measures by its recipe. A saved model predicts by those in its
`task.json`, without a recipe.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.recipe import Recipe
from hf_lecture_models.io.task_file import TASK_FILE, read_task_file


@dataclass(kw_only=True)
class Settings(Recipe):
    """The settings of a task, from which the recipe of the task inherits.

    Attributes:
        saved: the names of the settings that `task.json` holds.
    """

    saved: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def of(cls, facts: Mapping[str, Any], task: str) -> Self:
        """Return the settings of a saved model: those of its `task.json` or else of the recipe that trained it.

        >>> from hf_lecture_models.tasks.choice.task import ChoiceSettings
        >>> ChoiceSettings.of({"task": {"name": "choice", "settings": {"max_length": 9}}}, "choice").max_length
        9

        Args:
            facts: the content of `task.json` as "task", if there is one, and the fields of the recipe as "recipe".
            task: the name of the task; the `task.json` of another one is not read.

        Raises:
            ValueError: one has a value that it cannot have.
        """
        trained, saved = facts.get("recipe") or {}, facts.get("task") or {}
        known = {name: value for name, value in trained.items() if name in cls.__dataclass_fields__}
        return cls(**known | (cls.fields_of(saved.get("settings") or {}) if saved.get("name") == task else {}))

    @classmethod
    def fields_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a `task.json` as fields, without unknown ones and those that are None."""
        return {name: value for name, value in saved.items() if name in cls.__dataclass_fields__ and value is not None}

    def to_save(self, data: Any = None) -> dict[str, Any]:
        """Return the settings for `task.json`; None: not known yet."""
        return {name: getattr(self, name) for name in self.saved}

    @classmethod
    def measured(cls, measures: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings for `task.json` that follow from a measurement, such as the best threshold."""
        return {}


@dataclass(frozen=True)
class TaskFile:
    """The file `task.json` beside a model's weights, where `hub.facts` reads what the model was trained for."""

    description: dict[str, Any]

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write the file into a folder."""
        write_file(Path(folder) / TASK_FILE, json.dumps(self.description, indent=1) + "\n")


def store_settings(
    folder: str | os.PathLike[str], new: dict[str, Any], description: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Write settings that were measured into a folder's `task.json`, unless it has all of them.

    Args:
        new: the results of `Settings.measured`.
        description: the results of `Task.describe`, for a folder without such a file.

    Returns:
        The settings that were written; {} if there was nothing to write.

    Raises:
        ValueError: the file is damaged.
        OSError: the file cannot be written.
    """
    content = read_task_file(folder) or dict(description or {})
    settings = content.get("settings") or {}
    if not content or all(settings.get(key) is not None for key in new):
        return {}
    beneath = (description or {}).get("settings") or {}
    TaskFile(content | {"settings": {**beneath, **settings, **new}}).save_pretrained(folder)
    return new
