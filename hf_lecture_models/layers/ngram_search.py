# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Searching in the sorted tables of an n-gram model."""

from __future__ import annotations

import torch
from torch import Tensor

from hf_lecture_models.layers.execution import is_traced

FEW = 512  # queries, from which on it pays to sort them


def find(keys: Tensor, queries: Tensor) -> Tensor:
    """Index of each query, (queries,), in the increasing ``keys``; -1 where it is absent.

    >>> find(torch.tensor([3, 5, 9]), torch.tensor([9, 4, 3]))
    tensor([ 2, -1,  0])
    """
    if len(keys) == 0 or len(queries) == 0:
        return torch.full_like(queries, -1)
    if is_traced() or queries.device.type != "cpu" or len(queries) < FEW:
        return binary_search(keys, queries)
    # Neighbours use the same cache lines, and numpy begins each search where the last one ended: sorting pays.
    ordered, origins = queries.sort()
    found = _checked(torch.from_numpy(keys.numpy().searchsorted(ordered.numpy())), keys, ordered)
    return torch.empty_like(queries).index_copy_(0, origins, found)


def binary_search(keys: Tensor, queries: Tensor) -> Tensor:
    """Do what `find` does, with queries in any order; there is a key."""
    return _checked(torch.searchsorted(keys, queries), keys, queries)


def _checked(places: Tensor, keys: Tensor, queries: Tensor) -> Tensor:
    places = places.clamp_(max=len(keys) - 1)
    return places.masked_fill_(keys.index_select(0, places) != queries, -1)


def where_true(mask: Tensor) -> Tensor:
    """Indices of the True, (true,) int64.

    >>> where_true(torch.tensor([True, False, True]))
    tensor([0, 2])
    """
    if mask.device.type != "cpu":
        return mask.nonzero().squeeze(1)
    return torch.from_numpy(mask.numpy().nonzero()[0])  # several times as fast
