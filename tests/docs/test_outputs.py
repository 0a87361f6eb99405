# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Notebooks with their outputs: executed once, kept by code and versions, never half; and what the site adds."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("jupytext")
pytest.importorskip("sphinx", reason="the site needs the extra `docs`")

from docutils import nodes
from docutils.core import publish_doctree
from docutils.utils import new_document

from docs._site import notebooks
from docs._site.extension import Equations, TableNames
from docs._site.gather import Site, gather
from docs._site.notebooks import NotebookError, add_outputs, cache_key, link_line, package_checksum, read_notebook

TEXT = """\
# 1. Small

```{code-cell}
---
mystnb:
  image:
    alt: A white square
---
print("one")
```

Words between them.

```{code-cell}
print("two")
```
"""
WHITE = base64.b64encode(b"not looked at").decode()


@pytest.fixture(autouse=True)
def all_packages(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())


def run_as(outputs, runs):
    """Stand in for Jupyter: it gives each cell of code one output, and counts its runs."""

    def run(notebook, folder):
        runs.append(folder)
        for number, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), 1):
            cell.execution_count = number
            cell.outputs = [outputs[number - 1]]
            if outputs[number - 1]["output_type"] == "error":
                raise RuntimeError("ZeroDivisionError: division by zero")

    return run


PRINTED = {"output_type": "stream", "name": "stdout", "text": "one\n"}
DRAWN = {"output_type": "display_data", "data": {"image/png": WHITE}, "metadata": {}}
FAILED = {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "", "traceback": []}


def outputs_of(notebook):
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def test_a_notebook_is_executed_once_for_its_code_and_other_words_take_its_outputs(tmp_path):
    runs: list[Path] = []
    run = run_as([DRAWN, PRINTED], runs)
    first, again, reworded = map(read_notebook, (TEXT, TEXT, TEXT.replace("Words", "Other words")))
    for notebook in (first, again, reworded):
        add_outputs(notebook, "small", tmp_path, run)
        assert outputs_of(notebook) == [[DRAWN], [PRINTED]]
    assert len(runs) == 1
    assert not runs[0].exists()
    assert notebooks.to_json(first) == notebooks.to_json(again)
    assert "Other words" in notebooks.to_json(reworded)
    add_outputs(read_notebook(TEXT.replace("two", "three")), "small", tmp_path, run)
    assert len(runs) == 2


def test_the_key_changes_with_code_and_versions_and_the_package(tmp_path, monkeypatch):
    keys = {cache_key(read_notebook(text)) for text in (TEXT, TEXT.replace("Words", "Text"), TEXT.replace("two", "2"))}
    assert len(keys) == 2
    for name, value in (("version", lambda name: "0"), ("package_checksum", lambda folder: "0")):
        with monkeypatch.context() as patch:
            patch.setattr(notebooks, name, value)
            keys.add(cache_key(read_notebook(TEXT)))
    assert len(keys) == 4
    (tmp_path / "a.py").write_text("x = 1", encoding="utf-8")
    checksums = [package_checksum(tmp_path)]
    (tmp_path / "README.md").write_text("words", encoding="utf-8")
    checksums.append(package_checksum(tmp_path))
    (tmp_path / "a.py").write_text("x = 2", encoding="utf-8")
    checksums.append(package_checksum(tmp_path))
    assert checksums[0] == checksums[1] != checksums[2]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_an_execution_that_ends_early_leaves_nothing(tmp_path, stop):
    def run(notebook, folder):
        notebook.cells[1].outputs = [PRINTED]
        raise stop

    with pytest.raises((KeyboardInterrupt, NotebookError)):
        add_outputs(read_notebook(TEXT), "small", tmp_path / "cache", run)
    assert not (tmp_path / "cache").exists()


def test_a_cell_that_fails_and_a_picture_without_a_text_stop_the_build(tmp_path):
    with pytest.raises(NotebookError, match=r"small, cell-4: ZeroDivisionError: division by zero"):
        add_outputs(read_notebook(TEXT), "small", tmp_path, run_as([PRINTED, FAILED], []))
    with pytest.raises(NotebookError, match="small, cell-4: a picture needs a text in its place"):
        add_outputs(read_notebook(TEXT), "small", tmp_path, run_as([PRINTED, DRAWN], []))


def test_missing_packages_are_named_with_the_command_that_installs_them(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "ipykernel" else object())
    with pytest.raises(NotebookError, match=r"needs ipykernel: .*docs,notebooks.*EXECUTE=off"):
        add_outputs(read_notebook(TEXT), "small", tmp_path)


