# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The pages of the reference: every public name, the parts below it, and the fields of the tasks' recipes."""

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import hf_lecture_models
from docs._site.docstrings import docstring_to_rst, inline_rst
from hf_lecture_models.tasks.core.heads import HeadRecipe
from hf_lecture_models.tasks.core.task import TaskRecipe
from hf_lecture_models.tasks.registry import TASKS

PACKAGE = "hf_lecture_models"
# Folders whose public functions and classes have a page, with its title.
FOLDERS = {
    "tokenization": "Tokenizers",
    "evaluation": "Evaluation",
    "generation": "Generation",
    "hub": "Publishing",
    "analysis": "Pictures and analysis",
    "base.heads": "Heads",
    "layers": "Layers",
    "lab.studies": "Studies",
    "lab.exercises": "Exercises",
    "lab.claims": "Claims",
}


def reference_pages() -> dict[str, str]:
    """Return the pages, as reStructuredText by their files."""
    pages = {f"api/{name}.rst": _model_page(name, names) for name, names in _models().items()}
    for folder, title in FOLDERS.items():
        pages[f"api/{folder.replace('.', '_')}.rst"] = _folder_page(folder, title)
    pages["api/tasks.rst"] = _tasks_page()
    pages["api/recipes.rst"] = _recipes_page()
    order = ["recipes", "tasks", *_models(), *(folder.replace(".", "_") for folder in FOLDERS)]
    pages["api/index.rst"] = _index(order)
    return pages


def source_of(name: str, parts: str) -> str | None:
    """Return the file that defines something and its place there, `FILE#NAME`; None outside of the package.

    >>> source_of("hf_lecture_models", "Gpt1Model.read")
    'hf_lecture_models/models/gpt1/modeling_gpt1.py#Gpt1Model.read'
    """
    thing: Any = importlib.import_module(name)
    for part in parts.split("."):
        thing = getattr(thing, part, None)
    thing = inspect.unwrap(getattr(thing, "fget", None) or getattr(thing, "__func__", None) or thing)
    module, qualified = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
    if not module or not module.startswith(PACKAGE) or not qualified or "<" in qualified:
        return None
    path = module.replace(".", "/")
    is_folder = hasattr(importlib.import_module(module), "__path__")
    return f"{path}/__init__.py#{qualified}" if is_folder else f"{path}.py#{qualified}"


def public_names() -> list[str]:
    """Return the names of the package and of its part `hub` that have a docstring of their own."""
    names = [name for name in hf_lecture_models.__all__ if name not in {"__version__", "hub"}]
    return names + [f"hub.{name}" for name in hf_lecture_models.hub.__all__]


def _models() -> dict[str, list[str]]:
    """Return the public names of each folder of models."""
    result: dict[str, list[str]] = {}
    for name in public_names():
        module = getattr(_public(name), "__module__", "")
        if module.startswith(f"{PACKAGE}.models."):
            result.setdefault(module.split(".")[2], []).append(name)
    return result


def _public(name: str) -> Any:
    thing: Any = hf_lecture_models
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


def _model_page(folder: str, names: list[str]) -> str:
    lines = _title(f"models.{folder}")
    lines += [f"The model's page: :doc:`/{PACKAGE}/models/{folder}/README`.", ""]
    # The configuration first, then the base model, then its heads.
    for name in sorted(names, key=lambda name: ("Config" not in name, not name.endswith("Model"), name)):
        lines += _entry(f"{PACKAGE}.{name}", _public(name))
    return "\n".join(lines)


def _folder_page(folder: str, title: str) -> str:
    lines = _title(title)
    shown = {id(_public(name)): name for name in public_names()}
    for module in _modules(f"{PACKAGE}.{folder}"):
        things = list(_defined(module))
        if not things:
            continue
        name = module.__name__.removeprefix(f"{PACKAGE}.")
        lines += [name, "-" * len(name), "", *docstring_to_rst(module.__doc__ or "")]
        for thing in things:
            public = shown.get(id(thing))
            lines += _entry(f"{PACKAGE}.{public}" if public else f"{module.__name__}.{thing.__name__}", thing)
    return "\n".join(lines)


