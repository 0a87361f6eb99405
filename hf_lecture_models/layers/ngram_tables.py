# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The tables of a back-off n-gram model, the form of ARPA files: flat sorted arrays, and searching in them.

An n-gram u w (prefix u of n-1 words) is one integer, ``index of u × vocabulary + w``, and an order's table is the
sorted list of these integers. Its position in the list is the n-gram's index, and the next order's keys are made of it.

    p(w | u) = p_stored(u w)                if u w is stored
             = backoff(u) p(w | u')         else, u' being u without its first word; backoff(u) = 1 if u is not stored
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass
class NGramTables:
    """The tables that estimation and ARPA files produce. Logarithms are base 10, float32."""

    vocab_size: int
    keys: list[np.ndarray]  # [n-2] for n = 2..order: int64, increasing; a prefix index of order 1 is the word
    log10_probs: list[np.ndarray]  # [n-1]; order 1 is dense over the vocabulary; -inf is probability 0
    log10_backoffs: list[np.ndarray]  # [n-1] for n = 1..order-1; 0 where a context has no weight of its own

    @property
    def order(self) -> int:
        """Words in the longest n-gram."""
        return len(self.log10_probs)

    @property
    def sizes(self) -> list[int]:
        """Number of n-grams of each order."""
        return list(map(len, self.log10_probs))

    def check(self) -> NGramTables:
        """Return self, or raise a ValueError that names the damaged table."""
        sizes = self.sizes
        if sizes[0] != self.vocab_size:
            raise ValueError(f"the 1-gram table has {sizes[0]} rows for a vocabulary of {self.vocab_size}")
        for n, keys in enumerate(self.keys, 2):
            if keys.dtype != np.int64:
                raise ValueError(f"{n}-gram table: the keys are not all int64; the table is damaged")
            if len(keys) != sizes[n - 1] or (keys[1:] <= keys[:-1]).any():
                raise ValueError(f"{n}-gram table: the keys are too few, unsorted or repeated; the table is damaged")
            self._check_range(n, keys)
        for n, probs in enumerate(self.log10_probs, 1):
            if probs.dtype != np.float32 or not (probs <= 0).all():
                rule = "a log-probability is positive or NaN, or not float32"
                raise ValueError(f"{n}-gram table: {rule}; the table is damaged")
        for n, backoffs in enumerate(self.log10_backoffs, 1):
            if backoffs.dtype != np.float32 or len(backoffs) != sizes[n - 1] or not (backoffs < np.inf).all():
                rule = "a back-off weight is missing, infinite or NaN, or not float32"
                raise ValueError(f"{n}-gram table: {rule}; the table is damaged")
        return self

    def _check_range(self, n: int, keys: np.ndarray) -> None:
        if len(keys) and (keys[0] < 0 or keys[-1] >= self.sizes[n - 2] * self.vocab_size):
            raise ValueError(f"{n}-gram table: a key names a prefix that is not stored; the table is damaged")


def find(keys: Tensor, queries: Tensor) -> Tensor:
    """Index of each query, (queries,), in the increasing ``keys``; -1 where it is absent.

    >>> find(torch.tensor([3, 5, 9]), torch.tensor([9, 4, 3]))
    tensor([ 2, -1,  0])
    """
    if len(keys) == 0 or len(queries) == 0:
        return torch.full_like(queries, -1)
    return (_find_in_order if queries.device.type == "cpu" else _find_in_parallel)(keys, queries)


def where_true(mask: Tensor) -> Tensor:
    """Indices of the True, (true,) int64.

    >>> where_true(torch.tensor([True, False, True]))
    tensor([0, 2])
    """
    if mask.device.type != "cpu":
        return mask.nonzero().squeeze(1)
    return torch.from_numpy(np.flatnonzero(mask.numpy()))  # several times as fast


def _find_in_parallel(keys: Tensor, queries: Tensor) -> Tensor:
    places = torch.searchsorted(keys, queries).clamp_(max=len(keys) - 1)
    return places.masked_fill_(keys.index_select(0, places) != queries, -1)


def _find_in_order(keys: Tensor, queries: Tensor) -> Tensor:
    # Neighbouring queries use the same cache lines, and numpy starts each where the last one ended: several times
    # faster than a search without order, sorting included. A repeated query is searched once.
    table = keys.numpy()
    ordered, origins = sort_keys(queries.numpy().copy(), np.arange(len(queries)))
    new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    distinct = ordered[new]
    places = table.searchsorted(distinct)
    np.minimum(places, len(table) - 1, out=places)
    places[table.take(places) != distinct] = -1
    found = np.empty_like(ordered)
    found[origins] = places.take(np.cumsum(new, dtype=np.int64) - 1)  # torch.compile's numpy wants the type
    return torch.from_numpy(found)


def sort_keys(keys: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort keys together with their increasing positions; equal keys stay in their order.

    The keys are overwritten.

    >>> sort_keys(np.array([7, 5, 7]), np.array([2, 4, 6]))
    (array([5, 7, 7]), array([4, 2, 6]))
    """
    bits = int(positions.max(initial=0)).bit_length()
    if int(keys.max(initial=0)).bit_length() + bits > 63 or keys.min(initial=0) < 0:
        order = np.argsort(keys, kind="stable")
        return keys[order], positions[order]
    keys <<= bits  # one number holds both: sorting numbers is several times faster than finding their order
    keys |= positions
    keys.sort()
    positions = keys & ((1 << bits) - 1)
    keys >>= bits
    return keys, positions
