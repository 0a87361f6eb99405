# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Metrics are local modules of `evaluate` that need no network."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hf_lecture_models.tasks import metrics
from hf_lecture_models.tasks.metrics.entities import entities
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


@pytest.mark.parametrize("prefixes", ["B", "BI", "I", "BIES"])
def test_entities_are_those_of_seqeval(prefixes: str) -> None:
    """Tags at random, so that most sequences are not well formed."""
    seqeval = pytest.importorskip("seqeval.metrics")
    tags = ["O", *(f"{prefix}-{kind}" for prefix in prefixes for kind in ("place", "creative-work", "person"))]
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 9, size=400)
    predictions, references = ([rng.choice(tags, size=n).tolist() for n in lengths] for _ in range(2))
    assert {(kind, first, last + 1) for kind, first, last in seqeval.sequence_labeling.get_entities(references[0])} == (
        entities(references[0])
    )
    expected = {
        name: getattr(seqeval, f"{name}_score")(references, predictions) for name in ("precision", "recall", "f1")
    }
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
