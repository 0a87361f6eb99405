# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A sequence that keeps arrays and makes each of its items when it is asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import pairwise
from typing import Any, Self, TypeVar, overload

import numpy as np

Item = TypeVar("Item")

_AT_ONCE = 4096
"""As many items are made together while all are read: enough to be fast, few enough to hold."""


class MadeItems(Sequence[Item]):
    """A sequence whose items are made from arrays, equal ones each time.

    It has the length, indices, slices, iteration and comparison of a list, and can be pickled. A field that is set in
    an item changes nothing here; numbers written into an item's array do, for it is a part of the sequence's. A slice
    shares the arrays of the whole.
    """

    def __init__(self, length: int) -> None:
        self._whole = self._places = range(length)

    @abstractmethod
    def _make(self, begin: int, end: int) -> Iterator[Item]:
        """Yield the items of the whole from `begin` to `end`."""

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Item | Self:
        places = self._places[index]
        if isinstance(places, int):
            return next(self._make(places, places + 1))
        part = copy(self)
        part._places = places
        return part

    @property
    def is_whole(self) -> bool:
        """True if all items of the arrays are in the sequence, in their order; False for a part."""
        return self._places == self._whole

    def __iter__(self) -> Iterator[Item]:
        for first in range(0, len(self._places), _AT_ONCE):
            places = self._places[first : first + _AT_ONCE]
            if places.step == 1:
                yield from self._make(places.start, places.stop)
            else:
                for place in places:
                    yield from self._make(place, place + 1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(map(is_equal, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [repr(item) for item in self[:3]]
        more = [] if len(self) == len(shown) else ["..."]
        return f"{type(self).__name__}([{', '.join(shown + more)}], length={len(self)})"


def is_equal(one: Any, other: Any) -> bool:
    """Return whether items are equal, whose fields may be arrays.

    >>> is_equal((np.array([1, 2]), "a"), (np.array([1, 2]), "a")), is_equal(np.array([1, 2]), np.array([1]))
    (True, False)
    """
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(is_equal, one, other))
    return bool(one == other)


def bounds_of(sizes: np.ndarray) -> np.ndarray:
    """Return where each of the parts begins that are joined in one array, and at last where they end: (parts + 1,).

    >>> bounds_of(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate([[0], np.cumsum(sizes)])


def cut(values: Any, bounds: np.ndarray, begin: int, end: int, skipped: int = 0) -> list[Any]:
    """Return the parts `begin` to `end` of joined values, by their `bounds_of`, each without its first `skipped`.

    >>> cut("abc", np.array([0, 2, 2, 3]), 1, 3), cut("abc", np.array([0, 2, 2, 3]), 0, 3, skipped=1)
    (['', 'c'], ['b', '', ''])
    """
    places = bounds[begin : end + 1].tolist()
    return [values[first + skipped : last] for first, last in pairwise(places)]
