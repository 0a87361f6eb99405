# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Rows of data that remember their files and lines."""

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from itertools import accumulate
from typing import Any, overload

from hf_lecture_models.tokenization.bounds import plain_texts

UNLABELLED = "rows without labels are for the verb predict, or predict_files and predict_split of a recipe"
"""The advice for rows that cannot be measured."""
UNLEARNED = "if it is a class of its own, the training data need rows of it"
"""The advice for rows of a class that the training data lack."""


class Rows(Sequence[dict[str, Any]]):
    """Rows of the task's columns that remember their files and lines for messages.

    >>> rows = Rows({"text": ["a", "b"], "label": [0, 1]}, [("dev.tsv", 2)])
    >>> rows[1], rows.where(1), rows.texts("text")
    ({'text': 'b', 'label': 1}, 'dev.tsv, row 2', ['a', 'b'])

    Args:
        columns: the values of each column, one for each row.
        sources: the names of the files and their numbers of rows, in the order of the rows.
        lines: the line numbers of the words of each row, for files with a word on each line.
        documents: the document of each row, None where it has none; (): the data name no documents.

    Attributes:
        numbers: the number of each row, counted from 0 in all rows that were read.
        read_sources: the sources of all rows that were read.
    """

    def __init__(
        self,
        columns: Mapping[str, list[Any]],
        sources: Sequence[tuple[str, int]],
        lines: Sequence[Sequence[int] | None] = (),
        documents: Sequence[Hashable] = (),
    ) -> None:
        self.columns, self.sources, self.lines = dict(columns), list(sources), list(lines)
        self.documents = list(documents)
        self._length = sum(length for _, length in sources)
        self.numbers: Sequence[int] = range(self._length)
        self.read_sources = self.sources

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        return {name: values[index] for name, values in self.columns.items()}

    def where(self, index: int, word: int | None = None) -> str:
        """Return the file of a row and its number there, counted from 1 without the header, or its line.

        Args:
            word: the word that is meant, in a row that is a list of words.

        >>> rows = Rows({"tokens": [["a", "b"]] * 2}, [("a.jsonl", 1), ("b.conllu", 1)], [None, [7, 8]])
        >>> rows.where(0, word=1), rows.where(1, word=1), rows.where(1)
        ('a.jsonl, row 1, word 2', 'b.conllu, line 8', 'b.conllu, line 7')
        """
        lines, index = self.lines[index] if self.lines else None, self.numbers[index]
        for name, length in self.read_sources:
            if index < length and lines:
                return f"{name}, line {lines[word or 0]}"
            if index < length:
                return f"{name}, row {index + 1}" + ("" if word is None else f", word {word + 1}")
            index -= length
        raise IndexError(f"there are {len(self)} rows")

    def with_columns(self, columns: Mapping[str, list[Any]]) -> "Rows":
        """Return the same rows with other columns."""
        rows = Rows(columns, self.sources, self.lines, self.documents)
        rows.numbers, rows.read_sources = self.numbers, self.read_sources
        return rows

    def select(self, chosen: Sequence[int]) -> "Rows":
        """Return the chosen rows, in rising order; messages name them by their place in the files.

        >>> rows = Rows({"text": ["a", "b", "c"]}, [("dev.tsv", 2), ("test.tsv", 1)]).select([1, 2])
        >>> rows.columns, rows.sources, rows.where(0), rows.numbers
        ({'text': ['b', 'c']}, [('dev.tsv', 1), ('test.tsv', 1)], 'dev.tsv, row 2', [1, 2])
        """
        chosen = sorted(chosen)
        ends = [0, *accumulate(length for _, length in self.sources)]
        places = [bisect_left(chosen, end) for end in ends]
        rows = Rows(
            {name: [values[index] for index in chosen] for name, values in self.columns.items()},
            [(name, places[at + 1] - places[at]) for at, (name, _) in enumerate(self.sources)],
            [self.lines[index] for index in chosen] if self.lines else (),
            [self.documents[index] for index in chosen] if self.documents else (),
        )
        rows.numbers, rows.read_sources = [self.numbers[index] for index in chosen], self.read_sources
        return rows

    def texts(self, column: str) -> list[str]:
        """Return the values of a column of texts.

        Raises:
            ValueError: a value is not a text; the message names its row.
        """
        values = self.columns[column]
        for index, value in enumerate(values):
            if not isinstance(value, str):
                raise ValueError(f"{self.where(index)}: {column} is {value!r}, no text")
        return values

    def plain_texts(self, column: str) -> list[str]:
        """Return the values of a column of texts without `<s>` and `</s>`, which each file has around all or none.

        >>> Rows({"text": ["<s> a cat </s>", "<s> a dog </s>", "a bird"]}, [("a", 2), ("b", 1)]).plain_texts("text")
        ['a cat', 'a dog', 'a bird']

        Raises:
            ValueError: as `texts`; or as `tokenization.bounds.plain_texts`, and the row is named.
        """
        texts, found = self.texts(column), list[str]()
        for _, length in self.sources:
            start = len(found)

            def where(number: int, start: int = start) -> str:
                return self.where(start + number)

            found += plain_texts(texts[start : start + length], where=where)
        return found
