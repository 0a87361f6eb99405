# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Rows of texts with places of words to predict: drawn by `synthetic_texts.py`, or read from files."""

from dataclasses import dataclass
from typing import Any

from hf_lecture_models.data.reading import read_rows
from hf_lecture_models.data.recipe import RowsRecipe
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.language_models.synthetic_texts import GENERATORS, TextShape, synthetic_rows

_PARTS = ("train", "validation", "test")


@dataclass(kw_only=True)
class RecallRowsRecipe(RowsRecipe):
    """A recipe of rows of `text` and `answers`, which are drawn if it names no data to train on."""

    texts: str = setting(
        "associative_recall",
        "what is drawn if no data to train on are named: pairs of key and value with the keys asked for again, words "
        "to copy, words that begin again anywhere, or lists of operations",
        choices=tuple(GENERATORS),
    )
    length: int = setting(64, "words of a drawn text; of list_operations the most", least=3)
    words: int = setting(64, "different words of drawn texts, half of them keys and half values", least=1)
    pairs: list[int] = setting([4], "pairs of a key and a value in drawn texts: one of these numbers in each text")
    depth: int = setting(4, "lists within each other, of list_operations", least=1)
    train_size: int = setting(20_000, "drawn texts to train on", least=1)
    validation_size: int = setting(500, "drawn texts for validation; 0: none", least=0)
    test_size: int = setting(0, "drawn texts for the results on the model's card; 0: none", least=0, free=True)
    data_seed: int = setting(0, "from which texts are drawn, others for each part", least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.pairs or any(not isinstance(pairs, int) or pairs < 1 for pairs in self.pairs):
            raise ValueError(f"recipe: pairs must be numbers of at least 1, such as [4, 8], not {self.pairs}")

    @property
    def is_drawn(self) -> bool:
        """True if texts are drawn, because the recipe names no data to train on."""
        return not (self.train_files or self.train_rows or self.dataset_name)


def read_recall(recipe: RecallRowsRecipe, part: str) -> Rows | None:
    """Read or draw a part: rows of `text`, with blanks between its words, and `answers`, places of words from 0.

    Rows of the part "predict" may have no answers: then the word after the text is predicted.

    Raises:
        ValueError: as `read_rows` and `synthetic_rows`; or a row has no words, or its answers are not a list of
            different places in it in rising order.
        OSError: as `read_rows`.
    """
    if recipe.is_drawn and part in _PARTS and not getattr(recipe, f"{part}_files") and not recipe.inline_rows(part):
        return _draw(recipe, part)
    is_measured = part != "predict"
    optional = () if is_measured else ("answers",)
    rows = read_rows(recipe, part, ("text",), optional, labels=("answers",) if is_measured else ())
    if rows is not None:
        for index, row in enumerate(rows):
            try:
                check_recall(row, "answers" in row)
            except ValueError as error:
                raise ValueError(f"{rows.where(index)}: {error}") from None
    return rows


def check_recall(row: Any, has_answers: bool) -> None:
    """Raise a ValueError unless a row has words and, if it `has_answers`, places of them.

    >>> check_recall({"text": "k1 v2 k1 v2", "answers": [3]}, has_answers=True)
    """
    text, answers = row["text"], row.get("answers")
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"text is {text!r}; give words with blanks between them")
    if not has_answers:
        return
    if not isinstance(answers, list) or not all(type(place) is int for place in answers) or not answers:
        raise ValueError(
            f"answers is {answers!r}; give a list of places of words to predict, 0 for the first word of the text "
            "(.jsonl, .json and .parquet files can hold lists)"
        )
    words = len(text.split())
    if sorted({*answers}) != answers or answers[0] < 0 or answers[-1] >= words:
        raise ValueError(
            f"answers is {answers!r}; the text has the places 0 to {words - 1}, and each counts once, in rising order"
        )


def _draw(recipe: RecallRowsRecipe, part: str) -> Rows | None:
    """Draw the texts of a part, with each number of pairs in turn."""
    number = getattr(recipe, f"{part}_size")
    kinds = recipe.pairs if recipe.texts == "associative_recall" else recipe.pairs[:1]
    drawn = [
        synthetic_rows(
            recipe.texts,
            len(range(turn, number, len(kinds))),
            (recipe.data_seed, _PARTS.index(part), turn),
            TextShape(recipe.length, recipe.words, pairs, recipe.depth),
        )
        for turn, pairs in enumerate(kinds)
    ]
    columns = {name: [value for rows in drawn for value in rows.columns[name]] for name in ("text", "answers")}
    return Rows(columns, [(f"{recipe.texts}, {part}", number)]) if number else None
