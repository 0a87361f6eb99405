# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Windows of words, and the n-grams of all orders from one pass over the sorted windows, on disk.

Sorted by their words, n-grams are in the order of their keys (`NGramTrie`). So one pass over the sorted windows numbers
the n-grams of all orders: a new n-gram begins wherever one of its words differs from the row before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import NGramCounts, Stream
from hf_lecture_models.models.ngram.out_of_core.columns import Column
from hf_lecture_models.models.ngram.out_of_core.packed_windows import Packing


def windows_of(stream: Stream, order: int) -> np.ndarray:
    """Return the words from each position on, (order, tokens) int32; -1 after the end of the text.

    >>> windows_of(Stream(np.array([0, 5, 1, 0, 1]), np.array([0, 1, 2, 0, 1])), order=3).T.tolist()
    [[0, 5, 1], [5, 1, -1], [1, -1, -1], [0, 1, -1], [1, -1, -1]]
    """
    windows = np.full((order, len(stream.words)), -1, np.int32)
    for n in range(min(order, len(stream.words))):
        last = len(stream.words) - n
        inside = stream.places[n:] >= n
        windows[n, :last] = np.where(inside, stream.words[n:], -1)
    return windows


@dataclass(frozen=True)
class StoredCounts:
    """`NGramCounts` of one order, on disk; those that begin with `<s>` are `starts[0]` to before `starts[1]`."""

    keys: Column
    occurrences: Column
    suffixes: Column
    starts: tuple[int, int]

    def read(self, start: int, stop: int) -> NGramCounts:
        """Read some n-grams into memory."""
        is_start = np.zeros(stop - start, bool)
        is_start[max(self.starts[0] - start, 0) : max(self.starts[1] - start, 0)] = True
        columns = (self.keys, self.occurrences, self.suffixes)
        keys, occurrences, suffixes = (column.read(start, stop) for column in columns)
        return NGramCounts(keys, occurrences, suffixes, is_start)


def open_counts(folder: Path) -> list[StoredCounts]:
    """Open the counts of all orders that `store_counts` has written."""
    found = []
    for n, starts in enumerate(json.loads((folder / "starts.json").read_text("utf-8")), 1):
        keys, occurrences, suffixes = (
            Column(folder / f"{name}_{n}", np.int64) for name in ("keys", "occurrences", "suffixes")
        )
        found.append(StoredCounts(keys, occurrences, suffixes, tuple(starts)))
    return found


def store_counts(
    counted: Iterable[tuple[np.ndarray, np.ndarray]], folder: Path, config: NGramConfig, texts: int, rows: int, bar: Any
) -> None:
    """Number the n-grams of sorted windows.

    Args:
        counted: parts of the different windows, increasing, as `Packing` has them, and their numbers of occurrences.
        folder: where the columns go; empty.
        texts: how many there are, and so how often `<s>` occurs, which is never predicted.
        rows: how many may be in memory.
        bar: a progress bar of occurrences.

    Raises:
        ValueError: the windows are not increasing.
    """
    numbering = _Numbering(folder, config)
    for windows, occurrences in counted:
        if len(windows):
            numbering.add(windows, occurrences)
        bar.update(int(occurrences.sum()))
    numbering.finish(texts)
    (folder / "starts.json").write_text(json.dumps(numbering.starts), "utf-8", newline="\n")
    counts = open_counts(folder)
    counts[0].suffixes.append(np.arange(config.vocab_size))
    for n in range(2, config.order + 1):
        _store_suffixes(counts, n, config.vocab_size, rows)


