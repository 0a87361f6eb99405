# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A small answerer of transformers itself, whose tokenizer splits words in pieces, and a few questions on texts."""

import json
from pathlib import Path
from typing import Any

import torch
from transformers import BertForQuestionAnswering, TokenizersBackend

from tests.tasks.small_bert import bert_config, piece_tokenizer

_ADA = "Ada Lovelace met Charles Babbage in London. They saw New York."
_LONG = "The old man reads a book in Berlin, and a young cat sleeps on the mat of Ada Lovelace in New York."
# Question, text, answers.
_QUESTIONS: list[tuple[str, str, list[str]]] = [
    ("Who met Charles Babbage?", _ADA, ["Ada Lovelace", "Ada"]),
    ("Where did Ada meet Babbage?", _ADA, ["London", "in London"]),
    ("Who sleeps?", _ADA, []),
    ("Who reads?", _LONG, ["The old man"]),
    ("Who sleeps?", _LONG, ["a young cat", "cat"]),
    ("Whose is the mat?", _LONG, ["Ada Lovelace"]),
    ("Where does the man read?", _LONG, ["Berlin"]),
    ("What did they see?", _ADA, ["New York"]),
    ("Who met in Berlin?", _LONG, []),
    ("Where is the cat?", _LONG, ["New York", "on the mat"]),
]
ROWS: list[dict[str, Any]] = [
    {
        "id": f"q{number}",
        "question": question,
        "context": text,
        "answers": {"text": answers, "answer_start": [text.index(answer) for answer in answers]},
    }
    for number, (question, text, answers) in enumerate(_QUESTIONS)
]
ANSWERABLE = [row for row in ROWS if row["answers"]["text"]]
_PIECES = ["love", "##lace", "bab", "##bage", "lon", "##d", "##on"]


def _vocabulary() -> list[str]:
    text = " ".join(f"{question} {context}" for question, context, _ in _QUESTIONS).lower()
    words = {word.strip(".,?") for word in text.split()} - {"lovelace", "babbage", "london"}
    return [*sorted(words), *".,?", *_PIECES]


def small_tokenizer(**options: Any) -> TokenizersBackend:
    """BERT's, with pieces of words."""
    return piece_tokenizer(_vocabulary(), **options)


def small_bert(**fields: Any) -> BertForQuestionAnswering:
    """One layer of 8, without dropout."""
    torch.manual_seed(32)  # by which some of the questions get no answer
    config = bert_config(len(small_tokenizer()), **{"max_position_embeddings": 64, **fields})
    return BertForQuestionAnswering(config).eval()


def save_small_bert(folder: Path, **options: Any) -> Path:
    """A folder with model and tokenizer."""
    small_bert().save_pretrained(folder)
    small_tokenizer(**options).save_pretrained(folder)
    return folder


def squad_json(rows: list[dict[str, Any]] = ROWS, with_answers: bool = True) -> dict[str, Any]:
    """The rows as a file of SQuAD 2.0 has them, one article."""
    paragraphs = []
    for context in dict.fromkeys(row["context"] for row in rows):
        questions = []
        for row in (row for row in rows if row["context"] == context):
            answers = [{"text": t, "answer_start": s} for t, s in zip(*row["answers"].values(), strict=True)]
            shown = {"answers": answers, "is_impossible": not answers} if with_answers else {}
            questions.append({"id": row["id"], "question": row["question"], **shown})
        paragraphs.append({"context": context, "qas": questions})
    return {"version": "v2.0", "data": [{"title": "Some", "paragraphs": paragraphs}]}


def write_squad(path: Path, rows: list[dict[str, Any]] = ROWS, with_answers: bool = True) -> Path:
    """A file of SQuAD."""
    path.write_text(json.dumps(squad_json(rows, with_answers)), encoding="utf-8")
    return path
