# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The recipes of training scripts, read from their source files, to report a typo without importing torch.

The files are parsed and not imported. A value in an unusual form is accepted here: the script itself checks it.
"""

import ast
import dataclasses
import typing
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hf_lecture_models.io.recipe import Recipe, load_recipe, parse_overrides, setting
from hf_lecture_models.tasks.core.example_options import ALIASES, BATCH_SIZE, EXAMPLE_SWITCHES

_PACKAGE = Path(__file__).parents[1]
_TYPES = {kind.__name__: kind for kind in (bool, dict, float, int, list, str)} | {"Any": Any}
_EMPTY: dict[Any, Any] = {list: [], dict: {}}


class _UnknownError(Exception):
    """The source has a form that this module does not read."""


@dataclasses.dataclass(frozen=True)
class Definition:
    """A class in a source file."""

    file: Path
    node: ast.ClassDef


def check_fields(script: Path, arguments: Sequence[str]) -> None:
    """Check the names of fields, and values of simple types, that a script is given by options or a recipe.

    Nothing is checked if the script has no recipe that is understood here, or if its help is asked for.

    Raises:
        ValueError: there is no such field, or it cannot have this value.
        OSError: the recipe cannot be read.
    """
    recipe_class = declared_recipe(script)
    if recipe_class is None or not {"--help", "-h"}.isdisjoint(arguments):
        return
    rest = [argument for argument in arguments if argument != "--resume"]
    path = rest.pop(0) if rest and not rest[0].startswith("--") else None
    fields = recipe_class.__dataclass_fields__
    values = {}
    for name, value in parse_overrides(rest, recipe_class, EXAMPLE_SWITCHES).items():
        own = name if name in fields else ALIASES.get(name, name)
        if own in fields or name not in {*ALIASES, *EXAMPLE_SWITCHES, BATCH_SIZE}:
            values[own] = value
    load_recipe(path, values, recipe_class=recipe_class)


def declared_recipe(script: Path) -> type[Recipe] | None:
    """Return a class with the fields of a script's recipe, their types and limits; None if it is not understood.

    A default, type or limit that is not a plain value is not checked.
    """
    try:
        task = declared_task(script)
        if task is not None:
            return _as_class(_attribute(task, "recipe_class"))
        for node in ast.walk(_tree(script)):
            if isinstance(node, ast.keyword) and node.arg == "recipe_class":
                return _as_class(_find(script, node.value))
    except (_UnknownError, OSError, SyntaxError, ValueError, TypeError):
        pass
    return None


def declared_task(script: Path) -> Definition | None:
    """Return the class of the task that a script runs; None if it runs none."""
    for node in ast.walk(_tree(script)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "run_task" and isinstance(node.args[0], ast.Call):
            return _find(script, node.args[0].func)
    return None


def declared_names(scripts: Sequence[Path]) -> dict[str, str]:
    """Return the names of the tasks that scripts run, each with the stem of the task's own script."""
    found = {}
    for script in scripts:
        try:
            if (task := declared_task(script)) is not None:
                found[str(_value(task, "name"))] = Path(str(_value(task, "script"))).stem
        except (_UnknownError, OSError, SyntaxError):
            continue
    return found


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _find(file: Path, name: ast.expr) -> Definition:
    """Return the class that a name means in a file: one of its own, or one that it imports from the package."""
    wanted = ast.unparse(name)
    for node in _tree(file).body:
        if isinstance(node, ast.ClassDef) and node.name == wanted:
            return Definition(file, node)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hf_lecture_models."):
            for alias in node.names:
                if wanted == (alias.asname or alias.name):
                    return _find(_file_of(str(node.module)), ast.Name(alias.name))
    raise _UnknownError


def _file_of(module: str) -> Path:
    path = _PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _assignments(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and line.value is not None:
            yield ast.unparse(line.target), line.value
        elif isinstance(line, ast.Assign) and len(line.targets) == 1:
            yield ast.unparse(line.targets[0]), line.value


def _assigned(of: Definition, name: str) -> tuple[Path, ast.expr]:
    """Return what a class or its first bases assign to an attribute, and the file."""
    for own, value in _assignments(of.node):
        if own == name:
            return of.file, value
    for base in of.node.bases:
        try:
            return _assigned(_find(of.file, base.value if isinstance(base, ast.Subscript) else base), name)
        except _UnknownError:
            continue
    raise _UnknownError


def _attribute(of: Definition, name: str) -> Definition:
    return _find(*_assigned(of, name))


def _value(of: Definition, name: str) -> Any:
    return _literal(_assigned(of, name)[1])


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise _UnknownError from None


@cache  # so that two classes share their base
def _as_class(of: Definition) -> type[Recipe]:
    """Return a class of recipes with the fields that a definition and its bases declare."""
    if of.node.name == Recipe.__name__:
        return Recipe
    bases = tuple(_as_class(_find(of.file, base)) for base in of.node.bases)
    lines = [line for line in of.node.body if isinstance(line, ast.AnnAssign)]
    fields = [_field(line) for line in lines if not ast.unparse(line.annotation).startswith("ClassVar")]
    return dataclasses.make_dataclass(of.node.name, fields, bases=bases, kw_only=True)


def _field(line: ast.AnnAssign) -> tuple[str, Any, Any]:
    """Return the name, the type and the declaration of a field."""
    call = line.value
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != "setting":
        raise _UnknownError
    kind = _type(line.annotation)
    options: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg in ("choices", "least"):
            options |= _if_literal(keyword.arg, keyword.value)
    empty = _EMPTY.get(typing.get_origin(kind) or kind)
    default = _if_literal("default", call.args[0]).get("default", empty)
    return ast.unparse(line.target), kind | None if default is None else kind, setting(default, "", **options)


def _if_literal(name: str, node: ast.expr) -> dict[str, Any]:
    try:
        return {name: _literal(node)}
    except _UnknownError:
        return {}


def _type(annotation: ast.expr) -> Any:
    """Return the type of an annotation of plain types, else `object`, which every value is of."""
    if {name.id for name in ast.walk(annotation) if isinstance(name, ast.Name)} <= _TYPES.keys():
        return eval(compile(ast.Expression(annotation), "<annotation>", "eval"), dict(_TYPES))
    return object
