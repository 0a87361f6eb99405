# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Metrics as local modules of the library `evaluate`, over scikit-learn, scipy and seqeval; they need no network.

`evaluate.load("hf_lecture_models/tasks/metrics/NAME.py")` also loads them. The library reads a module's imports with a
pattern of its own, which takes `import a, b` for one package: write one import per line.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any


def compute(name: str, predictions: Sequence[Any], references: Sequence[Any]) -> float:
    """Compute a metric by its name.

    >>> compute("accuracy", predictions=[0, 1, 1], references=[0, 1, 0])
    0.6666666666666666

    Raises:
        ImportError: as `compute_all`.
    """
    return float(_load(name).compute(predictions=predictions, references=references)[name])


def compute_all(name: str, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
    """Compute all numbers of a metric.

    >>> compute_all("entities", predictions=[["B-X", "O"]], references=[["B-X", "B-Y"]])["precision"]
    1.0

    Raises:
        ImportError: `evaluate` is not installed, or the library that the metric needs: scikit-learn, scipy, seqeval.
    """
    return {
        key: float(value) for key, value in _load(name).compute(predictions=predictions, references=references).items()
    }


@cache
def _load(name: str) -> Any:
    try:
        import evaluate

        return evaluate.load(str(Path(__file__).with_name(f"{name}.py")), keep_in_memory=True)
    except ImportError as error:
        needed = "evaluate, scikit-learn, scipy and seqeval"
        raise ImportError(f"metrics need {needed}: pip install 'hf-lecture-models[train]'") from error
