# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The last words of an n-gram as an n-gram of their own, which pruned models lack and some programs need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from hf_lecture_models.layers.ngram_search import find
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.files.arpa_writer import words_of
from hf_lecture_models.models.ngram.tools.contexts import Contexts


def with_suffixes(tables: NGramTables) -> NGramTables:
    """Return the same model, in which the last n-1 words of every n-gram are an (n-1)-gram.

    What is added has the probability that back-off gives and the weight 1, so all probabilities stay, up to rounding.

    >>> zeros = [np.zeros(3, np.float32), np.zeros(1, np.float32)]
    >>> probs = [np.float32([-1, -1, -1]), np.float32([-0.5]), np.float32([-0.1])]
    >>> tables = NGramTables(3, [np.array([1]), np.array([2])], probs, zeros)  # 0 1; 0 1 2, but not 1 2
    >>> with_suffixes(tables).keys  # 1 2 is 1 * 3 + 2
    [array([1, 5]), array([2])]

    Args:
        tables: the model. They are not changed.
    """
    contexts = Contexts(tables)
    added = _missing(contexts, tables)
    if not any(map(len, added)):
        return tables
    keys: list[np.ndarray] = []
    probs, backoffs = [tables.log10_probs[0]], [*tables.log10_backoffs]
    moved = np.arange(tables.vocab_size)  # where each n-gram of the order before is now
    for n in range(2, tables.order + 1):
        prefixes, last = np.divmod(tables.keys[n - 2], tables.vocab_size)
        grams = added[n - 1]
        new = _rows(keys, tables.vocab_size, grams[:, :-1]) * tables.vocab_size + grams[:, -1]
        together = np.concatenate([moved[prefixes] * tables.vocab_size + last, new])
        order = np.argsort(together, kind="stable")
        moved = np.empty_like(order)
        moved[order] = np.arange(len(order))
        keys.append(together[order])
        new_probs = np.minimum(contexts.log10(_longest(contexts, grams[:, :-1]), grams[:, -1]), 0)
        probs.append(np.concatenate([tables.log10_probs[n - 1], new_probs.astype(np.float32)])[order])
        if n < tables.order:
            backoffs[n - 1] = np.concatenate([backoffs[n - 1], np.zeros(len(new), np.float32)])[order]
    return replace(tables, keys=keys, log10_probs=probs, log10_backoffs=backoffs)


def _missing(contexts: Contexts, tables: NGramTables) -> list[np.ndarray]:
    """Return [n-1] the n-grams to add, (n-grams, n) of word ids; without repetitions, in any order."""
    added = [np.empty((0, n), np.int64) for n in range(1, tables.order + 1)]
    for n in range(tables.order, 2, -1):
        stored = contexts.suffixes_of(n, np.arange(tables.sizes[n - 1])) >= contexts.first[n - 1]
        lacking = np.stack(words_of(tables, n, np.flatnonzero(~stored)), axis=1)[:, 1:]
        further = added[n - 1][:, 1:]
        further = further[_rows(tables.keys, tables.vocab_size, further) < 0]
        added[n - 2] = np.unique(np.concatenate([lacking, further]), axis=0)
    return added


def _rows(keys: Sequence[np.ndarray], vocab_size: int, grams: np.ndarray) -> np.ndarray:
    """Return the row of each n-gram in the table of its order, -1 where it is not there; grams are (n-grams, n)."""
    rows = grams[:, 0].copy()
    for table, words in zip(keys, grams.T[1:], strict=False):
        found = find(torch.from_numpy(table), torch.from_numpy(rows * vocab_size + words)).numpy()
        rows = np.where(rows >= 0, found, -1)
    return rows


def _longest(contexts: Contexts, grams: np.ndarray) -> np.ndarray:
    """Return the number of the longest stored suffix of each context, (contexts,); grams are (contexts, words)."""
    numbers = np.zeros(len(grams), np.int64)
    keys = [table.numpy() for table in contexts.keys]
    for n in range(1, grams.shape[1] + 1):
        rows = _rows(keys, contexts.vocab_size, grams[:, grams.shape[1] - n :])
        numbers = np.where(rows >= 0, contexts.first[n] + rows, numbers)
    return numbers
