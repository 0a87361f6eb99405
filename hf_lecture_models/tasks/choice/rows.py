# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Rows of multiple-choice benchmarks in one form: a context, its choices, and the right choice.

SWAG (Zellers et al. 2018): the context is the first sentence, and a choice is the beginning of the second one with an
ending. COPA (Roemmele et al. 2011) and Balanced COPA (Kavumba et al. 2019): the context is the premise followed by a
question in the words of SuperGLUE's baseline (Wang et al. 2019); GPT-1 also reads a question between its document and
the delimiter. ARC (Clark et al. 2018): the context is the question.
"""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_lecture_models.data.reading import read_rows
from hf_lecture_models.data.recipe import DataRecipe
from hf_lecture_models.data.rows import UNLABELLED, Rows
from hf_lecture_models.io.files import staged_file, write_file

_COPA_QUESTIONS = {"cause": "What was the cause of this?", "effect": "What happened as a result?"}
_ENDINGS = [f"ending{number}" for number in range(4)]
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Row = Mapping[str, Any]
Choices = tuple[str, list[str], list[str]]
"""A context, its choices, and the benchmark's names for these."""


@dataclass(frozen=True)
class ChoiceForm:
    """A benchmark's form of multiple-choice rows.

    Attributes:
        columns: the columns of each row besides its label.
        read: returns a row's context, its choices and their names, or raises a ValueError.
        write: writes the number of each row's choice into a file, in the benchmark's format.
    """

    columns: tuple[str, ...]
    read: Callable[[Row], Choices]
    write: Callable[[Rows, Sequence[int], Path], None]


def read_choices(form: ChoiceForm, recipe: DataRecipe, part: str) -> Rows | None:
    """Read a part of a recipe's data: rows of `context`, `choices` (texts), `names` (of choices), `label` (int), `id`.

    The label is a number from 0; rows of the part "predict" have none. The id is the benchmark's own.

    Raises:
        ValueError: as `read_rows`; or a row has fewer than two choices, an empty choice, or an unknown label.
        OSError: a file is missing or cannot be read.
    """
    rows = read_rows(recipe, part, form.columns, optional=("id",), labels=("label",))
    if rows is None:
        return None
    ids = rows.columns.get("id") or range(len(rows))
    columns: dict[str, list[Any]] = {"context": [], "choices": [], "names": [], "label": [], "id": list(ids)}
    for index, row in enumerate(rows):
        try:
            context, choices, names = form.read(row)
            label = None if part == "predict" else read_label(row["label"], names)
        except ValueError as error:
            raise ValueError(f"{rows.where(index)}: {error}") from None
        for name, value in (("context", context), ("choices", choices), ("names", names), ("label", label)):
            columns[name].append(value)
    if part == "predict":
        del columns["label"]
    return rows.with_columns(columns)


def check_choices(choices: Any) -> None:
    """Raise a ValueError unless `choices` is a list of two texts at least, none of them blank.

    >>> check_choices(["it rained", "it snowed"])
    """
    if not isinstance(choices, list):
        raise ValueError(f"choices is {choices!r}, no list; .jsonl, .json and .parquet files can hold lists")
    for number, choice in enumerate(choices):
        if not isinstance(choice, str):
            raise ValueError(f"choice {number} is {choice!r}, no text")
        if not choice.strip():
            raise ValueError(f"choice {number} is empty; write it, or leave the row out")
    if len(choices) < 2:
        raise ValueError(f"it has {len(choices)} choice{'s' * (not choices)}, but two at least are needed")


def read_label(value: Any, names: Sequence[str], advice: str = UNLABELLED) -> int:
    """Return the number of the right choice; a label is that number or, as a text, the choice's name.

    >>> read_label("B", ["A", "B"]), read_label("1", ["A", "B"]), read_label(0.0, ["A", "B"])
    (1, 1, 0)

    Args:
        advice: for a row without a label.

    Raises:
        ValueError: the label is missing, or none of the choices.
    """
    # A missing label turns a column's integers into floats, and is itself NaN.
    if value is None or value == "" or value in (-1, "-1") or value != value:
        raise ValueError(f"it has no label, as the rows of a test set; {advice}")
    if isinstance(value, str) and value in names:
        return names.index(value)
    try:
        number = -1 if isinstance(value, bool) or float(value) % 1 else int(float(value))
    except (TypeError, ValueError):
        number = -1
    if not 0 <= number < len(names):
        called = "" if names == _numbers(names) else f", or {', '.join(names)}"
        raise ValueError(
            f"label {value!r} is none of its {len(names)} choices, which are 0 to {len(names) - 1}{called}"
        )
    return number


