# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""docs/glossary.md: its terms are in order, and used where their links lead."""

from __future__ import annotations

import re

import pytest

from tests.test_errata import anchor
from tests.test_readme import ROOT

PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TERMS = dict(re.findall(r"^### (.*?)\n(.*?)(?=^###|\Z)", PAGE, re.DOTALL | re.MULTILINE))


def test_terms_are_in_alphabetical_order_and_have_their_own_anchors() -> None:
    terms = re.findall(r"^### (.*)$", PAGE, re.MULTILINE)
    assert terms == sorted(terms, key=str.lower)
    assert len(terms) == len({anchor(term) for term in terms}) >= 50


@pytest.mark.parametrize("term", TERMS)
def test_a_term_is_used_where_its_link_leads(term: str) -> None:
    """Every page that an entry links has the term, or another of its names: in parentheses, or after a comma."""
    names = [name.strip(" `)").lower() for name in re.split(r"[(,]", term)]
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", TERMS[term])
    assert targets, "links no page"
    for target in targets:
        text = " ".join((ROOT / "docs" / target).read_text(encoding="utf-8").lower().split())
        assert any(name in text for name in names), f"{target} does not have the word"


def test_an_entry_is_one_short_paragraph() -> None:
    assert [term for term, entry in TERMS.items() if len(entry.split()) > 60 or "\n\n" in entry.strip()] == []


def test_pages_link_only_terms_that_exist() -> None:
    anchors, linked = {anchor(term) for term in TERMS}, set()
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "hf_lecture_models").rglob("README.md")]:
        linked |= set(re.findall(r"glossary\.md#([^)]+)\)", page.read_text(encoding="utf-8")))
    assert linked
    assert linked <= anchors
