# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The help of a task's script, and the options of transformers' example scripts that it takes for a recipe's fields."""

import argparse
import os
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hf_lecture_models.io.recipe import coerced, describe_fields, load_recipe
from hf_lecture_models.tasks.core.example_options import ALIASES, BATCH_SIZE, EXAMPLE_SWITCHES
from hf_lecture_models.tasks.core.task import Task


def print_help(task: Task[Any], description: str) -> None:
    """Print what a task's script does, its fields and options, and leave the program.

    Raises:
        SystemExit: always, with status 0.
    """
    parser = argparse.ArgumentParser(
        description=description,
        usage="%(prog)s [RECIPE.yaml] [--name value ...] [--resume]",
        epilog=f"{describe_fields(task.recipe_class)}\n{_describe_options(task)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint in output_dir")
    parser.parse_args(["--help"])


def load_with_example_options(
    task: Task[Any], path: str | None, values: dict[str, Any], base: Mapping[str, Any]
) -> Any:
    """Load a recipe as `load_recipe` does, with values that are named as in transformers' example scripts.

    Args:
        base: values of fields that neither the file nor the command names.

    Raises:
        ValueError: an option stands for a field that the recipe lacks, or one that is given too.
    """
    recipe_class, values = task.recipe_class, dict(values)
    asked = {name for name in EXAMPLE_SWITCHES if values.pop(name, False)}
    if asked and "do_train" not in asked:
        raise ValueError(
            f"--{min(asked)} without --do_train would not train, which this script always does: add --do_train; "
            "`hf-lecture evaluate` and `hf-lecture predict` are for a model that is trained"
        )
    per_device = values.pop(BATCH_SIZE, None)
    values = _with_own_names(task, values)
    recipe = load_recipe(path, values, recipe_class=recipe_class, base=base)
    if "do_predict" in asked and not recipe.predict_files and not recipe.predict_split:
        if not recipe.dataset_name:
            raise ValueError(
                "--do_predict: the recipe names no data set on the Hub; --predict_files names your own rows"
            )
        recipe = load_recipe(path, values | {"predict_split": "test"}, recipe_class=recipe_class, base=base)
    return recipe if per_device is None else _with_batch_size(recipe, per_device, values)


def _with_own_names(task: Task[Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the values by the names of the recipe's fields."""
    renamed: dict[str, Any] = {}
    for name, value in values.items():
        field = ALIASES.get(name, name) if name not in task.recipe_class.__dataclass_fields__ else name
        if field != name and field not in task.recipe_class.__dataclass_fields__:
            raise ValueError(f"--{name} stands for {field}, which the recipes of {task.script} do not have")
        if field in renamed:
            raise ValueError(f"--{name} and --{field} are the same; keep one of them")
        renamed[field] = value
    return renamed


def _with_batch_size(recipe: Any, per_device: Any, values: dict[str, Any]) -> Any:
    if "batch_size" in values:
        raise ValueError(f"--batch_size is that of the whole step and follows from --{BATCH_SIZE}; keep one of them")
    pieces = recipe.accumulation_steps * int(os.environ.get("WORLD_SIZE", "1"))
    return replace(recipe, batch_size=coerced(per_device, int, BATCH_SIZE) * pieces)


def _describe_options(task: Task[Any]) -> str:
    """Describe the options of transformers' example scripts, for `--help`."""
    fields = task.recipe_class.__dataclass_fields__
    named = [f"--{alias} ({field})" for alias, field in ALIASES.items() if field in fields]
    texts = (
        f"options of transformers' examples, with the field that each stands for: {', '.join(named)}.",
        f"--{BATCH_SIZE} N is a batch_size of N times accumulation_steps times the number of processes.",
        "--do_train and --do_eval change nothing: the model is always trained, and measured on what validation data "
        "there are; --do_predict predicts the data set's split test where no predict_files or predict_split are named.",
    )
    return "\n".join(textwrap.fill(text, 118, initial_indent="  ", subsequent_indent="    ") for text in texts)
