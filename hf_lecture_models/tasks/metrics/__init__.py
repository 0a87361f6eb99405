# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Metrics as local modules of the library `evaluate`, over scikit-learn, scipy and seqeval; they need no network.

`evaluate.load("hf_lecture_models/tasks/metrics/NAME.py")` also loads them. The library reads a module's imports with a
pattern of its own, which takes `import a, b` for one package: write one import per line.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from hf_lecture_models.io.runs import log_once


def compute(name: str, predictions: Sequence[Any], references: Sequence[Any]) -> float:
    """Compute a metric by its name; where it is undefined it is 0, and if the right answers make it so, a line says so.

    >>> compute("accuracy", predictions=[0, 1, 1], references=[0, 1, 0])
    0.6666666666666666

    Raises:
        ImportError: as `compute_all`.
    """
    return compute_all(name, predictions, references)[name]


def compute_all(name: str, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
    """Compute all numbers of a metric.

    >>> compute_all("entities", predictions=[["B-X", "O"]], references=[["B-X", "B-Y"]])["precision"]
    1.0

    Raises:
        ImportError: `evaluate` is not installed, or the library that the metric needs: scikit-learn, scipy, seqeval.
    """
    found = _load(name).compute(predictions=predictions, references=references)
    if name in _UNDEFINED and _UNDEFINED[name][0](references):
        _say_undefined(name)
    return {key: float(value) for key, value in found.items()}


@cache
def _say_undefined(name: str) -> None:
    """Log a line once: a run measures many times."""
    log_once(f"{name} is undefined, and given as 0: {_UNDEFINED[name][1]}")


def _is_constant(references: Sequence[Any]) -> bool:
    return len(set(references)) < 2


# Where the right answers themselves have no value: a test of the answers, and the reason in words.
_UNDEFINED: dict[str, tuple[Callable[[Sequence[Any]], bool], str]] = {
    **dict.fromkeys(("matthews_correlation", "pearson", "spearmanr"), (_is_constant, "all right answers are the same")),
    "f1": (lambda references: 1 not in references, "the class 1 is not among the right answers"),
    "entities": (lambda references: {*chain(*references)} <= {"O"}, "there are no entities among the right answers"),
}


@cache
def _load(name: str) -> Any:
    try:
        import evaluate

        return evaluate.load(str(Path(__file__).with_name(f"{name}.py")), keep_in_memory=True)
    except ImportError as error:
        needed = "evaluate, scikit-learn, scipy and seqeval"
        raise ImportError(f"metrics need {needed}: pip install 'hf-lecture-models[train]'") from error
