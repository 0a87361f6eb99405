# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Windows of words as integers, sorted in runs on disk and merged: counting without an engine.

A window is the words from a position of a text on, `order` of them. Each word takes as many bits as the largest id + 1;
0 stands after the end of the text. So the windows are sorted by their words if their integers are. Where one integer is
too short, a window has two or more, sorted by the first, then the second, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from hf_lecture_models.models.ngram.counting_ngram import Stream
from hf_lecture_models.models.ngram.out_of_core.columns import Column

# Added to both integers of a pair: their bits are then those of positive normal floating-point numbers, whose order is
# that of the integers. numpy sorts complex numbers by real part, then imaginary part, several times as fast as rows.
_NORMAL = 1 << 52


class Packing:
    """The places of words in the integers of a window.

    >>> packing = Packing(order=3, vocab_size=7)
    >>> packing.bits, packing.columns
    (3, 1)
    >>> stream = Stream(np.array([0, 5, 1, 0, 1]), np.array([0, 1, 2, 0, 1]))
    >>> [f"{window:09b}" for window in packing.pack(stream)[:, 0]]
    ['001110010', '110010000', '010000000', '001010000', '010000000']
    """

    def __init__(self, order: int, vocab_size: int) -> None:
        self.order, self.bits = order, int(vocab_size).bit_length()
        # One integer has 63 bits beside its sign; those of pairs leave room for `_NORMAL`.
        self.words_each = (63 if order * self.bits <= 63 else 62) // self.bits
        self.columns = -(-order // self.words_each)

    def place(self, n: int) -> tuple[int, int]:
        """Return the column of word n (from 0), and how many bits are right of it."""
        column, word = divmod(n, self.words_each)
        last = min(self.order - column * self.words_each, self.words_each) - 1
        return column, (last - word) * self.bits

    def pack(self, stream: Stream) -> np.ndarray:
        """Return the window at each position of a stream, (tokens, columns) int64."""
        numbers = stream.words + 1
        windows = np.zeros((len(numbers), self.columns), np.int64)
        for n in range(self.order):
            column = windows[:, self.place(n)[0]]
            column <<= self.bits
            column[: max(len(numbers) - n, 0)] |= numbers[n:]
        self._clear_after_ends(windows, stream.places)
        return windows

    def _clear_after_ends(self, windows: np.ndarray, places: np.ndarray) -> None:
        """Set the words after the end of their text to 0: they are those of the next text."""
        ends = np.flatnonzero(np.append(places[1:] == 0, True))
        for n in range(1, self.order):  # the last windows of a text, of n words
            rows = ends[places[ends] >= n - 1] - (n - 1)
            column, right = self.place(n - 1)
            windows[rows, column] &= -1 << right
            windows[rows, column + 1 :] = 0

    def pack_words(self, words: np.ndarray) -> np.ndarray:
        """Return windows given as words, (order, windows) with -1 after the end of the text, as `pack` does."""
        windows = np.zeros((words.shape[1], self.columns), np.int64)
        for n in range(self.order):
            column, right = self.place(n)
            windows[:, column] |= (words[n] + np.int64(1)) << right
        return windows

    def word(self, windows: np.ndarray, n: int) -> np.ndarray:
        """Return word n (from 0) of each window, plus 1; 0 after the end of the text."""
        column, right = self.place(n)
        return (windows[:, column] >> right) & ((1 << self.bits) - 1)

    def differences(self, before: np.ndarray, windows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield for each n, from 0, where a word of 0 to n differs from that of the window before, (windows,) bool.

        Args:
            before: (columns,) the window before the first one.
        """
        earlier = np.zeros(len(windows), bool)
        for n in range(self.order):
            column, right = self.place(n)
            if n % self.words_each == 0:
                changed = windows[:, column].copy()
                changed[1:] ^= windows[:-1, column]
                changed[:1] ^= before[column]
            yield earlier | (changed >= 1 << right) if column else changed >= 1 << right
            if right == 0:
                earlier = earlier | (changed > 0)


def sort(windows: np.ndarray, are_parts: bool = False) -> None:
    """Sort windows, (windows, columns) int64 in one block of memory, in place.

    >>> windows = np.array([[2, 0], [1, 9], [1, 3]])
    >>> sort(windows)
    >>> windows.tolist()
    [[1, 3], [1, 9], [2, 0]]

    Args:
        are_parts: several sorted parts follow one another, which is faster.
    """
    columns = windows.shape[1]
    kind: Literal["stable", "quicksort"] = "stable" if are_parts else "quicksort"
    if columns == 1:
        windows[:, 0].sort(kind=kind)
    elif columns == 2:
        windows += _NORMAL
        windows.view(np.complex128)[:, 0].sort(kind=kind)
        windows -= _NORMAL
    else:
        windows[:] = windows[np.lexsort(windows.T[::-1])]


def write_runs(parts: Iterable[np.ndarray], folder: Path, columns: int, rows: int) -> None:
    """Write windows to files of at most `rows` windows, each file sorted."""
    held, filled, number = np.empty((rows, columns), np.int64), 0, 0
    for part in parts:
        while len(part):
            taken, part = part[: rows - filled], part[rows - filled :]
            held[filled : filled + len(taken)] = taken
            filled += len(taken)
            if filled == rows:
                _write_run(held, folder, number)
                filled, number = 0, number + 1
    if filled:
        _write_run(held[:filled], folder, number)


def _write_run(windows: np.ndarray, folder: Path, number: int) -> None:
    sort(windows)
    Column(folder / f"run_{number:06}", np.int64).append(windows.reshape(-1))


class _Run:
    """A file of sorted windows; a part of them is in memory."""

    def __init__(self, path: Path, columns: int, rows: int) -> None:
        self._column, self._columns, self._rows = Column(path, np.int64), columns, rows
        self._read, self._size = 0, len(self._column)
        self.held = np.zeros((0, columns), np.int64)

    @property
    def is_finished(self) -> bool:
        """Return True if nothing is left on disk."""
        return self._read == self._size

    def fill(self) -> None:
        """Read windows until as many are in memory as may be."""
        if self.is_finished or len(self.held) >= self._rows:
            return
        stop = min(self._read + (self._rows - len(self.held)) * self._columns, self._size)
        found = self._column.read(self._read, stop).reshape(-1, self._columns)
        self.held = np.concatenate((self.held, found)) if len(self.held) else found
        self._read = stop

    def take(self, last: np.ndarray | None) -> np.ndarray:
        """Remove and return the windows in memory up to `last` itself; None: all."""
        at = len(self.held) if last is None else _rank(self.held, last)
        taken, self.held = self.held[:at], self.held[at:]
        return taken


def _rank(windows: np.ndarray, last: np.ndarray) -> int:
    """Return how many of some sorted windows are not larger than `last`, (columns,)."""
    low, high = 0, len(windows)
    for column, value in enumerate(last):
        part = windows[low:high, column]
        end = low + int(np.searchsorted(part, value, side="right"))
        if column == len(last) - 1:
            return end
        low, high = low + int(np.searchsorted(part, value)), end
    return high


def merge_runs(folder: Path, columns: int, rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the different windows, increasing, (windows, columns), with their occurrences, (windows,) int64.

    Each run has an equal part of `rows` in memory. The windows up to the least of the parts' last ones can be merged:
    all windows on disk are larger, or equal to it.
    """
    paths = sorted(folder.glob("run_*"))
    runs = [_Run(path, columns, max(rows // len(paths), 1)) for path in paths]
    last, last_count = np.zeros((0, columns), np.int64), 0  # the largest window so far, which may come again
    while runs:
        for run in runs:
            run.fill()
        ends = [run.held[-1] for run in runs if not run.is_finished]
        until = min(ends, key=tuple) if ends else None
        windows = np.concatenate([last, *(run.take(until) for run in runs)])
        runs = [run for run in runs if len(run.held) or not run.is_finished]
        first = _sort_and_mark(windows)
        occurrences = np.diff(first, append=len(windows))
        if len(last):
            occurrences[0] += last_count - 1
        windows = windows[first]
        last, last_count = windows[-1:].copy(), int(occurrences[-1])
        if len(windows) > 1:
            yield windows[:-1], occurrences[:-1]
    if len(last):
        yield last, np.array([last_count])


def _sort_and_mark(windows: np.ndarray) -> np.ndarray:
    """Sort windows in place; return where each different one begins."""
    sort(windows, are_parts=True)
    new = np.ones(len(windows), bool)
    new[1:] = windows[1:, 0] != windows[:-1, 0]
    for column in windows.T[1:]:
        new[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(new)
