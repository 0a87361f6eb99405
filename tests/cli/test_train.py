# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture train`: which script runs with which arguments, and the scripts in the wheel."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hf_lecture_cli import app
from hf_lecture_models.cli import train
from hf_lecture_models.io import installed_folders
from hf_lecture_models.tasks.language_models.causal import CausalLM, CausalLMRecipe
from hf_lecture_models.tasks.registry import TASKS

ROOT = Path(__file__).parents[2]
TRAINING = ROOT / "training"


def _command(*arguments: str) -> list[str]:
    """The script's name and its arguments."""
    script, *rest = train.script_command(list(arguments), TRAINING)
    assert Path(script).parent == TRAINING
    return [Path(script).name, *rest]


def test_every_recipe_tells_its_script() -> None:
    """It is the one with whose name the recipe's comment prints a command."""
    for recipe in sorted((TRAINING / "recipes").glob("*.yaml")):
        script, path = _command(recipe.stem)
        assert path == str(recipe)
        names = [script.removesuffix(".py"), *(task.name for task in TASKS.values() if task.script == script)]
        printed = [f"hf-lecture train {name} {recipe.stem}" for name in names]
        assert any(command in recipe.read_text(encoding="utf-8") for command in printed)


def test_a_recipe_of_ones_own_tells_its_script(tmp_path: Path) -> None:
    own = tmp_path / "my.yaml"
    # As today, by a task's name, and as comments of earlier versions have it.
    for command in (
        "hf-lecture train fit_ngram my",
        "hf-lecture train fit_ngram my.yaml",
        "python training/fit_ngram.py my.yaml",
    ):
        own.write_text(f"\ufeff# Mine.\r\n#   {command}\r\norder: 2\r\n", encoding="utf-8")
        assert _command(str(own), "--order", "3") == ["fit_ngram.py", str(own), "--order", "3"]
    own.write_text("# hf-lecture train token_classification data/my.yaml --resume\nseed: 0\n", encoding="utf-8")
    assert _command(str(own)) == ["finetune_tagging.py", str(own)]
    shutil.copy(TRAINING / "recipes" / "recurrent_sst3_from_lm.yaml", tmp_path)
    assert _command(str(tmp_path / "recurrent_sst3_from_lm.yaml"))[0] == "finetune_glue.py", "not the other command's"
    shutil.copy(tmp_path / "recurrent_sst3_from_lm.yaml", own)
    with pytest.raises(ValueError, match=r"my\.yaml does not tell its task; name it: hf-lecture train TASK"):
        _command(str(own))
    own.write_text("# hf-lecture train no_such my.yaml\norder: 2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="does not tell its task"):
        _command(str(own))
    # As a training leaves it.
    task = CausalLM().describe(None, CausalLMRecipe()) | {"script": "train_causal_lm.py"}
    (tmp_path / "task.json").write_text(json.dumps(task), encoding="utf-8")
    (tmp_path / "recipe.yaml").write_text("seed: 0\n", encoding="utf-8")
    assert _command(str(tmp_path / "recipe.yaml"))[0] == "train_causal_lm.py"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["recurent_tiny"], "'recurent_tiny' is neither a recipe nor a task; did you mean recurrent_tiny"),
        (["zzzz"], "'zzzz' is neither a recipe nor a task; `hf-lecture train` lists them"),
        (["no/such.yaml"], "there is no recipe no/such.yaml"),
    ],
)
def test_what_is_neither_is_named(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["train", *arguments])
    assert done.exit_code == 1
    assert f"hf-lecture train: {said}" in done.stderr
    assert "Traceback" not in done.output


def test_without_arguments_recipes_and_tasks_are_listed() -> None:
    done = CliRunner().invoke(app, ["train"])
    assert done.exit_code == 0, done.output
    listed = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")]
    named = {task.script: name for name, task in TASKS.items()}
    assert listed == sorted(path.stem for path in (TRAINING / "recipes").glob("*.yaml")) + sorted(
        named.get(path.name, path.stem) for path in TRAINING.glob("*.py")
    )
    assert all(len(line.split(maxsplit=1)[1]) > 15 for line in done.stdout.splitlines())
    tasks = [line for line in done.stdout.partition("\nTasks, ")[2].splitlines() if line.startswith("  ")]
    assert all(re.search(r"\. Reads: [^:]+\.$|\.\.\. Reads: [^:]+\.$", line) for line in tasks)
    assert all(" Reads: rows with `text` and `label`" in line for line in tasks if "text_classification " in line)


