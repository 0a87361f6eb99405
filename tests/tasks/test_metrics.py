# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Metrics beside counts by hand and other libraries, and as a local module of `evaluate` that needs no network."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from seqeval.metrics import f1_score as entity_f1
from seqeval.metrics import precision_score, recall_score
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef, precision_recall_fscore_support

from hf_lecture_models.tasks import metrics
from hf_lecture_models.tasks.classification.measures import measures_by_class
from hf_lecture_models.tasks.metrics.sums import ranks
from hf_lecture_models.tasks.tagging.measures import entities as tagged_entities
from tests.forked_python import PATIENCE

MODULE = Path(metrics.__file__).with_name("lecture_metric.py")


def measured(name: str, predictions: list[Any], references: list[Any]) -> dict[str, float]:
    """Of a measure of one number, or of entities."""
    if name == "entities":
        return tagged_entities(predictions, references)
    return {name: metrics.compute(name, predictions, references)}


def test_accuracy_is_the_share_counted_by_hand() -> None:
    assert metrics.compute("accuracy", [0, 1, 2, 2, 0], [0, 1, 1, 2, 1]) == pytest.approx(3 / 5)


def test_correlation_is_numpys() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=20), rng.normal(size=20)
    assert metrics.compute("pearson", x.tolist(), y.tolist()) == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)
    assert metrics.compute("pearson", [1.0, 1.0], [0.0, 1.0]) == 0.0, "nothing varies"


def test_f1_is_that_of_one_class() -> None:
    """Three are predicted, four are there, two of them are found: 2 · 2 / (3 + 4)."""
    predictions, references = [1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 1, 0]
    assert metrics.compute("f1", predictions, references) == pytest.approx(4 / 7)
    assert metrics.compute("f1", [1 - x for x in predictions], [1 - x for x in references]) == pytest.approx(2 / 5)


def test_matthews_correlation_is_counted_by_hand() -> None:
    """tp, tn, fp, fn = 2, 1, 1, 2: 2 · 1 - 1 · 2 = 0; with one more negative found, (2 · 2 - 2) / √(3 · 4 · 3 · 4)."""
    predictions, references = [1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 1, 0]
    assert metrics.compute("matthews_correlation", predictions, references) == 0
    value = metrics.compute("matthews_correlation", [*predictions, 0], [*references, 0])
    assert value == pytest.approx(2 / 12)
    swapped = metrics.compute("matthews_correlation", [1 - x for x in [*predictions, 0]], [1, 1, 0, 1, 1, 0, 0])
    assert swapped == pytest.approx(-2 / 12)
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, size=(2, 50))
    assert metrics.compute("matthews_correlation", x.tolist(), y.tolist()) == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_rank_correlation_is_counted_by_hand() -> None:
    """Ranks 1, 2, 3, 4 against 1, 3, 2, 4: 1 - 6 · 2 / (4 · 15); equal numbers share their mean rank."""
    assert metrics.compute("spearmanr", [1, 10, 100, 1000], [0.1, 0.3, 0.2, 0.4]) == pytest.approx(0.8)
    expected = np.corrcoef([1.5, 1.5, 3], [1, 2, 3])[0, 1]
    assert metrics.compute("spearmanr", [5.0, 5.0, 7.0], [1.0, 2.0, 3.0]) == pytest.approx(expected)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("name", "predictions", "references", "expected"),
    [
        ("matthews_correlation", [1, 1, 1], [0, 1, 0], 0.0),
        ("matthews_correlation", [0, 1], [0, 0], 0.0),
        ("matthews_correlation", [1, 1], [1, 1], 0.0),
        ("f1", [0, 0], [0, 1], 0.0),
        ("f1", [0, 0], [0, 0], 0.0),
        ("pearson", [2.0, 2.0, 2.0], [0.0, 1.0, 2.0], 0.0),
        ("pearson", [2.0], [1.0], 0.0),
        ("spearmanr", [2.0, 2.0, 2.0], [0.0, 1.0, 2.0], 0.0),
        ("spearmanr", [0.0, 1.0], [3.0, 3.0], 0.0),
        ("entities", [["O"]], [["O"]], 0.0),
    ],
)
def test_what_does_not_vary_is_0_without_a_warning(
    name: str, predictions: list[Any], references: list[Any], expected: float
) -> None:
    assert set(measured(name, predictions, references).values()) == {expected}


