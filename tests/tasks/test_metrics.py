# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Metrics are local modules of `evaluate` that need no network."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hf_lecture_models.tasks import metrics
from tests.forked_python import PATIENCE

FOLDER = Path(metrics.__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


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
    assert set(metrics.compute_all(name, predictions, references).values()) == {expected}


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
    metrics._say_undefined.cache_clear()
    assert list(metrics.compute_all(name, defined, defined).values()) == pytest.approx(
        [1.0] * (1 + 2 * (name == "entities"))
    )
    assert not capsys.readouterr().err
    for _ in range(2):
        assert set(metrics.compute_all(name, undefined, undefined).values()) == {0.0}
    assert capsys.readouterr().err.count(f"{name} is undefined, and given as 0: ") == 1


def test_entities_are_counted_by_hand() -> None:
    """Two of four are found; of the other two, one lacks its last word, one is of another kind."""
    references = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC", "I-LOC"], ["B-PER", "B-PER", "O"], ["O"]]
    predictions = [["B-PER", "I-PER", "O", "B-ORG"], ["O", "B-LOC", "O"], ["B-PER", "I-PER", "O"], ["B-LOC"]]
    measured = metrics.compute_all("entities", predictions, references)
    assert measured == pytest.approx({"precision": 1 / 5, "recall": 1 / 5, "f1": 1 / 5})
    references[2], predictions[2] = ["I-PER", "B-PER", "O"], ["B-PER", "B-PER", "O"]
    measured = metrics.compute_all("entities", predictions, references)
    assert measured == pytest.approx({"precision": 3 / 6, "recall": 3 / 5, "f1": 6 / 11})
    assert metrics.compute_all("entities", [["O", "O"]], [["O", "O"]]) == {"precision": 0, "recall": 0, "f1": 0}


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
    assert metrics.compute_all("entities", predictions, references) == pytest.approx(expected, abs=1e-12)
    assert 0 < expected["f1"] < 1


@pytest.mark.slow
def test_modules_load_by_path_in_a_process_that_knows_nothing_else(tmp_path: Path) -> None:
    """`evaluate` copies the module and reads its imports with a pattern of its own, `import a, b` as one package."""
    code = (
        "import evaluate, sys\n"
        "for path in sys.argv[1:]:\n"
        "    metric = evaluate.load(path, keep_in_memory=True)\n"
        "    values = [['O'], ['B-X']] if 'entities' in path or 'squad' in path else [0, 1]\n"
        "    answers = [{'text': 'B-X', 'no_answer_score': 0.0}] * 2\n"
        "    print(metric.compute(predictions=answers if 'squad' in path else values, references=values))\n"
        "assert not any(name.startswith('hf_lecture_models') for name in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *(str(FOLDER / f"{name}.py") for name in NAMES)],
        cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_MODULES_CACHE": str(tmp_path / "modules")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(done.stdout.splitlines()) == len(NAMES) >= 2
