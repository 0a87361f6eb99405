# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The lecture page of each model: what a card takes from it, and its examples."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.figures import without_comments

PAGES = sorted((Path(__file__).parents[2] / "hf_lecture_models" / "models").glob("*/README.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
@pytest.mark.filterwarnings("ignore:.*too few, or artificial text")
def test_the_examples_print_what_stands_beneath_them(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other, in an empty folder; what they print stands beneath as comments at the margin."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    promised = [line.removeprefix("# ") for block in blocks for line in block.splitlines() if line.startswith("# ")]
    assert promised, "an example prints something"
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
    assert capsys.readouterr().out.splitlines() == promised


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_a_card_finds_title_text_and_deviations(page: Path) -> None:
    """A title, then a paragraph that names papers or slides; in the code a list of deviations, or "none"."""
    title, _, text = page.read_text(encoding="utf-8").partition("\n\n")
    assert re.fullmatch(r"# [^\n]+", title)
    assert re.match(r"[A-Z]", text), "the first paragraph is prose"
    code = page.with_name(f"modeling_{page.parent.name}.py").read_text(encoding="utf-8")
    assert re.search(r"^Deviations:(\n *- | none\.?$)", ast.get_docstring(ast.parse(code)) or "", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_a_page_begins_with_plain_words(page: Path) -> None:
    """After papers and slides, before any equation: what it is, does and costs, when to use it, where it is shown."""
    parts = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert "    " not in parts[0], "an equation before the words"
    title, _, words = parts[1].partition("\n\n")
    assert title == "Read this first"
    assert 5 <= len(words.strip().splitlines()) <= 7
    assert "predict" in words or "class" in words
    assert re.search(r"WikiText-2|SST|digits|Multi30k", words), "what it can do"
    assert "CPU" in words or "an hour" in words, "what it costs"
    assert "Use it " in words
    assert re.search(r"In the lecture:\s[RNY]", words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_a_page_can_be_read_at_one_sitting(page: Path) -> None:
    """What is longer has a page of its own in docs/."""
    assert len(without_comments(page.read_text(encoding="utf-8")).split()) <= 1200


def test_papers_are_cited_without_excuses() -> None:
    package = PAGES[0].parents[2]
    for path in [*package.rglob("*.py"), *package.rglob("*.md"), *package.parent.glob("docs/*.md")]:
        text = " ".join(path.read_text(encoding="utf-8").split())
        assert not re.search(r"from memory\b|could not be opened|second-hand", text), path
