# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Counts of n-grams of words, of all orders, as count files hold them.

A model's own counts (`counting_ngram.py`) are numbered by a tokenizer, and each n-gram by its prefix. Files have words,
and may lack a prefix. Here every n-gram is a row of word numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hf_lecture_models.models.ngram.files.arpa_format import BEGIN, END, PADDING, UNKNOWN
from hf_lecture_models.tokenization.word import WordTokenizer

LARGEST_COUNT = 2**53
"""Sums up to it are exact in float64, which the smoothing computes in."""


@dataclass(frozen=True)
class NGramWordCounts:
    """How often n-grams of words occur; two of them are added by `+`.

    >>> rows = [np.array([[0], [1], [0]]), np.array([[0, 1]])]
    >>> counts = from_rows(["b", "a"], rows, [np.array([1, 5, 2]), np.array([1])])
    >>> counts.words, counts.sizes, counts.count("b"), counts.count("b a"), counts.count("a b")
    (['a', 'b'], [2, 1], 3, 1, 0)
    >>> (counts + counts).count("b a")
    2

    Attributes:
        words: each once, sorted by code point (as bytes of UTF-8 are). `<s>` and `</s>` are the bounds of texts.
        ngrams: [n-1], (n-grams of order n, n) int32 numbers of words, sorted, each row once.
        occurrences: [n-1], (n-grams of order n,) int64, above 0. That of `<s>` is the number of texts.
    """

    words: list[str]
    ngrams: list[np.ndarray]
    occurrences: list[np.ndarray]

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.ngrams)

    @property
    def sizes(self) -> list[int]:
        """How many different n-grams of each order there are."""
        return [len(rows) for rows in self.ngrams]

    def count(self, ngram: str) -> int:
        """Return how often one n-gram occurs, given as words between spaces; 0 for one that is not there."""
        words = ngram.split(" ")
        if len(words) > self.order:
            return 0
        rows, first = self.ngrams[len(words) - 1], 0
        for place, word in enumerate(words):
            found = np.flatnonzero(rows[:, place] == self.number(word))
            if not len(found):
                return 0
            rows, first = rows[found[0] : found[-1] + 1], first + int(found[0])
        return int(self.occurrences[len(words) - 1][first])

    def number(self, word: str) -> int:
        """Return the number of a word; -1 where it is not among the words."""
        number = bisect_left(self.words, word)
        return number if self.words[number : number + 1] == [word] else -1

    def spell(self, n: int, row: int) -> str:
        """Return an n-gram as text, given its order and its row."""
        return " ".join(self.words[number] for number in self.ngrams[n - 1][row])

    def up_to(self, order: int) -> NGramWordCounts:
        """Return the counts of orders 1 to `order`, over the same words."""
        return NGramWordCounts(self.words, self.ngrams[:order], self.occurrences[:order])

    def __add__(self, other: NGramWordCounts) -> NGramWordCounts:
        """Return the counts of both corpora together.

        Raises:
            ValueError: one has longer n-grams than the other, and would count them in a part of the corpora only.
        """
        if self.order != other.order:
            raise ValueError(
                f"counts of order {self.order} and of order {other.order} cannot be added: n-grams of the higher "
                "orders would be counted in one of the corpora only; count both up to the same order"
            )
        numbers = {word: number for number, word in enumerate(self.words)}
        theirs = np.array([numbers.setdefault(word, len(numbers)) for word in other.words], np.int32)
        rows = [np.concatenate([a, theirs[b]]) for a, b in zip(self.ngrams, other.ngrams, strict=True)]
        pairs = zip(self.occurrences, other.occurrences, strict=True)
        return from_rows(list(numbers), rows, [np.concatenate(pair) for pair in pairs])

    def tokenizer(self) -> WordTokenizer:
        """Return the tokenizer that `WordTokenizer.train` makes of the texts: all words, the most frequent first."""
        marks = {UNKNOWN, BEGIN, END, PADDING}
        numbers = self.ngrams[0][:, 0][np.argsort(-self.occurrences[0], kind="stable")]
        words = [self.words[number] for number in numbers.tolist()]
        return WordTokenizer.from_words([word for word in words if word not in marks])


def from_rows(words: Sequence[str], ngrams: Sequence[np.ndarray], occurrences: Sequence[np.ndarray]) -> NGramWordCounts:
    """Return counts from rows in any order, of words in any order; rows that occur again are added.

    Args:
        words: each once.
        ngrams: [n-1], (rows, n) numbers of words.
        occurrences: [n-1], (rows,); rows of count 0 are left out.

    Raises:
        ValueError: a sum is larger than float64 holds exactly.
    """
    ascending = sorted(range(len(words)), key=words.__getitem__)
    rank: np.ndarray = np.empty(len(words), np.int32)
    rank[ascending] = np.arange(len(words), dtype=np.int32)
    added = [add_rows(rank[rows], counts, len(words)) for rows, counts in zip(ngrams, occurrences, strict=True)]
    if any(len(counts) and counts.max() > LARGEST_COUNT for _, counts in added):
        raise ValueError(f"an n-gram occurs more than {LARGEST_COUNT} times, which float64 cannot hold exactly")
    return NGramWordCounts([words[number] for number in ascending], *map(list, zip(*added, strict=True)))


def add_rows(rows: np.ndarray, counts: np.ndarray, vocab_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the different rows, sorted, and the sums of their counts; rows of count 0 are left out.

    >>> add_rows(np.array([[1, 0], [0, 1], [1, 0]]), np.array([2, 3, 4]), 2)
    (array([[0, 1],
           [1, 0]]), array([3, 6]))
    """
    columns = packed(rows, vocab_size)
    if not _ascends(columns):
        order = np.argsort(columns[0], kind="stable") if len(columns) == 1 else np.lexsort(columns[::-1])
        rows, counts, columns = rows[order], counts[order], [column[order] for column in columns]
        new = np.ones(len(rows), bool)
        new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
        firsts = np.flatnonzero(new)
        rows = rows[firsts]
        counts = np.add.reduceat(counts, firsts) if len(firsts) else counts
    if len(counts) and counts.min() == 0:
        rows, counts = rows[counts > 0], counts[counts > 0]
    return rows, counts


def packed(rows: np.ndarray, vocab_size: int) -> list[np.ndarray]:
    """Return the numbers of each row in as few int64 as hold them, which sort as the rows do: arrays of (rows,).

    >>> packed(np.array([[1, 2], [3, 0]]), 4)
    [array([ 6, 12])]
    """
    bits = max(int(vocab_size - 1).bit_length(), 1)
    each, columns = 63 // bits, []
    for first in range(0, rows.shape[1], each):
        column = np.zeros(len(rows), np.int64)
        for place in range(first, min(first + each, rows.shape[1])):
            column <<= bits
            column |= rows[:, place]
        columns.append(column)
    return columns


def _ascends(columns: list[np.ndarray]) -> bool:
    """Return whether rows are sorted and different already, as those of a sorted file."""
    ascends = np.zeros(max(len(columns[0]) - 1, 0), bool)
    equal = ~ascends
    for column in columns:
        ascends |= equal & (column[1:] > column[:-1])
        equal &= column[1:] == column[:-1]
    return bool(ascends.all())
