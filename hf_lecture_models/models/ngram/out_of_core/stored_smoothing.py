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
        lower = Column(self.folder / "probs_0", np.float64)
        lower.append(uniform(config))
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
            starts, kept = np.ones(1, bool), kept_ngrams(entry, n, config)
            kept_contexts: np.ndarray | slice = slice(None)
            if n > 1:
                shorter = self.counts[n - 2].read(contexts.start, contexts.stop)
                starts, kept_contexts = shorter.starts, kept_ngrams(shorter, n - 1, config)
            part_used = used.read(ngrams.start, ngrams.stop)
            probs, gammas = smooth_order(entry.keys // vocab_size, starts, n, part_used, kept, found, config, ratios)
            if n < config.order:
                longer.append(probs)
            table.probs.append(np.minimum(log10(probs[kept]), 0))
            if n > 1:
                shorter_table.backoffs.append(log10(gammas[kept_contexts]))
                keys = renumber(entry.keys[kept], kept_contexts, vocab_size)
                keys += numbered * vocab_size
                table.keys.append(keys)
            numbered += len(gammas[kept_contexts])
            self.bar.update(len(probs))
