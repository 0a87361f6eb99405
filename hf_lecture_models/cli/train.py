# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture train`: the scripts and recipes of `training/`, which an installed package has without a checkout."""

import ast
import re
import sys
import textwrap
from difflib import get_close_matches
from pathlib import Path

from hf_lecture_models.cli.app import plain_errors
from hf_lecture_models.cli.declared import check_fields, declared_names
from hf_lecture_models.cli.exec import run_program
from hf_lecture_models.io.installed_folders import training_folder

# A command in the comment of a recipe: the task or its script, and the recipe that it reads, by its name or file.
_COMMAND = re.compile(r"(?:\bhf-lecture\s+train\s+|\btraining/)(\w+)(?:\.py)?(?:\s+(?:\S*/)?([\w.-]+))?")


def run_training(arguments: list[str]) -> None:
    """Run the script of a recipe or task with the further arguments."""
    with plain_errors("train"):
        command = script_command(arguments, training_folder())
    run_program(["python", *command])


def answer_at_once(arguments: list[str]) -> bool:
    """Answer what needs no model: list recipes and tasks, or refuse a name or a field that does not exist.

    torch is not imported for it.

    Returns:
        Whether all is done.

    Raises:
        SystemExit: a name or a value is wrong; the error was printed.
    """
    with plain_errors("train"):
        folder = training_folder()
        if not arguments:
            print("\n".join(overview(folder)))
            return True
        script, *rest = script_command(arguments, folder)
    try:
        check_fields(Path(script), rest)
    except (ValueError, OSError) as error:  # as the script itself says it
        sys.exit(f"error: {' '.join(str(error).split())}")
    return False


def overview(folder: Path) -> list[str]:
    """Return the lines of a list of all recipes and all tasks: what each trains, and what rows a task reads.

    A script that runs no task, such as `fit_ngram.py`, is listed by its own name.
    """
    recipes = {name: _sentence(_comment(path).partition("\n#  ")[0]) for name, path in _recipes(folder).items()}
    names = {script: name for name, script in declared_names(_scripts(folder)).items()}
    tasks = {names.get(path.stem, path.stem): _task_line(_docstring(path)) for path in _scripts(folder)}
    return [
        "Recipes: hf-lecture train RECIPE [--name value ...]",
        *_aligned(recipes),
        "Tasks, with a recipe of your own or options alone: hf-lecture train TASK [RECIPE.yaml] [--name value ...]",
        *_aligned(dict(sorted(tasks.items()))),
    ]


def _aligned(texts: dict[str, str]) -> list[str]:
    width = max(map(len, texts))
    return [f"  {name:{width}}  {text}" for name, text in texts.items()]


def _task_line(docstring: str) -> str:
    """Return what a script trains, shortened to a line, and what it reads: its docstring's first paragraph.

    >>> _task_line("Train a tagger of words: names.\\nReads: rows with `tokens` and `tags`.\\n\\nMore.")
    'Train a tagger of words: names. Reads: rows with `tokens` and `tags`.'
    """
    what, reads, *_ = re.split(r"\sReads: ", docstring.partition("\n\n")[0])
    return f"{_sentence(what)} Reads: {reads}"


def _docstring(script: Path) -> str:
    return ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""


def _comment(recipe: Path) -> str:
    lines = recipe.read_text(encoding="utf-8-sig").splitlines()
    return "\n".join(line for line in lines if line.startswith("#"))


def _sentence(text: str) -> str:
    """Return the first sentence, shortened to a line.

    >>> _sentence("# A small LSTM, split at\\n# white space. It needs no data.")
    'A small LSTM, split at white space.'
    """
    words = " ".join(line.lstrip("# ") for line in text.splitlines())
    return textwrap.shorten(re.split(r"(?<=[.!?])\s+(?=[A-Z])", words)[0], 110, placeholder=" ...")


def script_command(arguments: list[str], folder: Path) -> list[str]:
    """Return the script's path and its arguments; a recipe's name is replaced by its path.

    Raises:
        OSError: there is no such recipe.
        ValueError: nothing has this name, or a recipe does not tell its script.
    """
    first, rest = arguments[0], arguments[1:]
    recipes, scripts = _recipes(folder), {path.stem: path for path in _scripts(folder)}
    script = scripts.get(first.removesuffix(".py")) or scripts.get(_script_of_task(first, folder))
    if script is not None:
        # A run of the recipe may have left a folder of its name.
        if rest and rest[0] in recipes and not Path(rest[0]).is_file():
            rest = [str(recipes[rest[0]]), *rest[1:]]
        return [str(script), *rest]
    recipe = Path(first) if first.endswith((".yaml", ".yml")) else recipes.get(first)
    if recipe is None:
        near = get_close_matches(first, [*recipes, *scripts, *declared_names(_scripts(folder))], n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; `hf-lecture train` lists them"
        raise ValueError(f"{first!r} is neither a recipe nor a task{hint}")
    if not recipe.is_file():
        raise FileNotFoundError(f"there is no recipe {recipe}")
    return [str(scripts[_script_of_recipe(recipe, scripts)]), str(recipe), *rest]


def _script_of_task(name: str, folder: Path) -> str:
    return declared_names(_scripts(folder)).get(name, "")


def _script_of_recipe(recipe: Path, scripts: dict[str, Path]) -> str:
    """Return the script that the recipe's comment names, or the task file that a training wrote beside the recipe."""
    tasks = declared_names(list(scripts.values()))
    printed = [(tasks.get(task, task), name) for task, name in _COMMAND.findall(_comment(recipe))]
    found = [match for match in printed if match[0] in scripts]
    own = [script for script, name in found if name in (recipe.name, recipe.stem)]
    names = list(dict.fromkeys(own or [script for script, _ in found]))
    if not names:
        from hf_lecture_models.io.task_file import read_task_file  # which imports torch

        names = [Path(str(read_task_file(recipe.parent).get("script"))).stem]
    if len(names) != 1 or names[0] not in scripts:
        raise ValueError(f"{recipe} does not tell its task; name it: hf-lecture train TASK {recipe}")
    return names[0]


def _recipes(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted((folder / "recipes").glob("*.yaml"))}


def _scripts(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.py"))
