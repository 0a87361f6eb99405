# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Searching in the sorted tables of an n-gram model."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


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