def _text(row: Row, column: str, may_be_empty: bool = False) -> str:
    value = row[column]
    if not isinstance(value, str):
        raise ValueError(f"{column} is {value!r}, no text")
    if not value.strip() and not may_be_empty:
        raise ValueError(f"{column} is empty; write it, or leave the row out")
    return value


def _numbers(choices: Sequence[Any]) -> list[str]:
    return [str(number) for number in range(len(choices))]


def _read_own(row: Row) -> Choices:
    check_choices(choices := row["choices"])
    return _text(row, "context", may_be_empty=True), choices, _numbers(choices)


def _read_swag(row: Row) -> Choices:
    begin = _text(row, "sent2", may_be_empty=True)
    return _text(row, "sent1"), [f"{begin} {_text(row, name)}".lstrip() for name in _ENDINGS], _numbers(_ENDINGS)


def _read_copa(row: Row) -> Choices:
    """
    >>> row = {"premise": "The man turned on the faucet.", "question": "effect"}
    >>> _read_copa(row | {"choice1": "Water flowed.", "choice2": "The toilet filled."})[0]
    'The man turned on the faucet. What happened as a result?'
    """
    names = ["choice1", "choice2"]
    question = _text(row, "question")
    if question not in _COPA_QUESTIONS:
        raise ValueError(f"question is {question!r}, neither {' nor '.join(_COPA_QUESTIONS)}")
    context = f"{_text(row, 'premise')} {_COPA_QUESTIONS[question]}"
    return context, [_text(row, name) for name in names], names


def _read_arc(row: Row) -> Choices:
    choices: Any = row["choices"]
    names = None
    if isinstance(choices, dict):  # on the Hub a mapping of letters and texts
        choices, names = choices.get("text"), choices.get("label")
    check_choices(choices)
    names = list(_LETTERS[: len(choices)]) if names is None else [str(name) for name in names]
    if len(names) != len(choices):
        raise ValueError(f"it has {len(choices)} choices, and names for {len(names)} of them")
    return _text(row, "question"), choices, names


def _write_json_lines(data: Rows, predictions: Sequence[int], path: Path) -> None:
    """Write a line {"idx": id, "label": number of the choice} for each row, in SuperGLUE's format for COPA."""
    rows = zip(data.columns["id"], predictions, strict=True)
    write_file(path, "".join(f"{json.dumps({'idx': id_, 'label': label})}\n" for id_, label in rows))


def _write_swag(data: Rows, predictions: Sequence[int], path: Path) -> None:
    """Write a table of each row's number and choice, in the format of SWAG's own script csv_predict.py."""
    _write_csv([("", "pred"), *enumerate(predictions)], path)


def _write_arc(data: Rows, predictions: Sequence[int], path: Path) -> None:
    """Write a line with the id of a question and the letter of its choice for each row, for ARC's leaderboard."""
    rows = zip(data.columns["id"], data.columns["names"], predictions, strict=True)
    _write_csv([(id_, names[number]) for id_, names, number in rows], path)


def _write_csv(rows: Sequence[Sequence[Any]], path: Path) -> None:
    with staged_file(path) as stage, stage.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


FORMS = {
    "own": ChoiceForm(("context", "choices"), _read_own, _write_json_lines),
    "swag": ChoiceForm(("sent1", "sent2", *_ENDINGS), _read_swag, _write_swag),
    "copa": ChoiceForm(("premise", "choice1", "choice2", "question"), _read_copa, _write_json_lines),
    "arc": ChoiceForm(("question", "choices"), _read_arc, _write_arc),
}
"""The forms of rows by name: that of other data, and those of benchmarks."""
