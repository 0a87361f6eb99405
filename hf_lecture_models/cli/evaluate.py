# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture evaluate`: the measures of a model on a task."""

import difflib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from hf_lecture_models.analysis.confusion_matrix import save_confusion_matrix
from hf_lecture_models.cli.io import print_json
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.io.task_file import TASK_FILE, saved_settings
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.baselines import Comparison, evaluate_beside
from hf_lecture_models.tasks.core.errors import SUFFIXES, write_errors
from hf_lecture_models.tasks.core.parts import read_held_out
from hf_lecture_models.tasks.core.settings import store_settings
from hf_lecture_models.tasks.core.task import Task, recipe_of
from hf_lecture_models.tasks.registry import TASK_OF_BENCHMARK, TASKS


def run(
    name: str,
    task: str,
    files: list[str],
    split: str | None,
    max_length: int | None,
    fields: Mapping[str, str],
    json: bool,
    store: bool = False,
    output: Path | None = None,
    held_out: bool = False,
) -> None:
    """Print the measures of a model, the official one of the task first; draw its confusions, or write its errors.

    Raises:
        ValueError: the task is unknown, the model is for another task, the data cannot be used, or the task has nothing
            for `output`.
        OSError: the model or the data cannot be read.
    """
    _check(name, files, split, store, held_out)
    found = _task(task, output)
    model, processor = _loaded(name, found, task)
    given = _given(files, split, max_length, held_out) | dict(fields)
    recipe = _recipe(found, task, name, model, processor, given, is_trained_on=held_out)
    data = read_held_out(found, recipe, name) if held_out else found.read(recipe, "test")
    if data is None:
        raise ValueError(f"where its data are on the Hub is not known of {task}: name their files")
    results, beside = evaluate_beside(found, model, processor, data, recipe, name, "")
    measured = {"task": task, **results}
    _print(measured, beside, json)
    for line in [] if beside is None else beside.warnings(found.measures(recipe)):
        print(line, file=sys.stderr)
    if _is_table(output):
        _write_errors(found, model, processor, data, recipe, output)
    elif output is not None:
        shown = ", ".join(files) or split or ("rows held out" if held_out else "validation")
        _draw(measured, output, shown, f"{name}, {type(model).__name__}")
    if store:
        _store(name, recipe.measured(measured), found.describe(model, recipe, data))


def _loaded(name: str, found: Task[Any], task: str) -> tuple[Any, Any]:
    """Return the model and its processor."""
    model, processor = load_model(name, found.auto_class if task in TASK_OF_BENCHMARK else None)
    if not found.is_for(model):
        raise ValueError(f"{name} holds {type(model).__name__}, which is not a model of {task}")
    return model, processor


def _given(files: list[str], split: str | None, max_length: int | None, held_out: bool) -> dict[str, Any]:
    """Return the fields of a recipe that the arguments give."""
    given: dict[str, Any] = {"test_files": files} if files else {"test_split": split or "validation"}
    if held_out:
        given = {"train_files": files, "dataset_name": ""} if files else {}
    return given if max_length is None else given | {"max_length": max_length}


def _draw(measured: Mapping[str, Any], output: Path, data: str, caption: str) -> None:
    """Draw the confusion matrix of measures that have classes."""
    if "classes" not in measured:
        raise ValueError(
            "--output draws a confusion matrix of classes, and these labels are numbers: --output errors.csv writes "
            "their largest errors"
        )
    if any("predicted" not in own for own in measured["classes"].values()):
        raise ValueError(
            "--output draws a confusion matrix of one class a text, and these texts may have several: --output "
            "errors.csv writes the wrong ones"
        )
    save_confusion_matrix(measured["classes"], output, f"{measured['task']}: {data}", caption)


def _write_errors(task: Task[Any], model: Any, processor: Any, data: Any, recipe: Any, output: Path) -> None:
    """Write the wrong predictions as a table, and print on stderr how many there are."""
    errors = task.errors(model, processor, data, recipe)
    assert errors is not None, "_task has refused such tasks"
    write_errors(errors, output)
    kind = f"rows, the {errors.by} first" if errors.by else f"wrong of {errors.count:,}, the most confident first"
    print(f"{output}: {len(errors.rows):,} {kind}", file=sys.stderr)


