# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The cache acts on every tensor that it holds."""

from __future__ import annotations

import copy

import pytest
import torch
from safetensors.torch import load, save
from torch.testing import assert_close

from hf_lecture_models.layers.recurrent_cache import RecurrentCache


def filled() -> RecurrentCache:
    """Two layers whose tensors differ in shape; every element tells its row."""
    rows = torch.arange(3.0)
    states = [(rows[:, None].repeat(1, 2), rows[:, None, None].repeat(1, 4, 5) + 10), (rows[:, None] + 20,)]
    return RecurrentCache.from_states(states, 7)


def rows_of(cache: RecurrentCache) -> list[list[float]]:
    return [(tensor.flatten(1)[:, 0] % 10).tolist() for state in cache.states for tensor in state]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda cache: cache.reorder_cache(torch.tensor([2, 0, 0])), [2, 0, 0]),
        (lambda cache: cache.batch_select_indices(torch.tensor([1])), [1]),
        (lambda cache: cache.batch_repeat_interleave(2), [0, 0, 1, 1, 2, 2]),
    ],
    ids=["reorder", "select", "repeat"],
)
def test_all_tensors_of_all_layers_change(change, expected) -> None:
    cache = filled()
    other = RecurrentCache.from_states(cache.states, 7)  # shares the tensors
    change(cache)
    assert rows_of(cache) == [expected] * 3
    assert cache.get_seq_length() == 7
    assert cache.batch_size == len(expected)
    assert rows_of(other) == [[0, 1, 2]] * 3, "tensors were changed in place"


def test_empty_cache() -> None:
    cache = RecurrentCache(2)
    cache.reorder_cache(torch.tensor([0]))
    assert (len(cache), cache.get_seq_length(), cache.batch_size, cache.states) == (2, 0, -1, [None, None])
    assert cache.get_max_length() == -1
    assert cache.get_mask_sizes(3, 0) == (3, 0)
    assert not cache.is_compileable
    assert not cache.is_croppable


def test_it_reads_as_any_cache() -> None:
    """Other programs count and visit `layers`, and ask each for its length."""
    cache = filled()
    assert len(cache) == len(cache.layers) == len(cache.states) == 2
    assert [layer.get_seq_length() for layer in cache.layers] == [cache.get_seq_length(index) for index in (0, 1)]
    assert [cache.get_seq_length(), cache.seen_tokens, cache.get_max_length(), cache.get_query_offset()] == [
        7,
        7,
        -1,
        7,
    ]
    assert cache.get_mask_sizes(3, 1) == (10, 0)
    assert (cache.is_sliding, cache.is_linear) == ([False] * 2,) * 2
    assert not any((cache.is_compileable, cache.is_croppable, cache.is_initialized))
    # Newer than transformers 5.20.
    if hasattr(cache, "is_recording_past"):
        assert not cache.is_recording_past(0)
    if hasattr(cache, "is_dummy"):
        assert cache.is_dummy == [False] * 2
    with pytest.raises(TypeError, match="holds no keys and values"):
        cache.update(torch.ones(3, 1, 1, 2), torch.ones(3, 1, 1, 2), 0)
    copied = copy.deepcopy(cache)
    copied.reset()
    assert (copied.states, copied.seen_tokens) == ([None, None], 0)
    assert rows_of(cache) == [[0, 1, 2]] * 3


def test_going_back_is_refused() -> None:
    cache = filled()
    cache.crop(0)
    assert rows_of(cache) == [[0, 1, 2]] * 3
    with pytest.raises(ValueError, match="cannot be rolled back"):
        cache.crop(-1)


def test_detach_makes_a_new_cache() -> None:
    state = torch.ones(1, 2, requires_grad=True) * 2
    cache = RecurrentCache.from_states([(state,)], 3)
    cut = cache.detach()
    assert cache.states[0][0].requires_grad
    assert not cut.states[0][0].requires_grad
    assert cut.seen_tokens == 3


@pytest.mark.parametrize("cache", [filled(), RecurrentCache(3)], ids=["filled", "empty"])
def test_tensors_round_trip_through_safetensors(cache: RecurrentCache) -> None:
    again = RecurrentCache.from_tensors(load(save(cache.to_tensors())))
    assert again.seen_tokens == cache.seen_tokens
    assert len(again) == len(cache)
    for ours, theirs in zip(again.states, cache.states, strict=True):
        assert (ours is None) == (theirs is None)
        assert_close(list(ours or ()), list(theirs or ()), rtol=0, atol=0)


def test_foreign_tensors_are_refused() -> None:
    with pytest.raises(ValueError, match="num_layers"):
        RecurrentCache.from_tensors({"weight": torch.ones(1)})
