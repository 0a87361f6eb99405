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
        numbers = np.arange(start, stop)
        is_start = (self.starts[0] <= numbers) & (numbers < self.starts[1])
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


def store_counts(batches: Iterable[Any], folder: Path, config: NGramConfig, texts: int, rows: int, bar: Any) -> None:
    """Number the n-grams of the sorted windows that `count_windows` writes, in Arrow batches.

    Args:
        batches: the windows.
        folder: where the columns go; empty.
        texts: how many there are, and so how often `<s>` occurs, which is never predicted.
        rows: how many may be in memory.
        bar: a progress bar of rows.
    """
    numbering = _Numbering(folder, config)
    for batch in batches:
        words = np.stack([batch.column(n).to_numpy() for n in range(config.order)])
        numbering.add(words.astype(np.int64), batch.column(config.order).to_numpy())
        bar.update(batch.num_rows)
    numbering.finish(texts)
    (folder / "starts.json").write_text(json.dumps(numbering.starts), "utf-8", newline="\n")
    counts = open_counts(folder)
    counts[0].suffixes.append(np.arange(config.vocab_size))
    for n in range(2, config.order + 1):
        _store_suffixes(counts, n, config.vocab_size, rows)


class _Numbering:
    """A numbering of the n-grams of all orders in the sorted windows; `starts` are those of `StoredCounts`."""

    def __init__(self, folder: Path, config: NGramConfig) -> None:
        self.order, self.vocab_size = config.order, config.vocab_size
        self.bos: int = config.bos_token_id  # type: ignore[assignment]  # make_stream has seen it
        orders = range(1, self.order + 1)
        self.keys = [Column(folder / f"keys_{n}", np.int64) for n in orders]
        self.occurrences = [Column(folder / f"occurrences_{n}", np.int64) for n in orders]
        self.words = np.zeros(self.vocab_size, np.int64)  # how often each occurs in the corpus
        self.last = np.full((self.order, 1), -2)  # the window before
        self.sizes = [self.vocab_size] + [0] * (self.order - 1)
        self.pending = [0] * self.order  # occurrences of the last n-gram so far
        self.starts = [(self.bos, self.bos + 1)] + [(0, 0)] * (self.order - 1)

    def add(self, words: np.ndarray, occurrences: np.ndarray) -> None:
        """Number the n-grams of the next windows, (order, windows) words, and sum their occurrences, (windows,)."""
        before = np.concatenate((self.last, words[:, :-1]), axis=1)
        _check_order(before, words)
        np.add.at(self.words, words[0], occurrences)
        differs = words[0] != before[0]
        prefixes = words[0]
        for n in range(1, self.order):
            differs = differs | (words[n] != before[n])
            exists = words[n] >= 0
            new = differs & exists
            self.keys[n].append(prefixes[new] * self.vocab_size + words[n][new])
            self._add_occurrences(n, new[exists], occurrences[exists])
            low, high = self.starts[n]
            first = words[0][new]
            self.starts[n] = low + int((first < self.bos).sum()), high + int((first <= self.bos).sum())
            prefixes = self.sizes[n] - 1 + np.cumsum(new)
            self.sizes[n] += int(new.sum())
        self.last = words[:, -1:]

    def _add_occurrences(self, n: int, new: np.ndarray, occurrences: np.ndarray) -> None:
        """Sum the occurrences of windows that share an n-gram; the last n-gram may go on in the next batch."""
        firsts = np.flatnonzero(new)
        if len(firsts) == 0:
            self.pending[n] += int(occurrences.sum())
            return
        sums = np.add.reduceat(occurrences, firsts)
        finished = self.pending[n] + int(occurrences[: firsts[0]].sum())
        if self.sizes[n]:
            self.occurrences[n].append(np.array([finished]))
        self.occurrences[n].append(sums[:-1])
        self.pending[n] = int(sums[-1])

    def finish(self, texts: int) -> None:
        """Write the last n-gram of each order, and the words."""
        for n in range(1, self.order):
            self.occurrences[n].append(np.array([self.pending[n]]))
        self.words[self.bos] -= texts
        self.keys[0].append(np.arange(self.vocab_size))
        self.occurrences[0].append(self.words)


def _check_order(before: np.ndarray, words: np.ndarray) -> None:
    """Raise a ValueError if an engine has left the windows unsorted, or gives one twice."""
    differs = before != words
    first = differs.argmax(axis=0)
    at = np.arange(words.shape[1])
    if not (differs[first, at] & (before[first, at] < words[first, at])).all():
        raise ValueError("the engine's counts are not sorted by their words; the files are damaged: count again")


def _store_suffixes(counts: list[StoredCounts], n: int, vocab_size: int, rows: int) -> None:
    """Find each n-gram without its first word: the suffix of its prefix, and its last word."""
    entry, shorter = counts[n - 1], counts[n - 2]
    for _, keys in entry.keys.blocks(rows):
        prefixes, words = np.divmod(keys, vocab_size)
        if n == 2:
            entry.suffixes.append(words)
            continue
        low, high = int(prefixes[0]), int(prefixes[-1]) + 1
        suffixes = shorter.suffixes.read(low, high)[prefixes - low]
        entry.suffixes.append(shorter.keys.find(suffixes * vocab_size + words, rows))


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
