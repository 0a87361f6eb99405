# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The page that walks through the code names functions that are where it says."""

import ast
import re
from pathlib import Path

import pytest

from benchmarks import architecture

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "code.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^\d+\. (?:.*\n)(?: +.*\n)*", PAGE, re.MULTILINE)


def _names(path: Path) -> set[str]:
    """The functions and classes of a file, methods with their class: `train`, `Task`, `Task.train`."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    defined = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    methods = {
        f"{node.name}.{one.name}"
        for node in defined
        if isinstance(node, ast.ClassDef)
        for one in node.body
        if isinstance(one, ast.FunctionDef)
    }
    return methods | {node.name for node in defined}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: " ".join(step.split())[:40])
def test_each_step_names_functions_of_the_files_that_it_links(step: str) -> None:
    files = [ROOT / "docs" / target for target in re.findall(r"\]\(([^)]+\.py)\)", step)]
    known = set().union(*map(_names, files))
    named = set(re.findall(r"`([A-Za-z_]+(?:\.[A-Za-z_]+)?)`", step)) - {"training.json"}
    assert files
    assert named
    assert named <= known, named - known


def test_the_picture_shows_the_imports_of_today() -> None:
    """`python -m benchmarks.architecture` draws it."""
    assert architecture.PICTURE.read_text(encoding="utf-8") == architecture.draw()
    assert architecture.reached("tasks") >= {"trainer", "data", "models", "io"}
    assert ("tasks", "io") not in architecture.arrows(), "follows from others"


def test_the_page_is_short_and_walks_through_five_flows() -> None:
    assert len(PAGE.split()) <= 1200
    assert len(STEPS) == 39
    assert PAGE.count("\n1. ") == 5