def pack_batches(batches: Iterable[Any], config: NGramConfig) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the windows that `count_windows` writes, in Arrow batches, as `store_counts` takes them."""
    packing = Packing(config.order, config.vocab_size)
    for batch in batches:
        words = np.stack([batch.column(n).to_numpy() for n in range(config.order)])
        yield packing.pack_words(words), batch.column(config.order).to_numpy()


class _Numbering:
    """A numbering of the n-grams of all orders in the sorted windows; `starts` are those of `StoredCounts`."""

    def __init__(self, folder: Path, config: NGramConfig) -> None:
        self.order, self.vocab_size = config.order, config.vocab_size
        self.bos: int = config.bos_token_id  # type: ignore[assignment]  # make_stream has seen it
        self.packing = Packing(self.order, self.vocab_size)
        orders = range(1, self.order + 1)
        self.keys = [Column(folder / f"keys_{n}", np.int64) for n in orders]
        self.occurrences = [Column(folder / f"occurrences_{n}", np.int64) for n in orders]
        self.words = np.zeros(self.vocab_size, np.int64)  # how often each occurs in the corpus
        self.last = np.zeros(self.packing.columns, np.int64)  # the window before; none is 0
        self.sizes = [self.vocab_size] + [0] * (self.order - 1)
        self.starts = [(self.bos, self.bos + 1)] + [(0, 0)] * (self.order - 1)

    def add(self, windows: np.ndarray, occurrences: np.ndarray) -> None:
        """Number the n-grams of the next windows, (windows, columns), and sum their occurrences, (windows,)."""
        _check_order(self.last, windows)
        numbers = self.packing.word(windows, 0) - 1  # of the n-gram that each window begins with, from order 1 on
        self.words += np.bincount(numbers, occurrences, minlength=self.vocab_size).astype(np.int64)
        bounds = np.searchsorted(numbers, [self.bos, self.bos + 1])  # of the windows that begin with <s>
        differences = self.packing.differences(self.last, windows)
        next(differences)
        for n, new in enumerate(differences, 1):
            at = np.flatnonzero(new)
            words, sums = self.packing.word(windows.take(at, 0), n), self._sum_occurrences(n, at, occurrences)
            if not (exists := words > 0).all():
                new[at[~exists]] = False
                at, words, sums = at[exists], words[exists], sums[exists]
            keys = numbers.take(at)
            keys *= self.vocab_size
            keys += words
            keys -= 1
            self.keys[n].append(keys)
            self.occurrences[n].append(sums)
            low, high = np.searchsorted(at, bounds).tolist()
            self.starts[n] = self.starts[n][0] + low, self.starts[n][1] + high
            if n + 1 < self.order:
                numbers = np.cumsum(new)
                numbers += self.sizes[n] - 1
            self.sizes[n] += len(at)
        self.last = windows[-1].copy()

    def _sum_occurrences(self, n: int, at: np.ndarray, occurrences: np.ndarray) -> np.ndarray:
        """Return the occurrences of the n-grams that begin `at`; the windows before them go on with the last n-gram."""
        if len(at) == len(occurrences):
            return occurrences
        first = at[0] if len(at) else len(occurrences)
        if first > 0:
            end = len(self.occurrences[n])
            self.occurrences[n].write(end - 1, self.occurrences[n].read(end - 1, end) + occurrences[:first].sum())
        return np.add.reduceat(occurrences, at) if len(at) else occurrences[:0]

    def finish(self, texts: int) -> None:
        """Write the words."""
        self.words[self.bos] -= texts
        self.keys[0].append(np.arange(self.vocab_size))
        self.occurrences[0].append(self.words)


def _check_order(before: np.ndarray, windows: np.ndarray) -> None:
    """Raise a ValueError if windows are not sorted, or one comes twice."""
    larger, equal = np.zeros(len(windows), bool), np.ones(len(windows), bool)
    for column, first in zip(windows.T, before, strict=True):
        larger[1:] |= equal[1:] & (column[1:] > column[:-1])
        equal[1:] &= column[1:] == column[:-1]
        larger[0] |= equal[0] and column[0] > first
        equal[0] &= column[0] == first
    if not larger.all():
        raise ValueError("the counted windows are not sorted by their words; the files are damaged: count again")


def _store_suffixes(counts: list[StoredCounts], n: int, vocab_size: int, rows: int) -> None:
    """Find each n-gram without its first word: the suffix of its prefix, and its last word."""
    entry, shorter = counts[n - 1], counts[n - 2]
    for _, keys in entry.keys.blocks(rows):
        prefixes = keys // vocab_size
        keys -= prefixes * vocab_size  # the last words
        if n > 2:
            low, high = int(prefixes[0]), int(prefixes[-1]) + 1
            prefixes -= low
            keys += shorter.suffixes.read(low, high).take(prefixes) * vocab_size
            keys = shorter.keys.find(keys, rows)
        entry.suffixes.append(keys)


def parts(counts: list[StoredCounts], n: int, vocab_size: int, rows: int) -> Iterator[tuple[slice, slice]]:
    """Cut the n-grams of order n between contexts: slices of contexts, and of their n-grams, about `rows` of these."""
    keys, contexts = counts[n - 1].keys, len(counts[n - 2].keys) if n > 1 else 1
    rows, total, context, start = max(rows, vocab_size + 1), len(keys), 0, 0
    while context < contexts:
        found = keys.read(start, start + rows)
        after, stop = contexts, start + len(found)
        if stop < total:
            after = int(found[-1]) // vocab_size
            stop = start + int(np.searchsorted(found, after * vocab_size))
        yield slice(context, after), slice(start, stop)
        context, start = after, stop
