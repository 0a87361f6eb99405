# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The sets of MNLI's rows: matched, mismatched, and GLUE's diagnostic rows."""

from pathlib import Path

from hf_lecture_models.data.rows import Rows

MISMATCHED = "mismatched"
# The diagnostic rows of GLUE have these names in its own files and on the Hub.
_DIAGNOSTIC = ("ax.", "diagnostic", "split ax/")


def sets_of_mnli(data: Rows) -> dict[str, list[int]]:
    """Return the rows of MNLI's two sets and of GLUE's diagnostic one, by the names of their files or splits.

    >>> sets_of_mnli(Rows({"label": [0, 1, 2]}, [("dev_matched.tsv", 1), ("dev_mismatched.tsv", 2)]))
    {'MNLI-m': [0], 'MNLI-mm': [1, 2], 'AX': []}
    """
    sets: dict[str, list[int]] = {"MNLI-m": [], "MNLI-mm": [], "AX": []}
    first = 0
    for source, length in data.sources:
        name = source if source.startswith("split ") else Path(source).name
        is_diagnostic = name.lower().startswith(_DIAGNOSTIC)
        chosen = "AX" if is_diagnostic else "MNLI-mm" if MISMATCHED in name else "MNLI-m"
        sets[chosen].extend(range(first, first + length))
        first += length
    return sets


def parts_of_accuracy(data: Rows) -> dict[str, list[int]]:
    """Return the rows of each measure of MNLI: those of each set, or all rows unless both sets are there.

    >>> parts_of_accuracy(Rows({"label": [0, 1]}, [("dev_matched.tsv", 2)]))
    {'accuracy': [0, 1]}
    """
    matched, mismatched = (sets_of_mnli(data)[name] for name in ("MNLI-m", "MNLI-mm"))
    if not matched or not mismatched:
        return {"accuracy": list(range(len(data)))}
    return {"accuracy": matched, f"accuracy_{MISMATCHED}": mismatched}