def test_pages_of_notebooks_have_outputs_and_the_sites_links(tmp_path, monkeypatch):
    folder = tmp_path / "docs" / "notebooks"
    folder.mkdir(parents=True)
    text = "---\nkernelspec:\n  display_name: Python 3\n  name: python3\n---\n\n" + TEXT.replace(
        "Words", "[Words](../../README.md)"
    )
    (folder / "01_small.md").write_text(text, encoding="utf-8")
    (tmp_path / "README.md").write_text("# Index\n\n[1](docs/notebooks/01_small.md)\n", encoding="utf-8")
    (tmp_path / "hf_lecture_models").mkdir()
    monkeypatch.setattr(notebooks, "execute", run_as([DRAWN, PRINTED], []))
    site: Site = gather(tmp_path, cache=tmp_path / "cache")
    page, file = (
        json.loads(site.texts[name]) for name in ("docs/notebooks/01_small.ipynb", "downloads/01_small.ipynb")
    )
    assert page["cells"][0]["source"].startswith("# 1. Small\n\n{download}`")
    assert "[Words](../../index.md)" in page["cells"][2]["source"]
    assert "[Words](../../README.md)" in file["cells"][2]["source"]
    for one in (page, file):
        assert [cell["outputs"] for cell in one["cells"] if cell["cell_type"] == "code"] == [[DRAWN], [PRINTED]]
    assert "[1](docs/notebooks/01_small.ipynb)" in site.texts["index.md"]


def test_colab_is_linked_once_the_repository_has_an_address(monkeypatch):
    assert "once the package is on PyPI" in link_line("downloads/a.ipynb")
    monkeypatch.setattr(notebooks, "REPOSITORY_URL", "https://github.com/someone/lectures/")
    assert "until then" not in link_line("downloads/a.ipynb")
    address = (
        r"\(https://colab.research.google.com/github/someone/lectures/blob/gh-pages/_downloads/[0-9a-f]{32}/a.ipynb\)"
    )
    assert re.search(address, link_line("downloads/a.ipynb"))


@pytest.mark.slow
def test_jupyter_executes_a_notebook_for_the_site(tmp_path, monkeypatch):
    monkeypatch.undo()
    for package in notebooks.NEEDED:
        pytest.importorskip(package)
    notebook = read_notebook(TEXT.replace('print("two")', "import os; os.environ['OMP_NUM_THREADS']"))
    add_outputs(notebook, "small", tmp_path)
    assert [outputs[0]["output_type"] for outputs in outputs_of(notebook)] == ["stream", "execute_result"]
    assert outputs_of(notebook)[1][0]["data"]["text/plain"] == "'1'"
    with pytest.raises(NotebookError, match="small, cell-4: (?s:.*)ZeroDivisionError"):
        add_outputs(read_notebook(TEXT.replace('print("two")', "1 / 0")), "small", tmp_path)


def equations_of(*blocks):
    """The mathematics of the last of some blocks: each a paragraph, or a literal block with its language and text."""
    document = new_document("page")
    document += [
        nodes.paragraph("", block) if isinstance(block, str) else nodes.literal_block("", block[1], language=block[0])
        for block in blocks
    ]
    Equations(document).apply()
    return [node.astext() for node in document.findall(nodes.math)]


def test_what_code_prints_is_not_an_equation():
    equation = ("none", "h_t = W_x x_t")
    code = ("python", "print(h)")
    assert equations_of("Words.", equation) == ["h_{t} = W_{x} x_{t}"]
    assert equations_of(code, "Words.", equation) == ["h_{t} = W_{x} x_{t}"]
    assert equations_of(("none", "a = b + c"), equation) == ["a = b + c", "h_{t} = W_{x} x_{t}"]
    assert equations_of(code, equation) == []
    assert equations_of(("none", "hf-lecture see surprisal MODEL"), equation) == []
    assert equations_of("Words.", ("text", equation[1])) == []
    assert equations_of("Words.", ("none", "loss = 3.310e+00 + x_1")) == []


def test_cells_of_wide_tables_know_their_columns():
    def table(columns):
        bars = " ".join(["====="] * columns)
        names = " ".join(f"name{number}" for number in range(columns))
        values = " ".join(f"{number:5}" for number in range(1, columns + 1))
        document = publish_doctree(f"{bars}\n{names}\n{bars}\n{values}\n{bars}\n")
        TableNames(document).apply()
        return document

    wide, narrow = table(4), table(3)
    cells = [cell.get("column_name") for cell in wide.findall(nodes.entry)]
    assert cells == [None] * 4 + ["name0", "name1", "name2", "name3"]
    assert [one["classes"] for one in wide.findall(nodes.table)] == [["cards"]]
    assert all("column_name" not in cell for cell in narrow.findall(nodes.entry))
