# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Arrays on disk that do not fit into memory: appended to, read in parts, and looked up in order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hf_lecture_models.models.ngram.counting_ngram import sort_keys

WHOLE = 4
"""A column of so many times the rows that may be in memory is read whole: a row is one number, an n-gram has many."""
_CACHED = 1 << 13  # numbers that stay in the processor's cache


class Column:
    """A (rows,) array in a file that holds its numbers alone; the file is created if it does not exist.

    >>> import tempfile
    >>> column = Column(Path(tempfile.mkdtemp()) / "squares", np.int64)
    >>> column.append(np.array([0, 1, 4]))
    >>> column.append(np.array([9, 16]))
    >>> len(column), column.read(2, 4).tolist(), column.gather(np.array([4, 1, 4]), rows=2).tolist()
    (5, [4, 9], [16, 1, 16])
    """

    def __init__(self, path: Path, dtype: type) -> None:
        self.path, self.dtype = path, np.dtype(dtype)
        path.touch()

    def __len__(self) -> int:
        return self.path.stat().st_size // self.dtype.itemsize

    def append(self, values: np.ndarray) -> None:
        """Write values after the last ones."""
        with open(self.path, "ab") as file:
            file.write(np.ascontiguousarray(values, self.dtype).data)

    def write(self, start: int, values: np.ndarray) -> None:
        """Write values over those from `start` on."""
        with open(self.path, "r+b") as file:
            file.seek(start * self.dtype.itemsize)
            file.write(np.ascontiguousarray(values, self.dtype).data)

    def read(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Return the values from `start` to before `stop`, or as many as there are."""
        count = -1 if stop is None else max(stop - start, 0)
        return np.fromfile(self.path, self.dtype, count, offset=start * self.dtype.itemsize)

    def blocks(self, rows: int) -> Iterator[tuple[int, np.ndarray]]:
        """Yield all values in blocks of at most `rows`, each with the index of its first value."""
        for start in range(0, len(self), rows):
            yield start, self.read(start, start + rows)

    def gather(self, indices: np.ndarray, rows: int) -> np.ndarray:
        """Return the values at `indices`, in any order; `rows` are in memory at a time."""
        if len(self) <= WHOLE * rows:
            return self.read().take(indices)
        wanted, order = sort_keys(indices.copy(), np.arange(len(indices)), are_parts=True)
        found = np.empty(len(indices), self.dtype)
        for start, block in self.blocks(rows):
            low, high = np.searchsorted(wanted, [start, start + len(block)])
            found[order[low:high]] = block[wanted[low:high] - start]
        return found

    def find(self, values: np.ndarray, rows: int) -> np.ndarray:
        """Return the index of each value in an increasing column that has them all; `rows` are in memory at a time."""
        wanted, order = sort_keys(values.copy(), np.arange(len(values)), are_parts=True)
        found = np.empty(len(values), np.int64)
        low = 0
        for start, block in self.blocks(rows):
            high = low + int(np.searchsorted(wanted[low:], block[-1], side="right"))
            found[order[low:high]] = start + _find_in_order(block, wanted[low:high])
            low = high
        return found

    def count(self, indices: np.ndarray, rows: int) -> None:
        """Add to each value how often its index is among `indices`; `rows` are in memory at a time."""
        wanted, times = np.unique(indices, return_counts=True)
        for start, block in self.blocks(rows):
            low, high = np.searchsorted(wanted, [start, start + len(block)])
            if low < high:
                block[wanted[low:high] - start] += times[low:high]
                self.write(start, block)

    def map(self) -> np.ndarray:
        """Map the whole array: its parts come to memory when they are used. Windows does not delete it then."""
        return np.memmap(self.path, self.dtype, "c") if len(self) else np.zeros(0, self.dtype)


def zeros(path: Path, dtype: type, rows: int) -> Column:
    """Create a column of zeros."""
    column = Column(path, dtype)
    with open(path, "r+b") as file:
        file.truncate(rows * column.dtype.itemsize)
    return column


def _find_in_order(table: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the index in `table` of each value; both are increasing. Only a small part of the table is searched."""
    found = np.empty(len(values), np.int64)
    starts = range(0, len(table), _CACHED)
    bounds = [*np.searchsorted(values, table[::_CACHED]).tolist(), len(values)]
    for start, low, high in zip(starts, bounds[:-1], bounds[1:], strict=True):
        if low < high:
            found[low:high] = start + table[start : start + _CACHED].searchsorted(values[low:high])
    return found
