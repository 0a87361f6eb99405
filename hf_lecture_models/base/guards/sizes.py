# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A model that would not fit into the memory is refused while it is built, before it fills the memory.

A mistyped number in a configuration asks for hundreds of gigabytes. Small models are built once, and only counted.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from functools import wraps
from types import BuiltinFunctionType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as hooks

from hf_lecture_models.io.compat import init
from hf_lecture_models.io.system import free_bytes

UNCHECKED = 2**28
"""Bytes of parameters and buffers that any model may take."""
_REGISTER = nn.Module.register_parameter


class _Counter(threading.local):
    """Called with the parameters and buffers of the model that a thread is building; each thread has its own."""

    count: Callable[[Tensor], None] | None = None


_COUNTER = _Counter()


def _count(_: nn.Module, name: str, tensor: Tensor | None) -> None:
    if _COUNTER.count is None or tensor is None:
        return
    if tensor.device.type == "cpu" and type(tensor.data) is Tensor:
        _COUNTER.count(tensor)


# For good: another thread may be reading the list of hooks at any time.
hooks.register_module_parameter_registration_hook(_count)
hooks.register_module_buffer_registration_hook(_count)


def size_checked(build: Callable[..., None]) -> Callable[..., None]:
    """Return the `__init__` of a model with its bytes counted as its parameters appear.

    From `UNCHECKED` bytes on, the whole size is found out once, on the meta device, and compared with the free memory.
    A parameter is counted before it is filled, and an empty one takes no memory yet.

    Raises:
        ValueError: at a call, if the model does not fit into the memory.
    """

    @wraps(build)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        # The model that is being built counts what its bases and its parts build.
        with _counted(type(self), args, kwargs) if _COUNTER.count is None and _allocates_here() else nullcontext():
            build(self, *args, **kwargs)

    return checked


@contextmanager
def _counted(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
    """Count what is registered within the block, in which `cls(*args, **kwargs)` is built."""
    # The tables of an n-gram model are filled as they are made.
    tables = getattr(args[0] if args else kwargs.get("config"), "table_sizes", None)
    counted, is_checked = 4 * sum(tables or ()), False

    def check() -> None:
        nonlocal is_checked
        if not is_checked:
            is_checked = True
            with torch.device("meta"), init.no_init_weights():
                check_model_size(cls(*deepcopy(args), **deepcopy(kwargs)))

    def count(tensor: Tensor) -> None:
        nonlocal counted
        counted += tensor.nbytes
        if counted > UNCHECKED:
            check()

    _COUNTER.count = count
    try:
        if counted > UNCHECKED:
            check()
        yield
    except RuntimeError as error:
        if "allocate" in str(error):  # a single parameter is larger than all memory
            check()
        raise
    finally:
        _COUNTER.count = None


def _allocates_here() -> bool:
    """Return whether new parameters take memory of this process, whole and on the CPU.

    `init_empty_weights` of accelerate and `zero.Init` of DeepSpeed put functions of their own in the place of torch's.
    """
    is_torchs_own = nn.Module.register_parameter is _REGISTER and isinstance(torch.empty, BuiltinFunctionType)
    # torch.get_default_device() knows the device of a `with` only from torch 2.8 on.
    return is_torchs_own and torch.empty(0).device.type == "cpu"


def check_model_size(model: Any) -> None:
    """Compare the size of a model on the meta device with the free memory.

    Raises:
        ValueError: it is larger.
    """
    tensors = (*model.parameters(), *model.buffers())
    count, size, free = sum(map(torch.numel, tensors)), sum(tensor.nbytes for tensor in tensors), free_bytes()
    if free is not None and size > free:
        sizes = ", ".join(f"{name}={getattr(model.config, name)}" for name in model.config.positive_fields)
        raise ValueError(
            f"a {type(model).__name__} of this configuration holds {count:.1e} numbers, {size / 1e9:.0f} GB, and "
            f"{free / 1e9:.0f} GB of memory are free: correct its sizes, {sizes}"
        )
