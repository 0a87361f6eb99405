# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which columns of a file hold the columns of a task, guessed from their usual names, or from their values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from hf_lecture_models.data.dataset_loading import load_files
from hf_lecture_models.data.files import READERS, find_file
from hf_lecture_models.data.reading import open_table
from hf_lecture_models.data.recipe import DataRecipe
from hf_lecture_models.data.tables import TABLE_SUFFIXES
from hf_lecture_models.io.packing import file_suffix

USUAL_NAMES: dict[str, tuple[str, ...]] = {
    "text": (
        *("text", "sentence", "review", "tweet", "comment", "content", "message", "body", "document", "utterance"),
        *("post", "headline", "title", "description", "abstract", "summary", "question", "query", "input", "texts"),
    ),
    "label": (
        *("label", "labels", "class", "category", "target", "sentiment", "gold_label", "gold", "answer", "answerkey"),
        *("topic", "intent", "emotion", "stance", "polarity", "rating", "stars", "score", "similarity", "correct", "y"),
    ),
    "tokens": ("tokens", "words", "form", "token", "word", "sentence", "text"),
    "tags": ("tags", "ner_tags", "pos_tags", "upos", "upos_tags", "labels", "tag", "ner", "pos", "xpos", "label"),
    "context": (
        "context",
        "passage",
        "paragraph",
        "question",
        "prompt",
        "premise",
        "stem",
        "query",
        "text",
        "document",
    ),
    "question": ("question", "query"),
    "answers": ("answers", "answer"),
    "choices": ("choices", "options", "endings", "candidates", "alternatives", "answers"),
    "source": ("source", "src", "input", "original"),
    "target": ("target", "tgt", "trg", "translation", "output", "reference"),
}
"""Usual names of columns in files, by the names of the tasks, the most usual first."""
PAIRS = (
    *(("text", "text_pair"), ("sentence1", "sentence2"), ("premise", "hypothesis"), ("question1", "question2")),
    *(("text1", "text2"), ("text_a", "text_b"), ("sentence_a", "sentence_b"), ("sent1", "sent2")),
    *(("question", "sentence"), ("query", "passage"), ("question", "passage"), ("#1 string", "#2 string")),
)
"""Usual names of the two texts of a pair, in small letters."""
_ROWS_LOOKED_AT = 500
_FEWEST_BLANKS = 4  # of a sentence that stands where the name of a column should


@dataclass(frozen=True)
class Peek:
    """The beginning of a file.

    Attributes:
        names: the names of its columns.
        values: the first values of each column, {} for files that say themselves what their columns are.
    """

    names: list[str]
    values: dict[str, list[Any]]


def peek(name: str, recipe: DataRecipe) -> Peek:
    """Return the names of a file's columns, and their first values.

    Raises:
        ValueError, OSError: the file cannot be read as a table.
    """
    suffix = file_suffix(name)
    if suffix in TABLE_SUFFIXES:
        table = open_table(name, recipe)
        _refuse_other_separators(name, table.column_names)
        rows = [fields for _, fields in islice(table.rows(), _ROWS_LOOKED_AT)]
        return Peek(table.column_names, {own: [row[i] for row in rows] for i, own in enumerate(table.column_names)})
    if suffix == ".txt":
        find_file(name)
        return Peek(["text"], {})
    own = READERS[suffix](find_file(name), name, True) if suffix in READERS else None
    if own is not None:
        return Peek(list(getattr(own, "column_names", None) or own), {})
    rows = load_files([name], streaming=False).flatten()
    return Peek(rows.column_names, rows[:_ROWS_LOOKED_AT])


def _refuse_other_separators(name: str, names: Sequence[str]) -> None:
    """Raise a ValueError for a table of one column whose name has a semicolon or a tab in it."""
    for sign, shown in ((";", "semicolons"), ("\t", "tabs")) if len(names) == 1 else ():
        if sign in names[0]:
            fix = "name the file .tsv" if sign == "\t" else "save it with commas, or as .tsv with tabs"
            raise ValueError(f"{name}: its columns are separated by {shown}; {fix}")


def guess_columns(file: Peek, wanted: Sequence[str], fixed: Mapping[str, str]) -> dict[str, str]:
    """Return the names of a file's columns by the task's own names; those that are not found are missing.

    >>> guess_columns(Peek(["id", "review", "Sentiment"], {}), ["text", "text_pair", "label"], {})
    {'text': 'review', 'label': 'Sentiment'}

    Args:
        wanted: the columns of the task.
        fixed: the names that the user gave.
    """
    found = {column: name for column, name in fixed.items() if column in wanted}
    for column in wanted:  # a file's own name counts before all guesses
        if column not in found and column in file.names:
            found[column] = column
    small = {name.strip().casefold(): name for name in reversed(file.names)}
    if "text_pair" in wanted and not {"text", "text_pair"} & found.keys():
        first = next((pair for pair in PAIRS if small.keys() >= set(pair)), ())
        found |= {column: small[name] for column, name in zip(("text", "text_pair"), first, strict=False)}
    for column in wanted:
        free = [name for name in USUAL_NAMES.get(column, ()) if name in small and small[name] not in found.values()]
        if column not in found and free:
            found[column] = small[free[0]]
    rest = [name for name in file.names if name not in found.values()]
    return _in_order(found | _guess_by_values(file, rest, [name for name in wanted if name not in found]), wanted)


def binary_columns(file: Peek, names: Sequence[str]) -> list[str]:
    """Return the columns that hold only 0 and 1, as those of texts with several classes do.

    >>> binary_columns(Peek(["a", "b", "c"], {"a": ["0", "1"], "b": [1, 2], "c": [1, 0]}), ["a", "b", "c"])
    ['a', 'c']
    """
    return [name for name in names if {str(value) for value in file.values.get(name, ())} == {"0", "1"}]


def is_row(file: Peek, columns: Mapping[str, str]) -> bool:
    """Return whether the line of names reads like a row: a name is a sentence, or one of the values below it.

    >>> is_row(Peek(["Fine!", "1"], {"Fine!": ["No."], "1": ["0", "1"]}), {"text": "Fine!", "label": "1"})
    True
    """
    values = {column: file.values.get(name, ()) for column, name in columns.items()}
    return any(
        name.count(" ") >= _FEWEST_BLANKS or (column == "label" and name in map(str, values[column]))
        for column, name in columns.items()
    )


def _in_order(found: Mapping[str, str], wanted: Sequence[str]) -> dict[str, str]:
    return {column: found[column] for column in wanted if column in found}


def _guess_by_values(file: Peek, rest: Sequence[str], missing: Sequence[str]) -> dict[str, str]:
    """Return columns by what is in them: few different values are labels, the longest texts are texts; or two sides."""
    if set(missing) == {"source", "target"} and len(rest) == 2:
        return dict(zip(("source", "target"), rest, strict=True))
    found: dict[str, str] = {}
    texts = {name: file.values.get(name, ()) for name in rest}
    texts = {name: values for name, values in texts.items() if values and all(isinstance(v, str) for v in values)}
    if "text" in missing and texts:
        longest = max(texts, key=lambda name: sum(map(len, texts[name])))
        if sum(" " in text.strip() for text in texts[longest]) * 2 > len(texts[longest]):
            found["text"] = longest
    few = {name: len(set(map(str, file.values.get(name, ())))) for name in rest if name not in found.values()}
    few = {name: number for name, number in few.items() if 1 < number <= len(file.values[name]) / 2}
    if "label" in missing and few:
        found["label"] = min(few, key=few.__getitem__)
    return found
