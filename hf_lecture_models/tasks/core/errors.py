# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The wrong predictions of a model on labelled rows: as a table in a file, and as a few lines for a terminal."""

import csv
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_lecture_models.io.files import staged_file

SUFFIXES = (".csv", ".tsv", ".jsonl")
"""The suffixes of the files that `write_errors` writes."""
_MOST_CLASSES = 10
_MOST_CONFUSIONS = 5
_WORST = 3
# Columns of a file that a line for a terminal has no room for.
_LEFT_OUT = ("where", "context", "sentence")
_LONGEST_NAME, _LONGEST_TEXT = 14, 100


@dataclass(frozen=True)
class Errors:
    """The wrong predictions of a model, worst first.

    Attributes:
        rows: the wrong predictions as rows of a table. `gold` is the right answer, `predicted` the model's, and the
            last columns say how wrong it is and where the row is.
        count: the number of all predictions, also the right ones.
        pairs: how often each right class was predicted as each class, also as itself, by both names; None: the answers
            are not classes.
        by: how the rows are ordered, for answers that are not right or wrong, but near or far; "": the rows are those
            with a wrong answer.
    """

    rows: list[dict[str, Any]]
    count: int
    pairs: Counter[tuple[str, str]] | None = None
    by: str = ""


def errors_of_classes(items: Sequence[Mapping[str, Any]]) -> Errors:
    """Return the items whose `predicted` is not `gold`, by falling `score` if they have one, with the counts of all.

    >>> found = errors_of_classes([{"gold": "x", "predicted": "y", "score": 0.6}, {"gold": "x", "predicted": "x"}])
    >>> len(found.rows), found.pairs
    (1, Counter({('x', 'y'): 1, ('x', 'x'): 1}))
    """
    wrong = [dict(item) for item in items if item["gold"] != item["predicted"]]
    pairs = Counter((str(item["gold"]), str(item["predicted"])) for item in items)
    return Errors(sorted(wrong, key=lambda item: -item.get("score", 0.0)), len(items), pairs)


def write_errors(errors: Errors, path: str | os.PathLike[str]) -> None:
    """Write the wrong predictions as a table in UTF-8, worst first: .csv, .tsv, or .jsonl.

    Values are written as they are. A list is a cell with its JSON form in .csv and .tsv. A table without errors has no
    rows; then .csv and .tsv have the columns `gold` and `predicted`.

    Raises:
        ValueError: the file has another suffix.
        OSError: it cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{os.fspath(path)} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    with staged_file(path) as stage, stage.open("w", encoding="utf-8", newline="") as file:
        if suffix == ".jsonl":
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in errors.rows)
            return
        columns = list(errors.rows[0]) if errors.rows else ["gold", "predicted"]
        # Texts are quoted: a carriage return in one would end its row.
        delimiter = "," if suffix == ".csv" else "\t"
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(columns)
        writer.writerows([_cell(row.get(column)) for column in columns] for row in errors.rows)


def _cell(value: Any) -> Any:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return float(f"{value:.6g}") if isinstance(value, float) else value


def report_errors(errors: Errors, part: str) -> list[str]:
    """Return lines on the errors: a table of confusions, the most frequent confusions, or the worst predictions.

    >>> pairs = Counter({("bad", "bad"): 41, ("bad", "good"): 9, ("good", "good"): 50})
    >>> print(*report_errors(Errors([{}] * 9, 100, pairs), "validation data"), sep="\\n")
    9 of 100 wrong on the validation data; rows are right classes, columns the predicted ones:
              bad  good
         bad   41     9
        good    0    50

    Args:
        part: the name of the data.
    """
    head = f"{len(errors.rows):,} of {errors.count:,} wrong on the {part}"
    if not errors.rows:
        return [head]
    if errors.pairs is None:
        said = f"the {part}: those with the {errors.by}" if errors.by else f"{head}; the worst"
        return [f"{said}:", *(f"    {_in_a_line(row)}" for row in errors.rows[:_WORST])]
    names = list(dict.fromkeys(name for pair in sorted(errors.pairs) for name in pair))
    if len(names) <= _MOST_CLASSES:
        table = f"{head}; rows are right classes, columns the predicted ones:"
        return [table, *_confusion_table(errors.pairs, sorted(names))]
    return [f"{head}; the most frequent confusions:", *_confusions(errors.pairs)]


def _confusion_table(pairs: Counter[tuple[str, str]], names: Sequence[str]) -> list[str]:
    shown = [_short(name, _LONGEST_NAME) for name in names]
    counts = [[f"{pairs[gold, own]:,}" for own in names] for gold in names]
    rows = [["", *shown], *([name, *own] for name, own in zip(shown, counts, strict=True))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["    " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]


def _confusions(pairs: Counter[tuple[str, str]]) -> list[str]:
    examples: Counter[str] = Counter()
    for (gold, _), count in pairs.items():
        examples[gold] += count
    wrong = Counter({pair: count for pair, count in pairs.items() if pair[0] != pair[1]})
    return [
        f"    {_short(gold, 30)} predicted as {_short(own, 30)}: {count:,} of {examples[gold]:,}"
        for (gold, own), count in wrong.most_common(_MOST_CONFUSIONS)
    ]


def _in_a_line(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_short(_cell(value))}" for name, value in row.items() if name not in _LEFT_OUT)


def _short(value: Any, longest: int = _LONGEST_TEXT) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
