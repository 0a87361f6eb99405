# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The lines printed after a run: the errors on the validation data, and the commands to type next."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from hf_lecture_models.io.system import shell_quoted
from hf_lecture_models.io.task_file import read_task_file
from hf_lecture_models.tasks.core.errors import Errors, report_errors, write_errors
from hf_lecture_models.tasks.core.task import Task

ERRORS_FILE = "validation_errors.csv"
"""The file in `output_dir` with the errors of the best weights on the validation data."""


def lines_afterwards(task: Task[Any], folder: str | os.PathLike[str], errors: Errors | None) -> list[str]:
    """Return the lines printed after a run's last one: errors on the validation data, and commands to type next."""
    lines = [] if errors is None else report_errors(errors, "validation data")
    if errors is not None and errors.rows:
        lines.append(f"all of them: {_quoted(Path(folder) / ERRORS_FILE)}")
    return [*lines, learning_line(folder), *filter(None, [next_line(task, folder)])]


def next_line(task: Task[Any], folder: str | os.PathLike[str]) -> str:
    """Return a line with the command that uses a trained model, or "" if the task has none.

    >>> from hf_lecture_models.tasks.registry import TASKS
    >>> next_line(TASKS["text_classification"], "model")
    'next: hf-lecture predict model < texts.txt'
    """
    return f"next: {task.next_command.format(_quoted(folder))}" if task.next_command else ""


def learning_line(folder: str | os.PathLike[str]) -> str:
    """Return a line with the command that shows the learning curve of a run.

    >>> learning_line("out")
    'learning curve: hf-lecture see learning out'
    """
    return f"learning curve: hf-lecture see learning {_quoted(folder)}"


def validation_errors(
    task: Task[Any], model: Any, processor: Any, data: Any, recipe: Any, folder: Path
) -> Errors | None:
    """Return the errors of a run's best weights on its validation data, and write them into its folder.

    None: the task does not tell right from wrong, and nothing is written.

    Args:
        model: the trained model; the best weights are read from the folder.

    Raises:
        OSError: the folder cannot be written.
    """
    if type(task).errors is Task.errors:
        return None
    best = type(model).from_pretrained(folder).to(model.device)
    saved = recipe.fields_of(read_task_file(folder).get("settings") or {})
    if hasattr(recipe, "validation_beams"):
        saved["num_beams"] = recipe.validation_beams
    found = task.errors(best, processor, data, replace(recipe, **saved))
    if found is not None:
        write_errors(found, folder / ERRORS_FILE)
    return found


def _quoted(path: str | os.PathLike[str]) -> str:
    """Return a path as a shell reads it, relative to this folder if it lies below it."""
    path = Path(path)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return shell_quoted(f"./{shown}" if str(shown).startswith("-") else str(shown))
