# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`GrowingLayer` beside transformers' `DynamicLayer`: the same keys and values, whatever is done to the cache."""

import copy

import pytest
import torch
from transformers.cache_utils import DynamicCache, DynamicLayer

from hf_lecture_models.layers.growing_cache import GrowingLayer, SourceLayer, use_growing_cache


def caches() -> tuple[DynamicCache, DynamicCache]:
    theirs, ours = DynamicCache(), DynamicCache()
    theirs.layers, ours.layers = [DynamicLayer(), DynamicLayer()], [DynamicLayer(), DynamicLayer()]
    use_growing_cache(ours)
    assert all(type(layer) is GrowingLayer for layer in ours.layers)
    return theirs, ours


def update(cache: DynamicCache, seq: int, seed: int, rows: int = 2) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [
        tensor
        for layer in range(2)
        for tensor in cache.update(*torch.randn(2, rows, 3, seq, 4, generator=generator), layer)
    ]


def states(cache: DynamicCache) -> list[torch.Tensor]:
    return [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


def assert_equal(theirs: list[torch.Tensor], ours: list[torch.Tensor]) -> None:
    assert all(torch.equal(a, b) for a, b in zip(theirs, ours, strict=True))


@torch.no_grad()
def test_appending_gives_what_joining_gives():
    theirs, ours = caches()
    for step in range(200):
        assert_equal(update(theirs, 1 + step % 3, step), update(ours, 1 + step % 3, step))
    assert theirs.get_seq_length() == ours.get_seq_length() == 399


@torch.no_grad()
def test_memory_is_taken_seldom():
    _, ours = caches()
    places = {}
    for step in range(400):
        update(ours, 1, step)
        keys = ours.layers[0].keys
        places[keys.data_ptr()] = keys  # held, so that no other memory gets the same address
    # 64 free, then a quarter more each time: 65, 130, 195, 260, 325, 407.
    assert len(places) <= 7


CHANGES = {
    "crop": lambda cache: cache.crop(-2),
    "reorder": lambda cache: cache.reorder_cache(torch.tensor([1, 0])),
    "repeat": lambda cache: (cache.batch_repeat_interleave(2), cache.batch_select_indices(torch.tensor([0, 3])))[0],
    "offload": lambda cache: [(layer.offload(), layer.prefetch()) for layer in cache.layers],
    "reset": lambda cache: [layer.reset() for layer in cache.layers],
}


@torch.no_grad()
@pytest.mark.parametrize("change", CHANGES)
def test_changes_between_steps(change):
    theirs, ours = caches()
    for step in range(4):
        update(theirs, 3, step), update(ours, 3, step)
        CHANGES[change](theirs), CHANGES[change](ours)
        assert_equal(update(theirs, 1, step), update(ours, 1, step))


@torch.no_grad()
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_and_its_original_do_not_write_into_each_other(copied):
    first, second = GrowingLayer(), None
    start, one, two = torch.zeros(1, 1, 3, 2), torch.ones(1, 1, 1, 2), torch.full((1, 1, 1, 2), 2.0)
    first.update(start, start)
    second = copied(first)
    first.update(one, one), second.update(two, two)
    assert torch.equal(first.keys, torch.cat((start, one), 2))
    assert torch.equal(second.keys, torch.cat((start, two), 2))


@torch.no_grad()
def test_keys_held_from_before_a_crop_stay():
    layer = GrowingLayer()
    layer.update(torch.zeros(1, 1, 3, 2), torch.zeros(1, 1, 3, 2))
    held = layer.keys
    layer.crop(-1)
    layer.update(torch.ones(1, 1, 1, 2), torch.ones(1, 1, 1, 2))
    assert torch.equal(held, torch.zeros(1, 1, 3, 2))


@torch.no_grad()
def test_keys_held_from_before_a_reorder_stay():
    layer = GrowingLayer()
    layer.update(torch.arange(2.0).view(2, 1, 1, 1), torch.zeros(2, 1, 1, 1))
    held = [layer.keys.clone(), layer.keys]
    for token in range(3):
        layer.reorder_cache(torch.tensor([1, 0]))
        layer.update(torch.full((2, 1, 1, 1), 9.0 + token), torch.zeros(2, 1, 1, 1))
        held += [layer.keys.clone(), layer.keys]
    assert all(torch.equal(then, now) for then, now in zip(held[::2], held[1::2], strict=True))


@torch.no_grad()
def test_beams_of_one_row_share_their_source():
    layer = SourceLayer(beams=3)
    keys, _ = layer.update(torch.ones(3, 1, 2, 2), torch.ones(3, 1, 2, 2))
    layer.reorder_cache(torch.tensor([2, 0, 0]))
    assert layer.keys is keys


@pytest.mark.parametrize("rows", [[0, 0, 3, 2], [2, 3, 0, 1], [0, 2], [1, 0, 0]])
def test_beams_share_a_source_and_rows_do_not(rows):
    """Beams 0 and 1 are of one row, 2 and 3 of another."""
    theirs, ours = DynamicLayer(), SourceLayer(beams=2)
    for layer in (theirs, ours):
        states = torch.tensor([5.0, 5.0, 6.0, 6.0]).view(4, 1, 1, 1)
        layer.update(states, -states)
        layer.reorder_cache(torch.tensor(rows))
    assert torch.equal(theirs.keys, ours.keys)
    assert torch.equal(theirs.values, ours.values)


def test_gradients_flow_through_the_cache():
    theirs, ours = caches()
    gradients = []
    for cache in (theirs, ours):
        k = torch.ones(1, 1, 2, 2, requires_grad=True)
        keys, _ = cache.update(k, k, 0)
        product = (keys * keys).sum()
        keys, _ = cache.update(k * 3, k, 0)
        (product + (keys * keys).sum()).backward()
        gradients.append(k.grad)
    assert torch.equal(*gradients)


def test_memory_of_inference_mode_is_left_alone_outside():
    layer = GrowingLayer()
    with torch.inference_mode():
        layer.update(torch.zeros(1, 1, 3, 2), torch.zeros(1, 1, 3, 2))
    with torch.no_grad():
        keys, _ = layer.update(torch.ones(1, 1, 1, 2), torch.ones(1, 1, 1, 2))
    assert keys[0, 0, :, 0].tolist() == [0, 0, 0, 1]


@torch.no_grad()
def test_other_rows_are_refused_and_other_types_widen_as_when_joining():
    theirs, ours = caches()
    for cache in (theirs, ours):
        update(cache, 3, seed=0)
        with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
            update(cache, 1, seed=1, rows=1)
    theirs, ours = caches()
    for step, dtype in enumerate((torch.float16, torch.float32, torch.float32, torch.float16)):
        new = torch.full((2, 3, 1, 4), 1.0001 + step, dtype=dtype)
        expected, found = theirs.update(new, new, 1), ours.update(new, new, 1)
        assert_equal(expected, found)
        assert expected[0].dtype == found[0].dtype


def test_a_cache_that_offloads_keeps_its_layers():
    class Offloading(DynamicCache):
        offloading = True

        def __init__(self):
            self.layers = [DynamicLayer()]

    cache = Offloading()
    use_growing_cache(cache)
    assert type(cache.layers[0]) is DynamicLayer
