# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How to cite the package and where to ask: the files that GitHub and others read."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hf_lecture_models.version import REPOSITORY_URL, __version__

ROOT = Path(__file__).parents[1]
FORMS = sorted({path for path in ROOT.glob(".github/ISSUE_TEMPLATE/*.yml") if path.stem != "config"})
TYPES = {"checkboxes", "dropdown", "input", "markdown", "textarea"}


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_citation_is_of_this_version() -> None:
    """Keys that the Citation File Format 1.2.0 demands; each reference has a type, a title and authors."""
    citation = _read(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == __version__
    assert citation.get("repository-code", "") == REPOSITORY_URL
    assert citation["license"] == "Apache-2.0"
    assert citation["authors"] == [{"name": "The hf_lecture_models authors"}]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for lecture in citation["references"]:
        (author,) = lecture["authors"]
        assert lecture["type"] == "slides"
        named = f"{author['given-names']} {author['family-names']}'s *{lecture['title']}*"
        assert named in " ".join(readme.split()), named
        assert str(lecture["year"]) in readme
    assert len(citation["references"]) == 3


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_github_demands(path: Path) -> None:
    """Name, description and body; each field a type and a label, and an id of its own."""
    form = _read(path)
    assert form.keys() <= {"name", "description", "title", "labels", "assignees", "body", "projects", "type"}
    assert len(form["name"]) >= 3
    assert form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert fields
    assert {field["type"] for field in form["body"]} <= TYPES
    assert all(field["attributes"]["value"] for field in form["body"] if field["type"] == "markdown")
    ids, labels = [field["id"] for field in fields], [field["attributes"]["label"] for field in fields]
    assert len(set(ids)) == len(set(labels)) == len(fields)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", one) for one in ids)
    for field in fields:
        assert isinstance(field["validations"]["required"], bool)
        if field["type"] == "dropdown":
            options = field["attributes"]["options"]
            assert len(set(options)) == len(options) > 1
            assert all(isinstance(option, str) and option != "None" for option in options)


def test_there_are_forms_for_questions_bugs_and_models() -> None:
    assert {path.stem for path in FORMS} == {"bug_report", "new_model", "question"}
    assert _read(ROOT / ".github/ISSUE_TEMPLATE/config.yml").keys() <= {"blank_issues_enabled", "contact_links"}
    version = next(field for field in _read(FORMS[0])["body"] if field.get("id") == "version")
    assert "`hf-lecture --version`" in version["attributes"]["description"]
    assert version["validations"]["required"]
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = contributing.partition("## Where to ask\n")[2].partition("\n## ")[0]
    assert all(_read(path)["name"] in section for path in FORMS), "the section names each form"
