# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""SQuAD's files of questions: one JSON object of articles, paragraphs and questions."""

import json
import re
from pathlib import Path
from typing import Any

from hf_lecture_models.io.packing import is_damage, packing_of, packing_of_name, unpacked

_BEGINNING = re.compile(r'\s*\{\s*("version"\s*:\s*[^,]*,\s*)?"data"\s*:\s*\[')
_SHOWN = 60


def read_squad_json(path: Path, name: str) -> dict[str, list[Any]] | None:
    """Read the columns `id`, `context`, `question` and, if any question has answers, `answers`; None for other JSON.

    A question that `is_impossible` has the empty list of answers.

    Args:
        path: the file, packed or not.
        name: the name of the file in messages.

    Raises:
        ValueError: the file is damaged, or a paragraph has no context or no questions, or a value has a wrong type.
        OSError: the file cannot be read.
    """
    packing = None
    try:
        with path.open("rb") as packed:
            packing = packing_of(packed.peek(8)) or packing_of_name(path)
            file = unpacked(packed, packing)
            content = file.read(1024)
            if not _BEGINNING.match(content.decode("utf-8-sig", errors="ignore")):
                return None
            content += file.read()
        articles = json.loads(content.decode("utf-8-sig"))["data"]
    except RecursionError:
        raise ValueError(
            f"{name} cannot be read as json: its brackets are nested too deeply; restore the file"
        ) from None
    except ValueError as error:
        if getattr(error, "msg", "") == "Extra data":  # JSON lines
            return None
        raise ValueError(f"{name} cannot be read as json: {error}") from None
    except Exception as error:
        if packing is None or not is_damage(error):
            raise
        raise OSError(f"{name}: damaged {packing} file ({error}); copy it again") from None
    if not all(isinstance(article, dict) and isinstance(article.get("paragraphs"), list) for article in articles):
        return None
    rows = [row for article in articles for row in _questions(article, name)]
    # Files of questions to predict have no answers.
    has_answers = any("answers" in row for row in rows)
    names = ("id", "context", "question", *(("answers",) if has_answers else ()))
    return {column: [row.get(column) for row in rows] for column in names}


def _questions(article: dict[str, Any], name: str) -> list[dict[str, Any]]:
    rows = []
    for number, paragraph in enumerate(article["paragraphs"], start=1):
        where = f"{name}: paragraph {number} of the article {article.get('title') or 'without a title'!r}"
        if not isinstance(paragraph, dict):
            raise ValueError(
                f"{where} is {_shown(paragraph)}, not {{context: ..., qas: [...]}}; correct it or take it out"
            )
        missing = [key for key in ("context", "qas") if key not in paragraph]
        if missing:
            raise ValueError(f"{where} has no {missing[0]}")
        questions = paragraph["qas"]
        if not isinstance(questions, list):
            raise ValueError(f"{where}: qas is {_shown(questions)}, not a list of questions; correct it or take it out")
        for question in questions:
            if not isinstance(question, dict):
                raise ValueError(
                    f"{where}: a question is {_shown(question)}, not {{id: ..., question: ..., answers: [...]}}; "
                    "correct it or take it out"
                )
            row = {key: question[key] for key in ("id", "question", "answers") if key in question}
            rows.append(
                {**row, "context": paragraph["context"]} | ({"answers": []} if question.get("is_impossible") else {})
            )
    return rows


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