def _tasks_page() -> str:
    lines = _title("Tasks")
    lines += ["A task knows its data, its models and its measures. Its fields in a recipe: :doc:`recipes`.", ""]
    pipelines = ("question_answering.pipeline", "translation.pipeline", "captioning.pipeline")
    for name in ("core.task", "registry", "prediction", "metrics", *pipelines):
        module = importlib.import_module(f"{PACKAGE}.tasks.{name}")
        for thing in _defined(module):
            public = f"{PACKAGE}.{thing.__name__}" if thing.__name__ in hf_lecture_models.__all__ else ""
            lines += _entry(public or f"{module.__name__}.{thing.__name__}", thing)
    for task in TASKS.values():
        lines += _entry(f"{type(task).__module__}.{type(task).__name__}", type(task), members=False)
    lines += _entry(f"{PACKAGE}.load_model", hf_lecture_models.load_model)
    return "\n".join(lines)


def _recipes_page() -> str:
    lines = _title("Recipes")
    lines += [
        "A recipe is a YAML file with these fields; each can also be given in the terminal, as ``--field value``, and",
        "``--model.hidden_size 200`` reaches into a mapping.",
        "",
    ]
    lines += ["Fields of all tasks", "-------------------", "", *_fields(TaskRecipe, None)]
    lines += ["Fields of tasks with a head", "---------------------------", "", *_fields(HeadRecipe, TaskRecipe)]
    for name, task in TASKS.items():
        base = HeadRecipe if issubclass(task.recipe_class, HeadRecipe) else TaskRecipe
        title = f"Fields of {name}"
        lines += [title, "-" * len(title), "", *docstring_to_rst(task.recipe_class.__doc__ or "")]
        lines += [f"Run by ``training/{task.script}``.", "", *_fields(task.recipe_class, base)]
    return "\n".join(lines)


def _fields(recipe: type[Any], base: type[Any] | None) -> list[str]:
    """Return a table of a recipe's fields; those that `base` has with the same default are left out."""
    inherited = {field.name: _default(field) for field in dataclasses.fields(base)} if base else {}
    fields = [field for field in dataclasses.fields(recipe) if inherited.get(field.name, ...) != _default(field)]
    if not fields:
        return []
    lines = [
        ".. list-table::",
        "   :header-rows: 1",
        "",
        "   * - field",
        "     - type",
        "     - default",
        "     - meaning",
    ]
    for field in fields:
        kind = field.type if isinstance(field.type, str) else inspect.formatannotation(field.type)
        meaning = inline_rst(field.metadata["help"])
        if field.metadata["choices"]:
            meaning += f" One of {', '.join(f'``{choice!r}``' for choice in field.metadata['choices'])}."
        if field.metadata["least"] is not None:
            meaning += f" At least {field.metadata['least']}."
        kind = kind.replace("typing.", "")
        lines += [
            f"   * - ``{field.name}``",
            f"     - ``{kind}``",
            f"     - ``{_default(field)}``",
            f"     - {meaning}",
        ]
    return [*lines, ""]


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return repr(field.default_factory())
    return repr(field.default)


def _index(order: list[str]) -> str:
    lines = _title("Reference")
    lines += ["The names of ``import hf_lecture_models``:", "", ".. list-table::", ""]
    for name in sorted(public_names(), key=str.lower):
        summary = inspect.cleandoc(_public(name).__doc__ or "").partition("\n\n")[0].replace("\n", " ")
        lines += [f"   * - :py:obj:`{name} <{PACKAGE}.{name}>`", f"     - {inline_rst(summary)}"]
    lines += ["", ".. toctree::", "   :caption: Pages", "   :maxdepth: 1", "", *(f"   {page}" for page in order), ""]
    return "\n".join(lines)


def _title(title: str) -> list[str]:
    return [title, "=" * len(title), ""]


def _entry(name: str, thing: Any, members: bool = True) -> list[str]:
    if inspect.isclass(thing):
        options = ["   :members:"] if members else []
        return [f".. autoclass:: {name}", *options, "   :show-inheritance:", ""]
    return [f".. autofunction:: {name}", ""]


def _modules(name: str) -> Iterator[Any]:
    package = importlib.import_module(name)
    yield package
    for found in sorted(pkgutil.walk_packages(package.__path__, f"{name}."), key=lambda found: found.name):
        yield importlib.import_module(found.name)


def _defined(module: Any) -> Iterator[Any]:
    """Return the documented functions and classes that a module defines, in its order."""
    for name, thing in vars(module).items():
        is_own = getattr(thing, "__module__", None) == module.__name__ and getattr(thing, "__name__", None) == name
        if (
            is_own
            and not name.startswith("_")
            and (inspect.isclass(thing) or inspect.isfunction(thing))
            and thing.__doc__
        ):
            yield thing
