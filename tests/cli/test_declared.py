# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The fields of recipes as `hf-lecture train` reads them from the source files, before torch is imported."""

from __future__ import annotations

import dataclasses
import runpy
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

from hf_lecture_models.cli.declared import check_fields, declared_names, declared_recipe, declared_task
from hf_lecture_models.cli.train import script_command
from hf_lecture_models.io.recipe import Recipe, load_recipe, parse_overrides
from hf_lecture_models.tasks.registry import TASKS

TRAINING = Path(__file__).parents[2] / "training"
SCRIPTS = sorted(TRAINING.glob("*.py"))
RECIPES = sorted((TRAINING / "recipes").glob("*.yaml"))


def _imported(script: Path) -> type[Recipe]:
    """The class of recipes that a script itself uses."""
    task = declared_task(script)
    names = runpy.run_path(str(script))
    if task is not None:
        return names[task.node.name].recipe_class
    return next(value for name, value in names.items() if name in ("NGramRecipe", "PromptingRecipe"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_what_is_declared_is_what_is_imported(script: Path) -> None:
    """Names in their order; types, defaults, choices and limits, unless they are left open."""
    declared = declared_recipe(script)
    assert declared is not None
    imported = _imported(script)
    kinds = typing.get_type_hints(imported)
    own, other = dataclasses.fields(declared), dataclasses.fields(imported)
    assert [field.name for field in own] == [field.name for field in other]
    open_kinds = 0
    for ours, theirs in zip(own, other, strict=True):
        kind = kinds[theirs.name]
        open_kinds += ours.type is object
        assert ours.type in (kind, kind | None, object), ours.name
        assert ours.metadata["choices"] in (theirs.metadata["choices"], ()), ours.name
        assert ours.metadata["least"] in (theirs.metadata["least"], None), ours.name
    assert open_kinds == 0
    declared()  # its defaults are possible values


def test_the_names_of_tasks_are_those_of_the_registry() -> None:
    assert declared_names(SCRIPTS) == {name: Path(task.script).stem for name, task in TASKS.items()}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_the_recipes_of_the_package_are_not_refused(recipe: Path) -> None:
    script, *rest = script_command([str(recipe), "--output_dir", "x", "--resume"], TRAINING)
    check_fields(Path(script), rest)


@pytest.mark.parametrize(
    "options",
    [
        "--model_name_or_path x --task_name rte --do_train --do_eval --max_seq_length 9 --num_train_epochs 2",
        "--per_device_train_batch_size 8 --gradient_accumulation_steps 2",
        "--train_files [a.csv,b.csv] --columns.text review --label_names.U.S. us --class_weights.bad 2.5",
        "--seeds 0,1,2 --epochs 2 --learning_rate 1e-4 --freeze_backbone --clip_norm null",
        "--model.model_type lecture_recurrent --model.hidden_size 9 --tokenizer.type char --model.no_such_field 1",
        "--leraning_rate 1 --help",
    ],
)
def test_a_right_command_is_not_refused(options: str) -> None:
    check_fields(TRAINING / "finetune_glue.py", options.split())


@pytest.mark.parametrize(
    "options",
    [
        "--leraning_rate 1",
        "--zzzzzzzzzz 1",
        "--epochs abc",
        "--batch_size 0",
        "--optimizer adam",
        "--model 7",
        "--seeds x,1",
        "--epochs",
        "learning_rate 1",
        "--saved 1",
    ],
)
def test_what_is_refused_is_refused_in_the_words_of_the_script(options: str) -> None:
    recipe_class: Any = TASKS["text_classification"].recipe_class
    with pytest.raises((ValueError, FileNotFoundError)) as early:
        check_fields(TRAINING / "finetune_text_classification.py", options.split())
    rest = options.split()
    path = None if rest[0].startswith("--") else rest.pop(0)
    with pytest.raises((ValueError, FileNotFoundError)) as late:
        load_recipe(path, parse_overrides(rest, recipe_class), recipe_class=recipe_class)
    assert str(early.value) == str(late.value)


def test_a_script_that_is_not_understood_is_not_checked(tmp_path: Path) -> None:
    script = tmp_path / "own.py"
    for text in ("print(1)\n", "run_task(somewhere.Task())\n", "def broken(\n", "load_recipe(recipe_class=made())\n"):
        script.write_text(text, encoding="utf-8")
        check_fields(script, ["--no_such_field", "1"])
        script = tmp_path / f"{script.stem}_.py"


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        (
            "text_classification --leraning_rate 1",
            1,
            "error: recipe: no field leraning_rate; did you mean learning_rate?",
        ),
        ("recurrent_tiny --epochs abc", 1, "error: recipe: epochs must be float, not 'abc'"),
        ("my.yaml", 1, "error: my.yaml: no field train_flies; did you mean train_files?"),
        (
            "text_clasification",
            1,
            "'text_clasification' is neither a recipe nor a task; did you mean text_classification",
        ),
        ("", 0, "Tasks, with a recipe of your own"),
    ],
)
def test_torch_is_not_imported_to_refuse_a_command(tmp_path: Path, command: str, status: int, said: str) -> None:
    (tmp_path / "my.yaml").write_text("# hf-lecture train finetune_tagging my.yaml\ntrain_flies: [a]\n", "utf-8")
    code = (
        "import sys, hf_lecture_cli\n"
        "try:\n    hf_lecture_cli.main()\n"
        "finally:\n    print(*{'torch', 'transformers', 'hf_lecture_models'} & set(sys.modules), 'loaded')\n"
    )
    line = [sys.executable, "-c", code, "train", *command.split()]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == status
    assert said in done.stdout + done.stderr
    assert done.stdout.endswith("loaded\n")
    assert done.stdout.splitlines()[-1].split() == ["loaded"]
