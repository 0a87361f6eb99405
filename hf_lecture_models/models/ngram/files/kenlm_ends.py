# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A model's n-grams as KenLM stores them, in both of its forms: with the last words of each, and numbers as it reads.

An ARPA file may have "a b c" without "b c". KenLM adds it (a *blank*, lm/blank.hh), with the probability that backing
off gives, summed in float32 from the longest end that is there: log10 P(c | b) = log10 P(c) + log10 bow(b), and weight
1. p = 0, -99 in an ARPA file, is the number -99 to KenLM; a missing ``<unk>`` has -100.

The sign of a back-off weight of 0 is a flag: + where a longer n-gram begins with this one, else -, which ends a state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from hf_lecture_models.layers.ngram_search import find
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.files.arpa_format import UNKNOWN, ZERO

MISSING_UNKNOWN = -100.0
ROWS = 1 << 18  # n-grams that are worked on at a time


@dataclass
class KenlmTables(NGramTables):
    """Tables with the ends that KenLM adds; -inf is -99."""

    names: list[bytes]  # of the words, in the order of the ARPA file; the first is ``<unk>``
    word_ids: np.ndarray  # (names,) the id of each; that of a missing ``<unk>`` is -1
    added: list[np.ndarray]  # [n-1], rows that the ARPA file lacks, for n from 1
    suffixes: list[np.ndarray]  # [n-2], the row of order n-1 with the last n-1 words of each n-gram, for n from 2

    @property
    def arpa_sizes(self) -> list[int]:
        """The counts of the ARPA file."""
        unigrams = len(self.names) - int(self.word_ids[0] < 0)
        return [unigrams, *(size - len(rows) for size, rows in zip(self.sizes[1:], self.added[1:], strict=True))]

    def of_words(self, values: np.ndarray, missing: float) -> np.ndarray:
        """Return the values of the words in the order of `names`, from those by id; `missing` for an added <unk>."""
        found = values[self.word_ids]
        found[self.word_ids < 0] = missing
        return found

    def signed_backoffs(self, n: int) -> np.ndarray:
        """Return the back-off weights of order n, (n-grams,), with the sign of 0 that is a flag."""
        values, begins = self.log10_backoffs[n - 1].copy(), np.zeros(self.sizes[n - 1], bool)
        for first in range(0, len(self.keys[n - 1]), ROWS):
            begins[self.keys[n - 1][first : first + ROWS] // self.vocab_size] = True
        zeros = values == 0
        values[zeros] = np.where(begins[zeros], np.float32(0), np.float32(-0.0))
        return values

    def ends(self, n: int) -> np.ndarray:
        """Return whether a longer n-gram ends with each of order n, (n-grams,) bool."""
        found = np.zeros(self.sizes[n - 1], bool)
        found[self.suffixes[n - 1]] = True
        return found


def kenlm_tables(tables: NGramTables, names: list[bytes], word_ids: np.ndarray) -> KenlmTables:
    """Return what KenLM stores of a model of order 2 or more, whose words are `names`, ``<unk>`` first or missing.

    Raises:
        ValueError: backing off gives an added n-gram a probability over 1.
    """
    if names[0] != UNKNOWN.encode():
        names, word_ids = [UNKNOWN.encode(), *names], np.concatenate([[-1], word_ids])
    probs, backoffs = map(_finite, tables.log10_probs), map(_finite, tables.log10_backoffs)
    found = KenlmTables(tables.vocab_size, tables.keys, list(probs), list(backoffs), names, word_ids, [], [])
    found.added = [np.empty(0, np.int64)] * tables.order
    found.suffixes = _suffixes(found)
    if any(len(rows) and rows.min() < 0 for rows in found.suffixes):
        _add_ends(found, _missing_ends(found))
        found.suffixes = _suffixes(found)
        _set_probs(found)
    return found


def _finite(values: np.ndarray) -> np.ndarray:
    """Return logarithms as an ARPA file has them; the array itself, where none is -inf."""
    zeros = values == -np.inf
    return np.where(zeros, np.float32(ZERO), values) if zeros.any() else values


def _suffixes(tables: NGramTables) -> list[np.ndarray]:
    """Return [n-2], the row of the last n-1 words of each n-gram, -1 where they are not stored."""
    found: list[np.ndarray] = []
    size = tables.vocab_size
    for n, keys in enumerate(tables.keys, 2):
        rows = np.empty(len(keys), np.int32 if tables.sizes[n - 2] < 2**31 else np.int64)
        for first in range(0, len(keys), ROWS):
            prefixes, last = np.divmod(keys[first : first + ROWS], size)
            if n > 2:
                ends = found[-1][prefixes].astype(np.int64)
                last = np.where(ends < 0, -1, ends * size + last)
                last = find(torch.from_numpy(tables.keys[n - 3]), torch.from_numpy(last)).numpy()
            rows[first : first + ROWS] = last
        found.append(rows)
    return found


def _missing_ends(tables: KenlmTables) -> list[np.ndarray]:
    """Return [n-1], the words of the n-grams to add, (n, n-grams); longer ones have ends of their own."""
    found = [np.empty((n, 0), np.int64) for n in range(1, tables.order + 1)]
    for n in range(tables.order, 2, -1):
        ends = _words(tables, n, np.flatnonzero(tables.suffixes[n - 2] < 0))[1:]
        longer = found[n - 1][1:]
        ends = np.concatenate([ends, longer[:, _rows_of(tables, longer) < 0]], axis=1)
        found[n - 2] = np.unique(ends, axis=1)
    return found


def _words(tables: NGramTables, n: int, rows: np.ndarray) -> np.ndarray:
    """Return the words of some n-grams of order n, from first to last, (n, rows)."""
    words = np.empty((n, len(rows)), np.int64)
    for place in range(n - 1, 0, -1):
        rows, words[place] = np.divmod(tables.keys[place - 1][rows], tables.vocab_size)
    words[0] = rows
    return words


def _rows_of(tables: NGramTables, words: np.ndarray) -> np.ndarray:
    """Return the rows of n-grams, given by their words, (n, n-grams); -1 where one is not stored."""
    rows = words[0]
    for keys, following in zip(tables.keys, words[1:], strict=False):
        sought = np.where(rows < 0, -1, rows * tables.vocab_size + following)
        rows = find(torch.from_numpy(keys), torch.from_numpy(sought)).numpy()
    return rows


def _add_ends(tables: KenlmTables, ends: list[np.ndarray]) -> None:
    """Put n-grams, given by their words, into the tables, with p and weights of 1; `added` says where they are."""
    tables.keys, moved = list(tables.keys), np.arange(tables.vocab_size)
    for n in range(2, tables.order + 1):
        prefixes, last = np.divmod(tables.keys[n - 2], tables.vocab_size)
        old, new = moved[prefixes] * tables.vocab_size + last, ends[n - 1]
        added = _rows_of(tables, new[:-1]) * tables.vocab_size + new[-1]
        order = np.argsort(np.concatenate([old, added]), kind="stable")
        tables.keys[n - 2] = np.concatenate([old, added])[order]
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        moved, tables.added[n - 1] = places[: len(old)], np.sort(places[len(old) :])
        for columns in (tables.log10_probs, tables.log10_backoffs)[: 2 if n < tables.order else 1]:
            columns[n - 1] = np.concatenate([columns[n - 1], np.zeros(len(added), np.float32)])[order]


def _set_probs(tables: KenlmTables) -> None:
    """Set the probabilities of what was added, from short n-grams to long ones."""
    for n, rows in enumerate(tables.added[1:], 2):
        contexts, ends = tables.keys[n - 2][rows] // tables.vocab_size, tables.suffixes[n - 2][rows]
        probs = tables.log10_probs[n - 2][ends] + tables.log10_backoffs[n - 2][contexts]
        if (probs > 0).any():
            raise ValueError(
                f"the model lacks {n}-grams with which longer ones end, and backing off gives one of them a "
                "probability over 1, which KenLM's files cannot hold: make its contexts sum to one, or write an ARPA "
                "file"
            )
        tables.log10_probs[n - 1][rows] = probs
