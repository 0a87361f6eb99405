# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture evaluate`: the measures of a model on a task."""

import difflib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_lecture_models.cli.io import print_json
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.io.task_file import TASK_FILE, saved_settings
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.registry import BENCHMARKS, TASKS
from hf_lecture_models.tasks.task import Task
from hf_lecture_models.trainer.recipe import load_recipe


def run(
    name: str,
    task: str,
    files: list[str],
    split: str | None,
    max_length: int | None,
    fields: Mapping[str, str],
    json: bool,
) -> None:
    """Print the measures of a model, the official one of the task first.

    Args:
        task: a name of `BENCHMARKS` or of `TASKS`.
        files: their data; none: those that the Hub has of a benchmark.
        split: of the data on the Hub; None: those for validation.
        max_length: the tokens that are kept of an input; None: one that is too long for the model is an error.
        fields: how the data are to be read, where the task or the model's recipe says otherwise or nothing: fields of
            the recipe by their dotted names, such as "label_names.1".

    Raises:
        ValueError: there is no such task, the model is none of it, or the data cannot be used.
        OSError: the model or the data cannot be read.
    """
    if files and split is not None:
        raise ValueError("--split is of the data on the Hub: leave it or the files out")
    found = _task(task)
    model, processor = load_model(name, found.auto_class if task in BENCHMARKS else None)
    if not found.is_for(model):
        raise ValueError(f"{name} holds {type(model).__name__}, which is no model of {task}")
    data_fields: dict[str, Any] = {"test_files": files} if files else {"test_split": split or "validation"}
    if max_length is not None:
        data_fields["max_length"] = max_length
    recipe = _recipe(found, task, name, model, processor, data_fields | dict(fields))
    data = found.read(recipe, "test")
    if data is None:
        raise ValueError(f"where its data are on the Hub is not known of {task}: name their files")
    measured = {"task": task, **found.evaluate(model, processor, data, recipe)}
    if json:
        print_json(measured)
    for key, value in measured.items() if not json else ():
        print(f"{key:>26}  {value:.6g}" if isinstance(value, float) else f"{key:>26}  {value}")
    _store(found, name, measured, found.describe(model, recipe, data))


def _store(task: Task[Any], folder: str, measured: Mapping[str, Any], description: Mapping[str, Any]) -> None:
    """Keep in the model's folder what was measured of its settings, if it holds nothing of them yet."""
    if not Path(folder).is_dir():
        return
    try:
        stored = task.store_measured(folder, measured, description)
    except OSError as error:
        print(f"hf-lecture evaluate: the measured settings are not stored: {error}", file=sys.stderr)
        return
    for key, value in stored.items():
        path = Path(folder, TASK_FILE)
        print(f"{key} {value:.6g} is stored in {path}; predictions and later measures use it", file=sys.stderr)


def _task(name: str) -> Task[Any]:
    known = BENCHMARKS | TASKS
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"there is no task {name}{hint} There are {', '.join(known)}")
    return known[name]


def _recipe(task: Task[Any], name: str, folder: str, model: Any, processor: Any, fields: dict[str, Any]) -> Any:
    """The recipe that says how data are read: the benchmark's, or that by which the model was trained.

    Args:
        fields: in place of its own, by their dotted names.
    """
    known = task.recipe_class.__dataclass_fields__.keys()
    if unknown := [field for field in fields if field.partition(".")[0] not in known]:
        raise ValueError(f"{name} has no {unknown[0]}: leave that option out")
    if name in BENCHMARKS:
        saved = task.recipe_fields(saved_settings(model.config, task.name))
        given = {"task": name, "output_dir": "unused", **saved, **fields}
        return load_recipe(None, given, recipe_class=task.recipe_class)
    facts = facts_of(folder, model, processor) if Path(folder).is_dir() else {}
    own = vars(task.recipe_of(facts)) | {"dataset_name": ""}
    return load_recipe(None, own | fields, recipe_class=task.recipe_class)
