# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Measures as functions of sums equal the measures themselves, and stay defined where these are 0 / 0."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hf_lecture_models.tasks.classification.measures import measures_by_class
from hf_lecture_models.tasks.metrics import METRICS, sums
from hf_lecture_models.tasks.tagging.baseline import entity_sums
from hf_lecture_models.tasks.tagging.measures import entities

CLASSES = 4
OF_CLASSES: dict[str, Callable[..., sums.Sums]] = {
    "accuracy": sums.accuracy,
    "macro_f1": lambda ours, theirs: sums.macro_f1(ours, theirs, CLASSES),
    "matthews_correlation": lambda ours, theirs: sums.matthews_correlation(ours, theirs, CLASSES),
}


def macro_f1(ours: Any, theirs: Any) -> float:
    return measures_by_class(ours, theirs, ["a", "b", "c", "d"])["macro_f1"]


@pytest.mark.parametrize("key", OF_CLASSES)
@pytest.mark.parametrize("kinds", [(4, 4), (3, 4), (1, 4), (1, 1)])
def test_measures_of_classes(key: str, kinds: tuple[int, int]) -> None:
    """Also where a class is never predicted, and where predictions and right answers are all alike."""
    random = np.random.default_rng(0)
    ours, theirs = (random.integers(0, kind, 57).tolist() for kind in kinds)
    reference = macro_f1 if key == "macro_f1" else METRICS[key]
    assert OF_CLASSES[key](ours, theirs).measure() == pytest.approx(reference(ours, theirs), abs=1e-12)


@pytest.mark.parametrize("ours", [[1, 1, 1, 0, 0, 0], [0] * 6, [1] * 6])
def test_f1(ours: list[int]) -> None:
    for theirs in ([1, 1, 0, 1, 1, 0], [0] * 6):
        assert sums.f1(ours, theirs).measure() == pytest.approx(METRICS["f1"](ours, theirs), abs=1e-12)


@pytest.mark.parametrize("key", ["pearson", "spearmanr"])
def test_correlations(key: str) -> None:
    """Far from 0, where sums of squares lose digits; of equal numbers, which share a rank; of a constant."""
    random = np.random.default_rng(0)
    theirs = 1e4 + random.normal(size=80).round(1)
    for ours in (theirs + random.normal(size=80), -theirs, np.full(80, 0.1)):
        found = getattr(sums, key)(ours, theirs).measure()
        assert found == pytest.approx(METRICS[key](ours.tolist(), theirs.tolist()), abs=1e-12)


def test_entities() -> None:
    """Sentences counted one by one give the measures of all sentences together."""
    tags = ["O", "B-X", "I-X", "E-X", "S-Y", "I-Y", "B-Y"]
    random = np.random.default_rng(0)
    ours, theirs = ([[tags[i] for i in random.integers(0, 7, 1 + row % 5)] for row in range(60)] for _ in range(2))
    found = {key: own.measure() for key, own in entity_sums(ours, theirs).items()}
    assert found == pytest.approx(entities(ours, theirs), abs=1e-12)
    none = [["O"] * len(row) for row in theirs]
    assert {key: own.measure() for key, own in entity_sums(none, theirs).items()} == dict.fromkeys(found, 0.0)
