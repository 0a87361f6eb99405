# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The last n-1 words of each n-gram as an n-gram of their own, which pruned models lack and some programs need.

A model may have "a b c" without "b c". The added n-gram gets the probability that backing off gives, and the weight 1:

    log10 P(c | b) = log10 P(c) + log10 bow(b)

Sums are float32, from short n-grams to long ones, as KenLM's (lm/blank.hh): its files depend on each bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from hf_lecture_models.layers.ngram_search import find
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.files.arpa_writer import words_of

ROWS = 1 << 18
"""n-grams that are worked on at a time."""


@dataclass
class CompleteTables:
    """Tables with the last words of every n-gram, and where these are.

    Attributes:
        tables: the n-grams. An added one may have a probability over 1, where a back-off weight is over 1.
        suffixes: [n-2], (n-grams of order n,) the row in order n-1 of the last n-1 words of each, for n from 2.
        added: [n-1], the rows of the added n-grams of order n, increasing, for n from 1.
    """

    tables: NGramTables
    suffixes: list[np.ndarray]
    added: list[np.ndarray]


def with_suffixes(tables: NGramTables) -> NGramTables:
    """Return the same model, in which the last n-1 words of every n-gram are an (n-1)-gram.

    All probabilities stay, up to rounding; an added one over 1 becomes 1.

    >>> zeros = [np.zeros(3, np.float32), np.zeros(1, np.float32)]
    >>> probs = [np.float32([-1, -1, -1]), np.float32([-0.5]), np.float32([-0.1])]
    >>> tables = NGramTables(3, [np.array([1]), np.array([2])], probs, zeros)  # 0 1; 0 1 2, but not 1 2
    >>> with_suffixes(tables).keys  # 1 2 is 1 * 3 + 2
    [array([1, 5]), array([2])]

    Args:
        tables: the model. They are not changed.
    """
    complete = complete_tables(tables)
    for rows, probs in zip(complete.added, complete.tables.log10_probs, strict=True):
        if len(rows):
            probs[rows] = np.minimum(probs[rows], 0)
    return complete.tables


def complete_tables(tables: NGramTables) -> CompleteTables:
    """Return tables with the last words of every n-gram; the same tables if they have all of them."""
    added = [np.empty(0, np.int64)] * tables.order
    suffixes = _suffixes(tables)
    if not any(len(rows) and rows.min() < 0 for rows in suffixes):
        return CompleteTables(tables, suffixes, added)
    tables, added = _with_ngrams(tables, _missing(tables, suffixes))
    suffixes = _suffixes(tables)
    for n, rows in enumerate(added[1:], 2):
        if len(rows):
            contexts, ends = tables.keys[n - 2][rows] // tables.vocab_size, suffixes[n - 2][rows]
            tables.log10_probs[n - 1][rows] = tables.log10_probs[n - 2][ends] + tables.log10_backoffs[n - 2][contexts]
    return CompleteTables(tables, suffixes, added)


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


def _missing(tables: NGramTables, suffixes: list[np.ndarray]) -> list[np.ndarray]:
    """Return [n-1], the words of the n-grams to add, (n, n-grams), each n-gram once."""
    found = [np.empty((n, 0), np.int64) for n in range(1, tables.order + 1)]
    for n in range(tables.order, 2, -1):
        ends = np.stack(words_of(tables, n, np.flatnonzero(suffixes[n - 2] < 0)))[1:]
        longer = found[n - 1][1:]  # added n-grams have last words too
        ends = np.concatenate([ends, longer[:, _rows_of(tables.keys, longer, tables.vocab_size) < 0]], axis=1)
        found[n - 2] = np.unique(ends, axis=1)
    return found


def _rows_of(keys: list[np.ndarray], words: np.ndarray, vocab_size: int) -> np.ndarray:
    """Return the rows of n-grams, given by their words, (n, n-grams); -1 where one is not stored."""
    rows = words[0]
    for table, following in zip(keys, words[1:], strict=False):
        sought = np.where(rows < 0, -1, rows * vocab_size + following)
        rows = find(torch.from_numpy(table), torch.from_numpy(sought)).numpy()
    return rows


def _with_ngrams(tables: NGramTables, grams: list[np.ndarray]) -> tuple[NGramTables, list[np.ndarray]]:
    """Return tables with further n-grams, given by their words, of log10 p and weights 0; and [n-1] their rows."""
    keys: list[np.ndarray] = []
    probs, backoffs = [tables.log10_probs[0]], list(tables.log10_backoffs)
    added, moved = [np.empty(0, np.int64)], np.arange(tables.vocab_size)  # where n-grams of the order before are now
    for n in range(2, tables.order + 1):
        prefixes, last = np.divmod(tables.keys[n - 2], tables.vocab_size)
        old, new = moved[prefixes] * tables.vocab_size + last, grams[n - 1]
        contexts = _rows_of(keys, new[:-1], tables.vocab_size)
        together = np.concatenate([old, contexts * tables.vocab_size + new[-1]])
        order = np.argsort(together, kind="stable")
        keys.append(together[order])
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        moved = places[: len(old)]
        added.append(np.sort(places[len(old) :]))
        nothing = np.zeros(new.shape[1], np.float32)
        probs.append(np.concatenate([tables.log10_probs[n - 1], nothing])[order])
        if n < tables.order:
            backoffs[n - 1] = np.concatenate([backoffs[n - 1], nothing])[order]
    return replace(tables, keys=keys, log10_probs=probs, log10_backoffs=backoffs), added
