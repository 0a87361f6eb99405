# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The notebooks have the parts that docs/notebooks/README.md promises, and run without a warning.

By default two of them run, cell by cell in one process; the others are nightly. A slow test runs one in Jupyter, by
nbmake, as a reader does; nightly, all.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import nullcontext
from typing import Any

import pytest

from tests.forked_python import ForkedPython
from tests.test_readme import ROOT

jupytext = pytest.importorskip("jupytext")

FOLDER = ROOT / "docs" / "notebooks"
LIST = (FOLDER / "README.md").read_text(encoding="utf-8")
NAMES = sorted(path.stem for path in FOLDER.glob("[0-9]*.md"))
# The quickest: they run by default.
QUICK = ("01_text_and_tokens", "02_bag_of_words")
PARTS = {
    "The question": None,
    "From scratch in 20 lines": 20,
    "The same by the package in 3": 3,
    "A picture": None,
    "A claim of the lecture, tested": None,
    "An exercise": None,
}
"""The headings in their order, and the most lines of a part's first cell."""
FIRST_CELL = """\
# Installs the package where it is missing, as in Colab.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("hf_lecture_models") is None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "hf-lecture-models[train]"]
    if subprocess.run(command, check=False).returncode:
        raise ImportError("the package is not on PyPI yet; docs/notebooks/README.md says how to bring a wheel")"""
RUN_CELLS = """
import json, sys, traceback, warnings
import matplotlib
matplotlib.use("Agg")
space = {"__name__": "__main__"}
for number, cell in enumerate(json.load(open("cells.json", encoding="utf-8")), 1):
    try:
        exec(compile(cell, f"cell {number}", "exec"), space)
    except BaseException:
        print(cell, traceback.format_exc(), sep="\\n\\n", file=sys.stderr)
        sys.exit(1)
"""


def read_cells(name: str) -> list[Any]:
    return jupytext.read(FOLDER / f"{name}.md").cells


def parts_of(name: str) -> dict[str, tuple[list[str], list[str]]]:
    """Each part by its heading: the lines of its text, and the sources of its cells of code."""
    lines: list[str] = []
    codes: list[str] = []
    parts = {}
    for cell in read_cells(name):
        if cell.cell_type == "code":
            codes.append(cell.source)
            continue
        for line in cell.source.splitlines():
            if line.startswith("## "):
                parts[line.removeprefix("## ")] = lines, codes = [], []
            else:
                lines.append(line)
    return parts


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_its_parts_in_order(name):
    cells = read_cells(name)
    assert cells[0].source.startswith(f"# {int(name[:2])}. ")
    assert next(cell.source for cell in cells if cell.cell_type == "code") == FIRST_CELL
    parts = parts_of(name)
    assert list(parts) == list(PARTS)
    for heading, most in PARTS.items():
        text, codes = parts[heading]
        assert text, heading
        assert not [line for line in text if line.startswith("#")], "a heading that no other notebook has"
        assert codes, heading
        lines = [line for line in codes[0].splitlines() if line.strip()]
        assert most is None or len(lines) <= most, f"{heading}: {len(lines)} lines"
    for code in parts["From scratch in 20 lines"][1][1:]:
        assert not re.search(r"^(def|class) ", code, re.MULTILINE), "only the first cell is counted"
    assert any(re.search(r"^\s*assert ", code, re.MULTILINE) for code in parts["The same by the package in 3"][1])
    question = " ".join(parts["The question"][0])
    assert "](../lecture_map.md" in question
    assert re.search(r"\b[RY]:\d+|\bN s\d+", question)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_plain_text_without_outputs(name):
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    notebook = jupytext.reads(text, fmt="md:myst")
    _, head, body = text.split("---\n", 2)
    assert jupytext.writes(notebook, fmt="md:myst").split("---\n", 2)[2] == body, "jupytext writes it otherwise"
    assert "version" not in head, "jupytext's own version changes with every release"
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    # What a cell computes is not typed beside it; slides and sections have their numbers.
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert not re.findall(r"\d\.\d|\d ?%", re.sub(r"`[^`]*`|\$[^$]*\$|\([^)]*\)", "", prose))
    assert max(map(len, text.splitlines())) <= 140


@pytest.mark.parametrize("name", ["README", *NAMES])
def test_links_of_notebooks_lead_to_files_and_headings(name):
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
        path = FOLDER / target
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert anchor in slugs, f"{target}#{anchor}"


def test_the_list_names_the_notebooks_in_order():
    listed = re.findall(r"\]\((\d\d_\w+)\.md\)", LIST)
    assert listed == NAMES
    assert set(QUICK) <= set(NAMES)


@pytest.mark.parametrize("found", [None, object()])
@pytest.mark.parametrize("status", [0, 1])
def test_the_first_cell_installs_what_is_missing(found, status, monkeypatch):
    ran: list[list[str]] = []

    def run(command, check):
        ran.append(command)
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr("importlib.util.find_spec", lambda name: found)
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ImportError, match="not on PyPI yet") if found is None and status else nullcontext():
        exec(FIRST_CELL, {})
    wanted = [sys.executable, "-m", "pip", "install", "--quiet", "hf-lecture-models[train]"]
    assert ran == ([wanted] if found is None else [])


def _marked(name: str) -> Any:
    return pytest.param(name, marks=() if name in QUICK else (pytest.mark.slow, pytest.mark.nightly))


@pytest.mark.parametrize("name", map(_marked, NAMES))
def test_a_notebook_runs(name, tmp_path):
    pytest.importorskip("IPython")
    cells = [cell.source for cell in read_cells(name) if cell.cell_type == "code"]
    (tmp_path / "cells.json").write_text(json.dumps(cells), encoding="utf-8")
    process = ForkedPython("-c", RUN_CELLS, cwd=tmp_path, HF_LECTURE_DATA=str(tmp_path))
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert not err, "it prints warnings"


@pytest.mark.slow
@pytest.mark.parametrize("name", [NAMES[0], *(pytest.param(name, marks=pytest.mark.nightly) for name in NAMES[1:])])
def test_jupyter_runs_a_notebook(name, tmp_path, monkeypatch):
    running = pytest.importorskip("nbmake.nb_run")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = tmp_path / f"{name}.ipynb"
    jupytext.write(jupytext.read(FOLDER / f"{name}.md"), notebook)
    result = running.NotebookRun(notebook, default_timeout=900).execute()
    assert result.error is None, result.error.trace
    outputs = [output for cell in result.nb.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output.text for output in outputs if output.get("name") == "stderr"], "it prints warnings"
    assert any("image/png" in output.get("data", {}) for output in outputs), "no picture"
