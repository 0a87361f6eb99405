# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Hash tables beside the sorted tables of an n-gram model, which find many queries several times as fast.

They are made once half as many queries as keys were asked for, in calls of `FEW` or more: to hash a key takes about as
long as two searches. They are not saved, copied or moved with the model. Keys that torch has changed, or other keys in
their place, are hashed when that pays for them. (What numpy, or torch by `.data`, writes into the memory of a buffer is
not noticed.)

A hash table has slots for a part of the keys. A slot has the row of one key with its hash, and a sign that other keys
with this hash are in the next table, which has other hashes and a third of the slots. A binary search finds what has no
slot in the last one: few keys, unless they were chosen to have equal hashes.

Slots have no keys, for each row found is compared with its key: this takes 7.2 bytes a key, and slots with keys, of 21
bytes, were not faster. Rows are int32; larger tables are searched.
"""

from __future__ import annotations

from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from hf_lecture_models.layers.execution import is_traced
from hf_lecture_models.layers.ngram_search import FEW, find, where_true
from hf_lecture_models.layers.ngram_trie import NGramTrie

_FACTOR = -7046029254386353131  # 2^64 / golden ratio, as torch has it, with a sign
_TABLES, _ROW, _MORE = 4, 2**31 - 1, -(2**31)
Array = TypeVar("Array", np.ndarray, Tensor)


class KeyIndex:
    """Hash tables of some keys, once they pay; the first has `slots` slots for each key."""

    def __init__(self, keys: Tensor, slots: float) -> None:
        self.keys, self.state, self.slots, self.asked = keys, _state(keys), slots, 0
        self.tables: list[Tensor] = []

    def is_of(self, keys: Tensor) -> bool:
        """Return whether it is of this tensor, which torch has not changed since, nor filled with other memory."""
        return self.keys is keys and self.state == _state(keys)

    def find(self, queries: Tensor) -> Tensor:
        """Index of each query among the keys, (queries,), or -1."""
        self.asked += len(queries)
        if not self.tables and pays(len(self.keys), self.asked):
            self.tables = hash_tables(self.keys, self.slots)
        if not self.tables:
            return find(self.keys, queries)
        asked: Any = queries.numpy() if queries.device.type == "cpu" else queries
        return find_hashed(self.keys, self.tables, asked)


INDEXES: WeakKeyDictionary[NGramTrie, dict[int, KeyIndex]] = WeakKeyDictionary()  # of each order of a trie


def find_indexed(self: NGramTrie, n: int, queries: Tensor) -> Tensor:
    """Index of each query, (queries,), among the keys of order n, or -1: `NGramTrie.find` of the package."""
    keys = self.keys(n)
    # Weights that are loaded for a call only are not kept; changes of tensors made in inference mode are not counted.
    if is_traced() or len(queries) < FEW or keys.is_meta or keys.is_inference() or hasattr(self, "_hf_hook"):
        return find(keys, queries)
    indexes = INDEXES.setdefault(self, {})
    if n not in indexes or not indexes[n].is_of(keys):
        # With logarithms of 8 bits the sorted tables are smaller, and so must be what is beside them.
        indexes[n] = KeyIndex(keys, 1.2 if self.bits is None else 0.9)
    return indexes[n].find(queries)


def _state(keys: Tensor) -> tuple[int, int]:
    return keys.data_ptr(), keys._version


def pays(keys: int, asked: int) -> bool:
    """Return whether so many keys are hashed after so many queries.

    >>> pays(1000, 499), pays(1000, 500), pays(2**31, 2**31)
    (False, True, False)
    """
    return 0 < keys <= min(2 * asked, _ROW)


def hash_tables(keys: Tensor, slots: float) -> list[Tensor]:
    """Return int32 tables for `find_hashed`, the first of ``slots`` slots a key, each of a third of the one before."""
    tables: list[Tensor] = []
    rows, hashes = torch.arange(len(keys), dtype=torch.int32, device=keys.device), keys * _FACTOR
    for level in range(_TABLES):
        table = rows.new_zeros(2 * max(int(slots * len(keys) / 3**level / 2), 1))
        at = _slots_of(hashes, len(table))
        # On a CPU the last one written stays: the smallest row, which is often that of the most frequent words.
        table.index_copy_(0, at.flip(0), rows.flip(0))
        left = where_true(table.index_select(0, at) != rows)
        at = at.index_select(0, left)
        tables.append(table.index_copy_(0, at, table.index_select(0, at) | _MORE))
        if len(left) == 0:
            break
        rows, hashes = rows.index_select(0, left), hashes.index_select(0, left)
    return tables


def _slots_of(hashes: Array, size: int) -> Array:
    """Return numbers below ``size``, which is even, (hashes,) int64; it makes the next hashes in the same memory."""
    hashes ^= hashes >> 32  # keys are regular, and one product would leave some of them so
    hashes *= _FACTOR
    slots = hashes >> 32  # the upper half, scaled
    slots *= size
    slots >>= 32
    slots += size // 2
    return slots


def find_hashed(keys: Tensor, tables: list[Tensor], queries: Array) -> Tensor:
    """Index of each query, (queries,), in the ``keys`` that the ``tables`` were made of; or -1.

    Queries on the CPU are best given as an array of numpy, whose operations begin sooner.

    >>> keys = torch.tensor([-3, 5, 9])
    >>> find_hashed(keys, hash_tables(keys, 1.2), np.array([9, 4, -3]))
    tensor([ 2, -1,  0])
    """
    places, at, hashes = queries, None, queries * _FACTOR
    for table in tables:
        slots = _taken(table, _slots_of(hashes, len(table)))
        rows = slots & _ROW
        same = _taken(keys, rows) == queries
        more = ((slots < 0) > same).nonzero()
        more = more[0] if isinstance(more, tuple) else more.squeeze(1)
        rows += 1  # -1 where it is another key, by arithmetic: faster than by a mask
        rows *= same
        rows -= 1
        if at is None:
            places, at = rows, more
        else:
            places[at] = rows
            at = at.take(more)
        queries, hashes = queries.take(more), hashes.take(more)
        if len(more) == 0:
            break
    found = torch.as_tensor(places).long()
    if len(queries):
        found.index_copy_(0, torch.as_tensor(at), find(keys, torch.as_tensor(queries)))
    return found


def _taken(values: Tensor, at: Array) -> Array:
    if isinstance(at, Tensor):
        return values.index_select(0, at)
    return values.index_select(0, torch.from_numpy(at)).numpy()  # faster than numpy's own
