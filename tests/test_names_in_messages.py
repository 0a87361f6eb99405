# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a message advises exists: classes, options and files. `test_printed_commands.py` runs its commands."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import CONFIG_MAPPING
from typer.main import get_command

from hf_lecture_cli import app
from hf_lecture_models.io.recipe import Recipe
from hf_lecture_models.tasks.core.command_line import EXAMPLE_SWITCHES
from hf_lecture_models.tasks.registry import TASKS
from tests.printed_commands import ROOT

PACKAGE = ROOT / "hf_lecture_models"
SOURCES = [ROOT / "hf_lecture_cli.py", *PACKAGE.rglob("*.py"), *(ROOT / "training").glob("*.py")]
# Of accelerate, torchrun, tensorboard, trackio and IRSTLM; and what a message says of any field.
OTHER_OPTIONS = {"--mixed_precision", "--use_fsdp", "--nproc_per_node", "--logdir", "--project", "--help", "--name"}
OTHER_OPTIONS |= {"--text"}
# Programs, data sets, fonts; classes of JavaScript and torchvision, and one that TensorFlow had.
NO_CLASSES = {
    "ALiBi",
    "AllenNLP",
    "BLiMP",
    "CoNLL",
    "ColorBrewer",
    "DejaVu",
    "JavaScript",
    "FileReader",
    "GloVe",
    "ImageFolder",
    "KenLM",
    "KeyDataset",
    "MultiRNNCell",
}
NO_CLASSES |= {"WenQuanYi", "WikiText", "WordPiece", "YaHei"}
# Of the demo page's script: classes and keys of the browser.
NO_CLASSES |= {"ArrowDown", "ArrowLeft", "ArrowRight", "ArrowUp", "DataTransfer", "MutationObserver", "Uint8Array"}
FIXED = [
    pytest.param(config, name, program, id=f"{config.__name__}.{name}")
    for config in CONFIG_MAPPING._extra_content.values()
    for name, program in getattr(config, "fixed_fields", {}).items()
]


def strings(path: Path) -> Iterator[str]:
    """The strings of a file that have several words, without docstrings; a value is {}."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    joined = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    left_out = {id(part) for node in joined for part in ast.walk(node) if part is not node}
    left_out |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr) and id(node) not in left_out:
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and id(node) not in left_out and " " in str(node.value).strip():
            yield str(node.value)


MESSAGES = [(path.relative_to(ROOT), text) for path in SOURCES for text in strings(path)]


def named(pattern: str) -> dict[str, Path]:
    """What a pattern finds in the messages, and a file that says it."""
    return {name: path for path, text in MESSAGES for name in re.findall(pattern, text)}


def test_classes_exist() -> None:
    """In this package, transformers or torch; what an older version alone has is named with that version."""
    ours = {name for path in SOURCES for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.M)}
    found = named(r"\b(?=\w*[a-z])(?:[A-Z]+[a-z0-9]+){2,}\w*\b(?! of transformers \d)")
    assert {"TokenizerPair", "AutoModelForQuestionAnswering", "ElmoTokenizer"} <= found.keys()
    unknown = (
        found.keys() - ours - set(dir(transformers)) - set(dir(transformers.utils)) - set(dir(torch.nn)) - NO_CLASSES
    )
    assert not unknown, {name: found[name] for name in unknown}


def options(command: Any) -> Iterator[str]:
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    for verb in getattr(command, "commands", {}).values():
        yield from options(verb)


def recipes(base: type = Recipe) -> Iterator[type]:
    yield base
    for recipe in base.__subclasses__():
        yield from recipes(recipe)


def test_options_exist() -> None:
    """Of a verb, of a script or in a recipe, whose fields the scripts take as options."""
    assert TASKS  # they define the recipes
    ours = set(options(get_command(app))) | {
        f"--{field.name}" for recipe in recipes() for field in dataclasses.fields(recipe)
    }
    ours |= {f"--{name}" for name in ("resume", *EXAMPLE_SWITCHES)}
    found = named(r"(?<![\w-])--[a-z][\w-]+(?![\w-]|\)?:)")
    assert {"--store", "--tokenizer"} <= found.keys()
    unknown = {name: path for name, path in found.items() if name not in ours | OTHER_OPTIONS}
    assert set(unknown.values()) <= {Path("hf_lecture_models/lab/demo/style.py")}, unknown  # these are of a style sheet


# Files whose errors are about what was typed in a terminal.
TERMINAL = [PACKAGE / name for name in ("cli", "lab/verbs", "tasks/core/command_line.py", "io/recipe.py")]
OTHER_PROGRAMS = re.compile(r"accelerate launch --\w+|torchrun --\w+|compile-lm --\w+")


def test_errors_name_arguments() -> None:
    """Not options: `io.runs.as_options` puts them in the place of arguments, where a terminal shows an error."""
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        if not any(path.is_relative_to(place) for place in TERMINAL):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
                if isinstance(node, ast.Raise) or re.search("error", name, re.I):
                    said = OTHER_PROGRAMS.sub("", ast.unparse(node))
                    wrong += [f"{path}:{node.lineno}: {found}" for found in re.findall(r"(?<![\w-])--\w+", said)]
    assert not wrong


def test_files_exist() -> None:
    """Documents and scripts of the repository, by their paths."""
    found = named(r"(?<![\w./])(?:docs|training|tasks|base|layers)/[\w./]*\w")
    assert {"docs/fine_tuning.md", "tasks/word_vectors/updates.py"} <= found.keys()
    missing = [name for name in found if not ((ROOT / name).exists() or (ROOT / "hf_lecture_models" / name).exists())]
    assert not missing, {name: found[name] for name in missing}


@pytest.mark.parametrize(("config", "name", "program"), FIXED)
def test_another_program_computes_what_a_model_does_not(config: Any, name: str, program: str) -> None:
    """A class of the installed transformers reads the field; one that ignored it would give other numbers in silence.

    BERT's `position_embedding_type` and Transformer-XL's `pre_lnorm` were read by version 4.57.6, Transformer-XL's
    other fields by the authors' code alone.
    """
    other = 1 if getattr(config, name) != 1 else 2
    with pytest.raises(ValueError, match=rf"\.{name} is {other}; .* load the checkpoint with {re.escape(program)}$"):
        config(**{name: other})
    installed = re.fullmatch(r"transformers' (\w+)", program)
    if installed is not None:
        module = sys.modules[getattr(transformers, installed[1]).__module__]
        assert re.search(rf"config\.{name}\b", inspect.getsource(module))
    elif config.model_type == "lecture_bert":
        assert name not in inspect.getsource(sys.modules[transformers.BertModel.__module__])
