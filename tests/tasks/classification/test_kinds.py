# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The kind of labels by the training data, and the weights of uneven classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.tasks.classification.kinds import kind_of_labels
from hf_lecture_models.tasks.classification.labels import class_names
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe
from hf_lecture_models.tasks.classification.weights import balanced_weights, note_uneven_classes
from tests.tasks.task_tests import train

TASK = TextClassification()
SINGLE, MULTI, NUMBERS = "single_label_classification", "multi_label_classification", "regression"


def rows_of(labels: list[Any]) -> Rows:
    return Rows({"text": [f"a text {n}" for n in range(len(labels))], "label": labels}, [("data.csv", len(labels))])


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["0", "1", "5"], SINGLE),  # integers are classes
        ([0, 1, 5], SINGLE),
        (["1.0", "2.0"], SINGLE),
        (["1.5", "2.0", "beta", "rc"], SINGLE),  # half of them are no numbers
        (["good", "bad"], SINGLE),
        (["0", "0.5", "1"], NUMBERS),
        ([0, 0.5], NUMBERS),
        ([-1.5, 1e-3], NUMBERS),
        ([["a"], []], MULTI),
        ([[], None], MULTI),
    ],
)
def test_the_kind_of_labels(labels: list[Any], kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert kind_of_labels(rows_of(labels)) == kind
    said = capsys.readouterr().err
    assert ("--problem_type single_label_classification takes each as a class" in said) == (kind == NUMBERS)


def test_numbers_with_a_gap_are_not_learned_as_classes() -> None:
    with pytest.raises(ValueError, match=r"data.csv, row 3: label is 'n/a', but most labels are numbers such as 0.5; "):
        kind_of_labels(rows_of(["0.5", "1", "n/a"]))
    assert kind_of_labels(rows_of(["0.5", "1", ""])) == NUMBERS, "and the row without a label is an error later"


@pytest.mark.parametrize(
    ("labels", "example"),
    [
        (["a;b", "a", "b"], "a;b"),
        (["x|y", "y|z"], "x|y"),
        (["a, b", "b"], "a, b"),
        (["a;b", "c"], ""),
        ([";", "a"], ""),
    ],
)
def test_joined_labels_are_told(labels: list[str], example: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert kind_of_labels(rows_of(labels)) == SINGLE
    said = capsys.readouterr().err
    assert (f"warning: labels of data.csv such as {example!r} look like several classes" in said) == bool(example)


def test_the_text_of_a_list_is_an_error() -> None:
    with pytest.raises(
        ValueError, match=r"row 1: label is \"\['a', 'b'\]\", the text of a list; a .jsonl file has lists"
    ):
        class_names(rows_of(["['a', 'b']", "['a']"]), {})


def test_a_run_on_fractions_learns_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"text": f"{'good ' * n}film", "label": n / 2} for n in range(6)]
    chosen = TextClassificationRecipe(train_rows=rows, validation_rows=rows, epochs=2)
    result, model = train(TASK, chosen, tmp_path / "run")
    assert (model.config.problem_type, model.config.num_labels, result.metric_name) == (NUMBERS, 1, "pearson")
    assert "are numbers such as 0.5, and numbers are learned (--problem_type regression)" in capsys.readouterr().err
    asked = TextClassificationRecipe(train_rows=rows, problem_type=SINGLE)
    with pytest.raises(ValueError, match=r"row 1: label is 0.0, no class|row 2: label is 0.5, no class"):
        train(TASK, asked, tmp_path / "other")
    saved = load_recipe(tmp_path / "run/recipe.yaml", recipe_class=TextClassificationRecipe)
    assert saved.problem_type == NUMBERS, "a resumed run does not look again"


# Weights


def test_balanced_weights_are_those_of_scikit_learn() -> None:
    labels = np.array(["b"] * 7 + ["a"] * 2 + ["c"])
    counts = {name: int((labels == name).sum()) for name in "abc"}
    expected = compute_class_weight("balanced", classes=np.array(list("abc")), y=labels)
    assert list(balanced_weights(counts, 10, SINGLE).values()) == pytest.approx(expected.tolist(), abs=1e-12)
    assert balanced_weights({"a": 2, "b": 0, "c": 10}, 10, MULTI) == {"a": 4.0, "c": 1.0}


def test_balanced_weights_are_numbers_in_the_saved_recipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"text": f"text {n}", "label": "bad" if n == 7 else "good"} for n in range(8)]
    fields: dict[str, Any] = {"train_rows": rows, "epochs": 1, "log_every": 1}
    given, _ = train(TASK, TextClassificationRecipe(**fields, class_weights="balanced"), tmp_path / "balanced")
    saved = load_recipe(tmp_path / "balanced/recipe.yaml", recipe_class=TextClassificationRecipe)
    assert saved.class_weights == {"bad": 4.0, "good": pytest.approx(8 / 14)}
    said = capsys.readouterr().err
    assert "class_weights balanced: bad 4, good 0.571" in said
    assert "uneven" not in said, "weights are given"
    same, _ = train(TASK, TextClassificationRecipe(**fields, class_weights=saved.class_weights), tmp_path / "numbers")
    assert same.history == given.history


def test_balanced_weights_of_several_classes(tmp_path: Path) -> None:
    rows = [{"text": f"text {n}", "label": ["a"] * (n % 4 == 0) + ["b"] * (n % 2)} for n in range(8)]
    chosen = TextClassificationRecipe(train_rows=rows, epochs=1, class_weights="balanced")
    train(TASK, chosen, tmp_path)
    assert chosen.class_weights == {"a": 3.0, "b": 1.0}


def test_weights_are_suggested_for_uneven_classes(capsys: pytest.CaptureFixture[str]) -> None:
    note_uneven_classes(["good"] * 10 + ["bad"] * 2)
    assert capsys.readouterr().err == "", "five times as many are not yet uneven"
    note_uneven_classes(["good"] * 11 + ["not good"] * 2)
    assert capsys.readouterr().err == (
        "the classes are uneven, 11 rows of good and 2 of not good: --class_weights balanced lets the rows of rare "
        "classes weigh more in the loss, '--class_weights.not good' 3.2 those of one class\n"
    )
