# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""docs/errata.md: each example prints what the page says, each entry has its parts, and the lecture map links it."""

from __future__ import annotations

import re

import pytest
import torch

from tests.test_lecture_map import MAP
from tests.test_readme import ROOT

PAGE = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
# Entries by their headings: "### R:463 Gradient clipping".
ENTRIES = dict(re.findall(r"^### (.*?)\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE))
EXAMPLES = {
    heading: re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", entry, re.DOTALL)
    for heading, entry in ENTRIES.items()
}
NOTHING_TO_RUN = {"Y:639 Prompts for ANLI, PIQA and COPA"}


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("heading", [heading for heading in ENTRIES if heading not in NOTHING_TO_RUN])
def test_the_example_prints_what_the_page_says(heading: str, capsys: pytest.CaptureFixture[str]) -> None:
    ((code, printed),) = EXAMPLES[heading]
    with torch.random.fork_rng():
        exec(compile(code, heading, "exec"), {})
    assert capsys.readouterr().out == printed


def test_every_block_of_code_is_an_example() -> None:
    assert PAGE.count("```python") == PAGE.count("```text") == len(ENTRIES) - len(NOTHING_TO_RUN) >= 30


@pytest.mark.parametrize("heading", ENTRIES)
def test_an_entry_has_its_parts(heading: str) -> None:
    """What the slide has, what is right, the source, and a file of this repository that does it."""
    entry = ENTRIES[heading]
    parts = re.findall(r"^(?:- )?\*\*(.*?):\*\*", entry, re.MULTILINE)
    right = [] if heading in NOTHING_TO_RUN else ["Right"]
    assert parts == ["On the slide", *right, "Source", "In this package"]
    assert re.search(r"\]\(\.\./(hf_lecture_models|training)/\S+\.(py|yaml)\)", entry.partition("**In this package")[2])
    assert re.match(r"([RY]:|N s)\d+ [A-Z]", heading)


def test_contents_and_map_link_every_entry() -> None:
    anchors = [anchor(heading) for heading in ENTRIES]
    assert len(anchors) == len(set(anchors))
    contents = re.findall(r"^- \[.*?\]\(#(.*?)\) (.*)$", PAGE, re.MULTILINE)
    headings = re.findall(r"^###? (.*)$", PAGE, re.MULTILINE)
    assert [target for target, _ in contents if target in anchors] == anchors
    assert {target for target, _ in contents} <= {anchor(heading) for heading in headings}
    missing = [heading for heading in ENTRIES if f"(errata.md#{anchor(heading)})" not in MAP]
    assert not missing, "no row of docs/lecture_map.md links these"
