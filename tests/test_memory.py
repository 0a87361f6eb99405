# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What tests/memory.py counts, and what it does not."""

import tracemalloc

import numpy as np
import pytest
import torch

from tests.memory import memory_taken

MEGABYTE = 10**6


@pytest.mark.parametrize("make", [bytes, lambda size: np.ones(size // 8)], ids=["Python", "numpy"])
def test_the_most_that_is_held_at_one_time_is_counted(make):
    before = make(5 * MEGABYTE)
    with memory_taken() as memory:
        for _ in range(3):
            make(2 * MEGABYTE)
        held = make(2 * MEGABYTE), make(2 * MEGABYTE)
    assert len(before) > len(held)
    assert 4 * MEGABYTE < memory.python < 5 * MEGABYTE
    assert memory.torch == 0


def test_each_tensor_is_counted_once_with_the_memory_that_it_does_not_touch():
    given = torch.zeros(1000)
    with memory_taken() as memory:
        made = torch.empty(2**24)
        made[0] = 1
        views = made.view(2, -1)[0][:3], given.view(10, -1), torch.from_numpy(np.ones(5)), made.add_(0)
        torch.empty(2**40, 2**10, device="meta") + 1
    assert len(views) == 4
    assert memory.torch == 4 * 2**24
    assert memory.python < MEGABYTE


def test_the_block_may_fail_or_stand_in_another():
    with pytest.raises(ValueError, match="torn"), memory_taken() as memory:
        bytes(MEGABYTE), torch.zeros(MEGABYTE, dtype=torch.uint8)
        raise ValueError("torn")
    assert memory.torch == MEGABYTE
    assert memory.python > MEGABYTE
    tracing = tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        with memory_taken() as inner:
            pass
        assert tracemalloc.is_tracing()
        assert inner.python < MEGABYTE
    finally:
        if not tracing:
            tracemalloc.stop()
