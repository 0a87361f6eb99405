# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Read the records of benchmarks, claims and trained models by the path of a value."""

import json
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@cache
def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def record(name: str, *path: Any) -> Any:
    """Return a value of `benchmarks/results/NAME.json`.

    Args:
        name: of the benchmark.
        path: keys and indices. A dict selects the row that has these values from a list, a dict in a list all rows that
            have them; "*" takes all values. The rest of the path is then followed in each that has it.

    >>> 0 < record("ngram_wikitext2", "rows", {"order": 3, "smoothing": "katz"}, "fit_cpu_s") < 1000
    True
    """
    return follow(_read(ROOT / "benchmarks" / "results" / f"{name}.json")["results"], *path)


def facts(name: str, *path: Any) -> Any:
    """Return a value of a trained recipe's facts, `hub_cards/facts/NAME.json`."""
    return follow(_read(ROOT / "hub_cards" / "facts" / f"{name}.json"), *path)


def claim(name: str, *path: Any) -> Any:
    """Return a value of a claim's record."""
    path_of_record = ROOT / "hf_lecture_models" / "lab" / "claims" / "records" / f"{name}.json"
    return follow(_read(path_of_record)["results"], *path)


def follow(value: Any, *path: Any) -> Any:
    """Follow a path; see `record`.

    >>> rows = [{"order": 2, "x": 5}, {"order": 3, "x": 6}, {"order": 4}]
    >>> follow(rows, {"order": 3}, "x"), follow(rows, "*", "x"), follow(rows, [{"order": 2}], "x")
    (6, [5, 6], [5])
    """
    if not path:
        return value
    step, *rest = path
    if step == "*" or isinstance(step, list):
        found = value.values() if isinstance(value, dict) else value
        found = [one for one in found if step == "*" or step[0].items() <= one.items()]
        return [follow(one, *rest) for one in found if not rest or not isinstance(rest[0], str) or rest[0] in one]
    if isinstance(step, dict):
        (row,) = (row for row in value if step.items() <= row.items())
        return follow(row, *rest)
    return follow(value[step], *rest)
