# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The memory that a call takes, counted where it is asked for.

The size of the process says something else: also which pages of a library were touched for the first time, which
depends on what is installed and on which tests ran before.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


@dataclass
class Memory:
    """Bytes; known at the end of the block."""

    python: int = 0
    """The most that Python and numpy held at one time, beside what they held before."""
    torch: int = 0
    """All that torch's operations in this thread were given, also what they gave back."""


@contextmanager
def memory_taken() -> Iterator[Memory]:
    """Count the memory that the block takes, also if it ends in an error."""
    memory, tracing = Memory(), tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    try:
        with _Storages(memory):
            yield memory
    finally:
        memory.python = tracemalloc.get_traced_memory()[1] - before
        if not tracing:
            tracemalloc.stop()


class _Storages(TorchDispatchMode):
    """Counts the storages of results that are none of the arguments'; tracemalloc does not see them."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        known = {storage._cdata for storage in _storages((args, kwargs))}
        for storage in _storages(result):
            if storage._cdata not in known:
                known.add(storage._cdata)
                self.memory.torch += storage.nbytes()
        return result


def _storages(values: Any) -> list[torch.UntypedStorage]:
    tensors = (value for value in tree_leaves(values) if isinstance(value, torch.Tensor))
    return [tensor.untyped_storage() for tensor in tensors if tensor.device.type != "meta"]
