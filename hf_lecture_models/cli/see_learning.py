# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture see learning`: the loss and the measures of a training run, step by step."""

from pathlib import Path
from typing import Any

from hf_lecture_models.analysis.figures import save_learning_curve
from hf_lecture_models.cli.io import print_columns, print_json
from hf_lecture_models.io.saved_json import read_fields


def run(folder: Path, output: Path | None, json: bool) -> None:
    """Print the history of a run, and draw its learning curve."""
    record = read_record(folder)
    if json:
        for row in record["history"]:
            print_json(row)
    else:
        _print_table(record["history"], f"validation_{record.get('metric')}", record.get("best_metric"))
    if output is not None:
        save_learning_curve(record["history"], output)


def read_record(folder: Path) -> dict[str, Any]:
    """Return the `training.json` of a folder.

    Raises:
        OSError: the folder has no such file.
        ValueError: it is damaged, or holds no history.
    """
    path = folder / "training.json"
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}; name the folder of a model that a training script has written")
    record = read_fields(path)
    if not record.get("history"):
        raise ValueError(f"{path} has no history: the run ended before its first entry")
    return record


def _print_table(history: list[dict[str, Any]], measure: str, best: float | None) -> None:
    """Print a line for each step with its loss, the learning rate, and the measure that chose the weights.

    The step of the weights that were kept, the first with the best value, is marked.
    """
    columns = [name for name in ("epoch", "loss", "learning_rate", measure) if any(name in row for row in history)]
    steps: dict[int, dict[str, Any]] = {}
    for row in history:
        steps[row["step"]] = steps.get(row["step"], {}) | row
    rows = [["step", *(name.replace("_", " ") for name in columns)]]
    for step, row in steps.items():
        rows.append([f"{step:,}", *(f"{row[name]:.4g}" if name in row else "" for name in columns)])
    kept = next((step for step, row in steps.items() if best is not None and row.get(measure) == best), None)
    if kept is not None:
        rows = [[*cells, "kept" if step == kept else ""] for cells, step in zip(rows, [None, *steps], strict=True)]
    print_columns(rows)