def test_the_scripts_are_found_where_the_wheel_puts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Installed:
        files: Any = None

    monkeypatch.setattr(
        installed_folders, "__file__", str(tmp_path / "site-packages/hf_lecture_models/io/installed_folders.py")
    )
    monkeypatch.setattr(installed_folders, "distribution", lambda name: Installed)
    with pytest.raises(FileNotFoundError, match="the training scripts were not installed"):
        installed_folders.training_folder()
    from importlib.metadata import PackagePath

    file = PackagePath("../share/hf_lecture_models/training/fit_ngram.py")
    file.dist = type("Dist", (), {"locate_file": lambda self, path: tmp_path / "site-packages" / path})()
    monkeypatch.setattr(Installed, "files", [PackagePath("hf_lecture_cli.py"), file])
    assert installed_folders.training_folder() == tmp_path / "share/hf_lecture_models/training"


def test_the_wheel_carries_all_scripts_and_recipes() -> None:
    """The patterns of pyproject.toml leave out no file; building the wheel takes seconds, below."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = [pattern for patterns in project["tool"]["setuptools"]["data-files"].values() for pattern in patterns]
    carried = {path for pattern in patterns for path in ROOT.glob(pattern)}
    files = {path for path in TRAINING.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    live = {path for path in (ROOT / "docs" / "_static" / "live").iterdir() if path.is_file()}
    assert carried == files | live


@pytest.mark.slow
def test_an_installed_copy_needs_no_checkout(tmp_path: Path) -> None:
    """The wheel, in an environment of its own, fits the n-gram of its recipe and writes its live page."""
    # find_spec("pip") would give the whole process the standard library's distutils, with which torch cannot compile:
    # setuptools prepares for pip then.
    if not {"pip", "setuptools"} <= {one.name for one in distributions()}:
        pytest.skip("the wheel is built by pip and setuptools")
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "hf_lecture_cli.py"):
        shutil.copy(ROOT / name, source)
    for name in ("hf_lecture_models", "training", "docs/_static/live"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    wheel = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(tmp_path), str(source)]
    subprocess.run(wheel, check=True, capture_output=True)
    shutil.rmtree(source)
    place = tmp_path / "place"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = place / "bin" / "python"
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    install = [*pip, "--python", str(python), "install", "--no-deps", "--no-index", *map(str, tmp_path.glob("*.whl"))]
    subprocess.run(install, check=True, capture_output=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [place / "bin" / "hf-lecture", "train", "ngram", "--output_dir", "fitted", "--order", "2"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "perplexity" in done.stdout
    live = [place / "bin" / "hf-lecture", "live", "fitted", "page.html"]
    subprocess.run(live, check=True, capture_output=True, cwd=tmp_path, env=environment)
    assert "class NGram" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_task_is_named_by_its_script_or_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--task", "sst2", "--train_files", "T.tsv", "--validation_files", "V.tsv"]
    assert _command("finetune_glue", *options) == ["finetune_glue.py", *options]
    assert _command("finetune_glue.py", *options) == ["finetune_glue.py", *options]
    assert _command("fit_ngram", "ngram", "--order", "2")[1:] == [str(TRAINING / "recipes/ngram.yaml"), "--order", "2"]
    assert [_command(name)[0] for name in TASKS] == [task.script for task in TASKS.values()]
    monkeypatch.chdir(tmp_path)
    Path("ngram").mkdir()
    assert _command("fit_ngram", "ngram")[1:] == [str(TRAINING / "recipes/ngram.yaml")], "a run's folder is no recipe"
    Path("ngram").rmdir()
    Path("ngram").touch()
    assert _command("fit_ngram", "ngram") == ["fit_ngram.py", "ngram"], "a file of one's own"
