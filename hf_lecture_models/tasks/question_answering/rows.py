# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Questions on texts with their right answers, read and checked."""

from typing import Any

from hf_lecture_models.data.reading import read_rows
from hf_lecture_models.data.recipe import DataRecipe
from hf_lecture_models.data.rows import Rows


def read_questions(recipe: DataRecipe, part: str) -> Rows | None:
    """Read a part with the columns `id`, `context`, `question` and, except in the part "predict", `answers`.

    Data sets of the Hub hold the answers to a question as `{"text": [...], "answer_start": [...]}`, SQuAD's files as a
    list of `{"text": ..., "answer_start": ...}`; the first form is returned for both. Answers are empty if the text
    holds none. Rows without an `id` get their number in the part.

    Raises:
        ValueError: as `read_rows`; or a question or a text is missing, two questions have one id, or the text does not
            have an answer at its `answer_start`.
        OSError: as `read_rows`.
    """
    rows = read_rows(recipe, part, required=("context", "question"), optional=("id",), labels=("answers",))
    if rows is None:
        return None
    ids = [
        str(index + 1 if own is None else own) for index, own in enumerate(rows.columns.get("id") or [None] * len(rows))
    ]
    first: dict[str, int] = {}
    for index, own in enumerate(ids):
        if first.setdefault(own, index) != index:
            raise ValueError(f"{rows.where(index)} has the id {own!r} of {rows.where(first[own])}; ids must differ")
        for name in ("question", "context"):
            value = rows.columns[name][index]
            if not isinstance(value, str) or not value.strip():
                shown = "has no" if value is None or value == "" else f"has {value!r} in place of a"
                raise ValueError(f"{_where(rows, index, own)} {shown} {name}; add it, or leave the row out")
    columns = {"id": ids, "context": rows.columns["context"], "question": rows.columns["question"]}
    if "answers" in rows.columns:
        columns["answers"] = [_answers(rows, index, own, needs_place=part == "train") for index, own in enumerate(ids)]
    return rows.with_columns(columns)


def has_unanswerable(data: Rows | None) -> bool:
    """Return whether there is a question whose text holds no answer."""
    return data is not None and any(not answers["text"] for answers in data.columns.get("answers", ()))


def _where(rows: Rows, index: int, own: str) -> str:
    return f"{rows.where(index)} (question {own})"


def _answers(rows: Rows, index: int, own: str, needs_place: bool) -> dict[str, list[Any]]:
    given, where = rows.columns["answers"][index], _where(rows, index, own)
    if isinstance(given, list):
        given = _as_lists(given, where)
    if not isinstance(given, dict) or not isinstance(given.get("text"), list):
        raise ValueError(
            f"{where}: answers are {given!r}, not {{text: [...], answer_start: [...]}}; [] where there are none"
        )
    texts, starts = given["text"], given.get("answer_start")
    starts = [] if starts is None and not texts else starts
    if starts is None and needs_place:
        raise ValueError(f"{where}: its answers have no answer_start, by which training finds them in the context")
    if starts is not None and (not isinstance(starts, list) or len(starts) != len(texts)):
        raise ValueError(f"{where}: {len(texts)} answers, but answer_start is {starts!r}; give each one its own")
    for text, start in zip(texts, starts or [None] * len(texts), strict=True):
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{where}: an answer is {text!r}, no text; a question without an answer has none")
        if start is not None:
            _check_place(rows.columns["context"][index], text, start, where)
    return {"text": texts, **({} if starts is None else {"answer_start": starts})}


def _as_lists(given: list[Any], where: str) -> dict[str, Any]:
    for answer in given:
        if not isinstance(answer, dict) or "text" not in answer:
            raise ValueError(f"{where}: an answer is {answer!r}, not {{text: ..., answer_start: ...}}")
    places = [answer.get("answer_start") for answer in given]
    has_none = bool(places) and all(place is None for place in places)
    return {"text": [answer["text"] for answer in given], "answer_start": None if has_none else places}


def _check_place(context: str, text: str, start: Any, where: str) -> None:
    is_place = isinstance(start, int) and not isinstance(start, bool) and start >= 0
    if not is_place or context[start : start + len(text)] != text:
        found = f", where {context[start : start + len(text)]!r} stands" if is_place else ""
        right = context.find(text)
        fix = f"the first one is at {right}" if right >= 0 else "it is nowhere in it"
        raise ValueError(
            f"{where}: its answer {text!r} is not at character {start!r} of the context{found}; {fix}: correct "
            "answer_start, or leave the question out"
        )