@pytest.mark.parametrize(
    ("name", "defined", "undefined"),
    [
        ("matthews_correlation", [0, 1], [1, 1]),
        ("pearson", [0.0, 1.0], [2.0, 2.0]),
        ("spearmanr", [0.0, 1.0], [2.0, 2.0]),
        ("f1", [0, 1], [0, 0]),
        ("entities", [["B-X"], ["O"]], [["O"], ["O"]]),
    ],
)
def test_a_line_says_where_a_measure_is_undefined(
    name: str, defined: list[Any], undefined: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Predictions that are all right have the value 1, or 0 / 0, which is given as 0."""
    metrics.say_undefined.cache_clear()
    assert list(measured(name, defined, defined).values()) == pytest.approx([1.0] * (1 + 2 * (name == "entities")))
    assert not capsys.readouterr().err
    for _ in range(2):
        assert set(measured(name, undefined, undefined).values()) == {0.0}
    assert capsys.readouterr().err.count(f"{name} is undefined, and given as 0: ") == 1


def test_entities_are_counted_by_hand() -> None:
    """Two of four are found; of the other two, one lacks its last word, one is of another kind."""
    references = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC", "I-LOC"], ["B-PER", "B-PER", "O"], ["O"]]
    predictions = [["B-PER", "I-PER", "O", "B-ORG"], ["O", "B-LOC", "O"], ["B-PER", "I-PER", "O"], ["B-LOC"]]
    assert tagged_entities(predictions, references) == pytest.approx({"precision": 1 / 5, "recall": 1 / 5, "f1": 1 / 5})
    references[2], predictions[2] = ["I-PER", "B-PER", "O"], ["B-PER", "B-PER", "O"]
    assert tagged_entities(predictions, references) == pytest.approx(
        {"precision": 3 / 6, "recall": 3 / 5, "f1": 6 / 11}
    )
    assert tagged_entities([["O", "O"]], [["O", "O"]]) == {"precision": 0, "recall": 0, "f1": 0}


def entities(tags: list[str]) -> set[tuple[str, int, int]]:
    """Kind, first word and the word behind the last one of each entity, as the script conlleval finds them.

    B and S begin an entity, E and S end one. So does a change of kind, and I or E behind O begins one.
    """
    found, first, before, kind_before = set(), 0, "O", ""
    for place, tag in enumerate([*tags, "O"]):
        prefix, _, kind = tag.partition("-")
        begins = prefix != "O" and (prefix in "BS" or before in "OES" or kind != kind_before)
        if before != "O" and (begins or prefix == "O"):
            found.add((kind_before, first, place))
        if begins:
            first = place
        before, kind_before = prefix, kind
    return found


@pytest.mark.parametrize("prefixes", ["B", "BI", "I", "BIES", "E", "S", "ES", "IE"])
def test_entities_are_those_of_the_shared_tasks(prefixes: str) -> None:
    """Tags at random, so that most sequences are not well formed."""
    tags = ["O", *(f"{prefix}-{kind}" for prefix in prefixes for kind in ("place", "creative-work", "person"))]
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 9, size=400)
    predictions, references = ([rng.choice(tags, size=n).tolist() for n in lengths] for _ in range(2))
    pairs = [(entities(ours), entities(theirs)) for ours, theirs in zip(predictions, references, strict=True)]
    both, predicted, there = (sum(map(len, sets)) for sets in ([a & b for a, b in pairs], *zip(*pairs, strict=True)))
    expected = {"precision": both / predicted, "recall": both / there, "f1": 2 * both / (predicted + there)}
    assert tagged_entities(predictions, references) == pytest.approx(expected, abs=1e-12)
    assert 0 < expected["f1"] < 1


@pytest.mark.parametrize("classes", [2, 4])
def test_classes_are_measured_as_scikit_learn_does(classes: int) -> None:
    """To the last digit."""
    rng = np.random.default_rng(0)
    for size in (*range(1, 30), 1000):
        predictions, references = rng.integers(0, classes, size=(2, size)).tolist()
        assert metrics.compute("accuracy", predictions, references) == accuracy_score(references, predictions)
        correlation = metrics.compute("matthews_correlation", predictions, references)
        assert correlation == matthews_corrcoef(references, predictions)
        ours, theirs = ([int(one == 1) for one in side] for side in (predictions, references))
        assert metrics.compute("f1", predictions, references) == f1_score(theirs, ours, zero_division=0)


@pytest.mark.parametrize("classes", [1, 2, 5])
def test_each_class_is_measured_as_scikit_learn_does(classes: int) -> None:
    """To the last digit; also a class that is never predicted, or never right."""
    rng = np.random.default_rng(0)
    for size in (*range(1, 30), 1000):
        predictions, references = rng.integers(0, classes, size=(2, size)).tolist()
        found = measures_by_class(predictions, references, [f"c{index}" for index in range(classes)])
        columns = precision_recall_fscore_support(references, predictions, labels=range(classes), zero_division=0)
        for index, row in enumerate(found["classes"].values()):
            assert [row[name] for name in ("precision", "recall", "f1", "examples")] == [
                side[index] for side in columns
            ]
            pairs = [ours for ours, theirs in zip(predictions, references, strict=True) if theirs == index]
            assert list(row["predicted"].values()) == [pairs.count(other) for other in range(classes)]
        assert found["macro_f1"] == pytest.approx(f1_score(references, predictions, average="macro"), abs=1e-12)


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_correlations_are_scipys(digits: int) -> None:
    """With and without equal numbers, and numbers whose squares overflow."""
    rng = np.random.default_rng(0)
    for size in (*range(3, 30), 1500):
        x, noise = rng.normal(size=(2, size)).round(digits)
        for y in (noise, x + noise, 1e200 * (noise - x)):
            if min(len(set(x)), len(set(y))) > 1:
                expected = stats.pearsonr(x, y).statistic, stats.spearmanr(x, y).statistic
                found = metrics.compute("pearson", x.tolist(), y.tolist()), metrics.compute("spearmanr", x, y)
                assert found == pytest.approx(expected, abs=1e-15)
                assert ranks(y).tolist() == stats.rankdata(y).tolist()


@pytest.mark.filterwarnings("error")
def test_a_correlation_with_nan_is_nan() -> None:
    for name in ("pearson", "spearmanr"):
        assert np.isnan(metrics.compute(name, [1.0, float("nan"), 2.0], [1.0, 2.0, 3.0]))


def test_entities_are_measured_as_seqeval_does() -> None:
    rng = np.random.default_rng(0)
    tags = ["O", *(f"{letter}-{kind}" for letter in "BIES" for kind in ("X", "Y-Z"))]
    for _ in range(100):
        lengths = rng.integers(1, 9, size=5)
        predictions, references = ([rng.choice(tags, size=n).tolist() for n in lengths] for _ in range(2))
        expected = [one(references, predictions, zero_division=0) for one in (entity_f1, precision_score, recall_score)]
        assert list(tagged_entities(predictions, references).values()) == expected


@pytest.mark.slow
def test_the_first_call_of_a_measure_imports_no_other_library() -> None:
    code = """
import sys
from hf_lecture_models.tasks.classification.measures import measures_by_class
from hf_lecture_models.tasks.metrics import METRICS, compute
from hf_lecture_models.tasks.metrics.sums import ranks
from hf_lecture_models.tasks.tagging.measures import entities
before = set(sys.modules)
for name in METRICS:
    compute(name, [0, 1, 1], [0, 1, 0])
measures_by_class([0, 1, 1], [0, 1, 0], ["no", "yes"]), entities([["B-X"]], [["B-X"]])
print(sorted({name.partition(".")[0] for name in set(sys.modules) - before} - {"numpy"}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.strip() == "[]", done.stderr[-2000:]


@pytest.mark.slow
def test_the_module_loads_by_its_path_in_another_process(tmp_path: Path) -> None:
    """`evaluate` copies the module and reads its imports with a pattern of its own."""
    code = """
import evaluate, sys
for name in ("default", "f1", "matthews_correlation", "pearson", "spearmanr", "entities", "squad"):
    metric = evaluate.load(sys.argv[1], name, keep_in_memory=True)
    values = [["B-Y"], ["B-X"]] if name in ("entities", "squad") else [0, 1]
    answers = [{"text": "b-x", "no_answer_score": 0.0}] * 2
    print(metric.compute(predictions=answers if name == "squad" else values, references=values))
try:
    evaluate.load(sys.argv[1], "recall")
except ValueError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(MODULE)],
        cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_MODULES_CACHE": str(tmp_path / "modules")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *found, wrong = done.stdout.splitlines()
    named = zip(("accuracy", "f1", "matthews_correlation", "pearson", "spearmanr"), found[:5], strict=True)
    assert all(ast.literal_eval(line)[name] == pytest.approx(1) for name, line in named)
    assert ast.literal_eval(found[5]) == {"f1": 1.0, "precision": 1.0, "recall": 1.0}
    assert ast.literal_eval(found[6]) == {"f1": 0.5, "exact_match": 0.5}
    assert wrong.startswith("there is no measure 'recall'; there are accuracy, f1, ")


@pytest.mark.parametrize("name", ["accuracy", "f1", "matthews_correlation", "pearson", "spearmanr"])
@pytest.mark.parametrize("predictions", [[1], [1, 0], [1, 0, 1, 1], [[1], [0], [1]], []])
def test_each_right_answer_needs_one_prediction(name: str, predictions: list[Any]) -> None:
    """numpy would repeat the one of a list, or pair each of a column with all answers: an F1 of 4 / 3."""
    with pytest.raises(ValueError, match="`predictions` has the shape"):
        metrics.compute(name, predictions, [1, 1, 0])


@pytest.mark.parametrize("predictions", [[["B-X"]], [["B-X"], ["B-Y", "O"]], [["B-X"], []]])
def test_each_word_needs_one_predicted_tag(predictions: list[list[str]]) -> None:
    with pytest.raises(ValueError, match="`predictions`"):
        tagged_entities(predictions, [["B-X"], ["B-Y"]])


@pytest.mark.parametrize(
    ("predictions", "references", "named"),
    [
        ([0], [0, 1], "1 `predictions` for 2"),
        ([2, 0], [0, 1], "`predictions` has the value 2"),
        ([-1, 0], [1, 1], "`predictions` has the value -1"),
        ([0, 1], [-100, 1], "`references` has the value -100"),
        ([0.7, 1], [0, 1], "`predictions` has the value 0.7"),
    ],
)
def test_measures_by_class_refuse_other_ids(predictions: list[Any], references: list[int], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        measures_by_class(predictions, references, ["bad", "good"])


def test_classes_may_have_names() -> None:
    sides = ["a", "b", "a", "c"], ["a", "a", "b", "c"]
    assert metrics.compute("matthews_correlation", *sides) == pytest.approx(matthews_corrcoef(*sides[::-1]))
    assert metrics.compute("matthews_correlation", ["a", "b"], ["a", "a"]) == 0