def _is_table(output: Path | None) -> TypeGuard[Path]:
    return output is not None and output.suffix.lower() in SUFFIXES


def _print(measured: dict[str, Any], beside: Comparison | None, json: bool) -> None:
    """Print each measure on a line beside the baseline's, then a table of the measures of each class."""
    if json:
        print_json(measured if beside is None else measured | {"baseline": beside.as_facts()})
        return
    if beside is not None:
        print(f"{'':>26}  {'model':<12}{beside.name}, difference [95 % interval]")
    for key, value in measured.items():
        if key != "classes":
            shown = f"{value:.6g}" if isinstance(value, float) else f"{value}"
            other = "" if beside is None else beside.shown(key)
            print(f"{key:>26}  {shown:<12}{other}" if other else f"{key:>26}  {shown}")
    rows = measured.get("classes", {}).items()
    if rows:
        last = "  threshold" if any("threshold" in own for _, own in rows) else ""
        print(f"{'class':>26}  precision  recall      f1  examples{last}")
    for name, own in rows:
        last = f"  {own['threshold']:9.4f}" if "threshold" in own else ""
        print(
            f"{name:>26}  {own['precision']:9.4f}  {own['recall']:6.4f}  {own['f1']:6.4f}  {own['examples']:8,}{last}"
        )


def _check(name: str, files: list[str], split: str | None, store: bool, held_out: bool) -> None:
    if held_out and split is not None:
        raise ValueError("`held_out` measures rows that were held out of the training data: leave `split` out")
    if held_out and not Path(name).is_dir():
        raise ValueError(f"`held_out` needs the folder of a run, and {name} is not a folder here")
    if store and not Path(name).is_dir():
        raise ValueError(f"--store writes into the model's folder, and {name} is not a folder here")
    if files and split is not None:
        raise ValueError("--split is of the data on the Hub: leave it or the files out")


def _store(folder: str, settings: dict[str, Any], description: Mapping[str, Any]) -> None:
    """Write the settings that were measured into the model's folder, if it has none of them yet."""
    stored = store_settings(folder, settings, description)
    path, values = Path(folder, TASK_FILE), stored.items()
    shown = ", ".join(f"{key} {value:.6g}" if isinstance(value, float) else f"{key} {value}" for key, value in values)
    said = f"stored in {path}: {shown}; predictions and later measures use it" if stored else f"{path} stays as it is"
    print(said, file=sys.stderr)


def _task(name: str, output: Path | None) -> Task[Any]:
    known = TASK_OF_BENCHMARK | TASKS
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else "."
        raise ValueError(f"there is no task {name}{hint} There are {', '.join(known)}")
    found = known[name]
    if output is None:
        return found
    if _is_table(output):
        if type(found).errors is Task.errors:
            raise ValueError(f"--output writes wrong predictions, and {name} has no right and wrong ones: leave it out")
    elif found.name not in ("text_classification", "image_classification"):
        raise ValueError(f"--output draws a confusion matrix, and {name} measures no classes: leave it out")
    return found


def _recipe(
    task: Task[Any],
    name: str,
    folder: str,
    model: Any,
    processor: Any,
    fields: dict[str, Any],
    is_trained_on: bool = False,
) -> Any:
    """Return the recipe that says how data are read: the benchmark's, or the one that trained the model.

    Args:
        fields: fields that replace the recipe's own, by their dotted names.
        is_trained_on: whether the data are those of the training, also where a data set holds them.
    """
    known = task.recipe_class.__dataclass_fields__.keys()
    if unknown := [field for field in fields if field.partition(".")[0] not in known]:
        raise ValueError(f"{name} has no {unknown[0]}: leave that option out")
    if name in TASK_OF_BENCHMARK:
        saved = task.settings_class.fields_of(saved_settings(model.config, task.name))
        given = {"task": name, "output_dir": "unused", **saved, **fields}
        return load_recipe(None, given, recipe_class=task.recipe_class)
    facts = facts_of(folder, model, processor) if Path(folder).is_dir() else {}
    own = vars(recipe_of(task, facts)) | ({} if is_trained_on else {"dataset_name": ""})
    return load_recipe(None, own | fields, recipe_class=task.recipe_class)
