# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A model's n-grams as KenLM stores them, in both of its forms: with the last words of each, and numbers as it reads.

Of "a b c" in an ARPA file without "b c", KenLM adds this end (a *blank*, lm/blank.hh; `tools/suffixes.py`). p = 0, -99
in an ARPA file, is the number -99 to KenLM; a missing ``<unk>`` has -100.

The sign of a back-off weight of 0 is a flag: + where a longer n-gram begins with this one, else -, which ends a state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.files.arpa_format import UNKNOWN, ZERO
from hf_lecture_models.models.ngram.tools.suffixes import ROWS, complete_tables

MISSING_UNKNOWN = -100.0


@dataclass
class KenlmTables(NGramTables):
    """Tables with the ends that KenLM adds; -inf is -99."""

    names: list[bytes]  # of the words, in the order of the ARPA file; the first is ``<unk>``
    word_ids: np.ndarray  # (names,) the id of each; that of a missing ``<unk>`` is -1
    added: list[np.ndarray]  # [n-1], the rows that the ARPA file lacks, as `CompleteTables` has them
    suffixes: list[np.ndarray]  # [n-2], as `CompleteTables` has them

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
    complete = complete_tables(NGramTables(tables.vocab_size, tables.keys, list(probs), list(backoffs)))
    found = complete.tables
    for n, (rows, values) in enumerate(zip(complete.added, found.log10_probs, strict=True), 1):
        if (values[rows] > 0).any():
            raise ValueError(
                f"the model lacks {n}-grams with which longer ones end, and backing off gives one of them a "
                "probability over 1, which KenLM's files cannot hold: make its contexts sum to one, or write an ARPA "
                "file"
            )
    return KenlmTables(
        found.vocab_size,
        found.keys,
        found.log10_probs,
        found.log10_backoffs,
        names,
        word_ids,
        complete.added,
        complete.suffixes,
    )


def _finite(values: np.ndarray) -> np.ndarray:
    """Return logarithms as an ARPA file has them; the array itself, where none is -inf."""
    zeros = values == -np.inf
    return np.where(zeros, np.float32(ZERO), values) if zeros.any() else values
