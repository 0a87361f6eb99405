# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Smoothing out of core: `smoothing/interpolated.py` for some contexts at a time, with the numbers on disk.

All n-grams of a context are smoothed at once, so each sum has the same terms in the same order, and the tables are
those of `smooth` bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import NGramCounts
from hf_lecture_models.models.ngram.out_of_core.columns import WHOLE, Column, zeros
from hf_lecture_models.models.ngram.out_of_core.stored_counts import StoredCounts, parts
from hf_lecture_models.models.ngram.smoothing.back_off import CONSTANT
from hf_lecture_models.models.ngram.smoothing.interpolated import (
    DISCOUNTING,
    KNESER_NEY,
    WITTEN_BELL,
    fit_discounts,
    kept_ngrams,
    log10,
    renumber,
    small_counts,
    smooth_order,
    uniform,
)
from hf_lecture_models.models.ngram.vocabulary_ngram import kept_words

# The others need all counts, or the texts, more than once.
STORED_SMOOTHINGS = ("maximum_likelihood", "add_alpha", *WITTEN_BELL, *DISCOUNTING, "stupid_backoff")


def open_tables(folder: Path, config: NGramConfig, mapped: bool = True) -> NGramTables:
    """Open the tables that `StoredSmoothing` has written.

    Args:
        mapped: their parts come to memory when they are used; False reads them whole.
    """
    columns = [_TableColumns(folder, n) for n in range(1, config.order + 1)]
    load = Column.map if mapped else Column.read
    return NGramTables(
        config.vocab_size,
        [load(one.keys) for one in columns[1:]],
        [load(one.probs) for one in columns],
        [load(one.backoffs) for one in columns[:-1]],
    )


def open_words(folder: Path) -> np.ndarray | slice:
    """Return which words the tables in a folder have, as `kept_words` does."""
    path = folder / "words"
    return Column(path, np.bool_).read() if path.exists() else slice(None)


class _TableColumns:
    """The columns of an order in `NGramTables`."""

    def __init__(self, folder: Path, n: int) -> None:
        self.keys = Column(folder / f"keys_{n}", np.int64)
        self.probs = Column(folder / f"log10_probs_{n}", np.float32)
        self.backoffs = Column(folder / f"log10_backoffs_{n}", np.float32)


@dataclass
class StoredSmoothing:
    """`smooth` out of core: computes p and back-off weight of each n-gram that is kept.

    Args:
        counts: of orders 1 to `config.order`.
        config: the smoothing; discounts are written into it.
        folder: where the tables go, for `open_tables`; empty.
        rows: about how many n-grams may be in memory.
        bar: a progress bar of n-grams.
    """

    counts: list[StoredCounts]
    config: NGramConfig
    folder: Path
    rows: int
    bar: Any

    def run(self) -> None:
        """Write the tables."""
        config, orders = self.config, range(1, self.config.order + 1)
        config.interpolation_weights = config.discounts = config.discount_ratios = config.strengths = None
        used = [self._counts_used(n) for n in orders]
        if config.smoothing in DISCOUNTING:
            config.discounts = [fit_discounts(self._small_counts(c), n, config) for n, c in enumerate(used, 1)]
        self.words = kept_words(self.counts[0].occurrences.read(), config)
        if isinstance(self.words, np.ndarray):
            Column(self.folder / "words", np.bool_).append(self.words)
        probs = uniform(config, self.words)
        self.num_words, self.events = len(probs[self.words]), int((probs > 0).sum())
        lower = Column(self.folder / "probs_0", np.float64)
        lower.append(probs)
        for n in orders:
            longer = Column(self.folder / f"probs_{n}", np.float64)
            self._smooth_order(n, used[n - 1], lower, longer)
            lower.path.unlink()
            lower = longer
        for path in (lower.path, *self.folder.glob("used_*")):
            path.unlink()

    def _counts_used(self, n: int) -> Column:
        """Return the occurrences; for Kneser-Ney below the highest order the number of different preceding words."""
        entry = self.counts[n - 1]
        if n == self.config.order or self.config.smoothing not in KNESER_NEY:
            return entry.occurrences
        used = zeros(self.folder / f"used_{n}", np.int64, len(entry.keys))
        if len(used) <= WHOLE * self.rows:
            before = np.zeros(len(used), np.int64)
            for _, suffixes in self.counts[n].suffixes.blocks(self.rows):
                before += np.bincount(suffixes, minlength=len(used))
            used.write(0, before)
        else:
            for _, suffixes in self.counts[n].suffixes.blocks(self.rows):
                used.count(suffixes, self.rows)
        start, stop = entry.starts if n > 1 else (0, 0)
        for low in range(start, stop, self.rows):
            used.write(low, entry.occurrences.read(low, min(low + self.rows, stop)))
        return used

    def _small_counts(self, used: Column) -> np.ndarray:
        return sum((small_counts(block) for _, block in used.blocks(self.rows)), np.zeros(6, np.int64))

    def _kept(self, entry: NGramCounts, n: int, part: slice) -> np.ndarray | slice:
        """Return which n-grams of a part of order n are not pruned."""
        if n > 1:
            return kept_ngrams(entry, n, self.config)
        return self.words if isinstance(self.words, slice) else self.words[part]

    def _smooth_order(self, n: int, used: Column, lower: Column, longer: Column) -> None:
        """Smooth the n-grams of order n; P(w | h') comes from `lower`, and P(w | h) goes to `longer`."""
        config, vocab_size = self.config, self.config.vocab_size
        table, shorter_table = (_TableColumns(self.folder, order) for order in (n, max(n - 1, 1)))
        ratios = CONSTANT if config.smoothing == "stupid_backoff" else None
        numbered = 0  # contexts that are kept, so far
        for contexts, ngrams in parts(self.counts, n, vocab_size, self.rows):
            entry = self.counts[n - 1].read(ngrams.start, ngrams.stop)
            found = lower.gather(entry.suffixes, self.rows)
            entry.keys[:] -= contexts.start * vocab_size
            starts, kept = np.ones(1, bool), self._kept(entry, n, ngrams)
            kept_contexts: np.ndarray | slice = slice(None)
            if n > 1:
                shorter = self.counts[n - 2].read(contexts.start, contexts.stop)
                starts, kept_contexts = shorter.starts, self._kept(shorter, n - 1, contexts)
            prefixes, part_used = entry.keys // vocab_size, used.read(ngrams.start, ngrams.stop)
            probs, gammas = smooth_order(prefixes, starts, n, part_used, kept, found, self.events, config, ratios)
            if n < config.order:
                longer.append(probs)
            table.probs.append(np.minimum(log10(probs[kept]), 0))
            if n > 1:
                shorter_table.backoffs.append(log10(gammas[kept_contexts]))
                keys = renumber(entry.keys[kept], kept_contexts, self.words, vocab_size)
                keys += numbered * self.num_words
                table.keys.append(keys)
            numbered += len(gammas[kept_contexts])
            self.bar.update(len(probs))
