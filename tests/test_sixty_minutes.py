# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The page of sixty minutes: its times, its parts, its exercises, its pictures."""

import re
from pathlib import Path

import pytest

pytest.importorskip("docutils", reason="the equations of the site need the extra `docs`")

from benchmarks.figures import without_comments
from docs._site.equations import equation_rows
from hf_lecture_models.lab.exercises.registry import EXERCISES

PAGE = (Path(__file__).parents[1] / "docs" / "sixty_minutes.md").read_text(encoding="utf-8")
STOPS = re.findall(r"^## (\d+)\. ([^\n]+) · (\d+) min\n(.*?)(?=^## )", PAGE, flags=re.DOTALL | re.MULTILINE)


def test_the_stops_take_sixty_minutes() -> None:
    assert [int(number) for number, *_ in STOPS] == list(range(1, 16))
    minutes = [int(one) for _, _, one, _ in STOPS]
    assert sum(minutes) == 60
    assert min(minutes) >= 2
    assert max(minutes) <= 5
    assert len(without_comments(PAGE).split()) <= 1600


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop[1])
def test_a_stop_has_idea_equation_picture_task_and_figure(stop: tuple[str, str, str, str]) -> None:
    idea, _, rest = stop[3].strip().partition("\n\n")
    assert 2 <= len(re.findall(r"[.?](?:\s|$)", re.sub(r"\([^)]*\)", "", idea))) <= 4
    assert re.search(r"[RYN](?::| s)\d", idea), "its slides"
    assert re.match(r" {4}\S", rest), "the equation"
    rows = equation_rows(rest.splitlines()[0].strip())
    assert {kind for row in rows or [] for kind, _ in row} == {"math"}, "the site shows it as mathematics"
    parts = [rest.find(part) for part in ("](", "\n**Do:** ", "\n**Measured:** ")]
    assert 0 <= parts[0] < parts[1] < parts[2]
    measured = rest[parts[2] :]
    assert "<!--= " in measured or "claims.md#" in measured


def test_three_exercises_and_the_five_live_pages() -> None:
    assert len(exercises := re.findall(r"`hf-lecture exercise (\w+) > my.py`", PAGE)) == 3
    assert set(exercises) < set(EXERCISES)
    live = set(re.findall(r"\]\(live/(\w+)\.md\)", PAGE))
    assert live == {"next_word", "smoothing", "attention", "gradients", "pieces"}
