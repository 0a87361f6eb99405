# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A model that would not fit into the memory is refused while it is built, before it fills the memory.

A mistyped number in a configuration asks for hundreds of gigabytes. Small models are built once, and only counted.
"""

from copy import deepcopy
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


class SizeChecked(type):
    """The class of models: calling one builds a model, whose bytes are counted as its parameters appear.

    From `UNCHECKED` bytes on, the whole size is found out once, on the meta device, and compared with the free memory.
    A parameter is counted before it is filled, and an empty one takes no memory yet.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Build a model.

        Raises:
            ValueError: it does not fit into the memory.
        """
        if not _allocates_here():
            return super().__call__(*args, **kwargs)
        # The tables of an n-gram model are filled as they are made.
        tables = getattr(args[0] if args else kwargs.get("config"), "table_sizes", None)
        counted, is_checked = 4 * sum(tables or ()), False

        def check() -> None:
            nonlocal is_checked
            if not is_checked:
                is_checked = True
                with torch.device("meta"), init.no_init_weights():
                    check_model_size(super(SizeChecked, cls).__call__(*deepcopy(args), **deepcopy(kwargs)))

        def count(_: nn.Module, name: str, tensor: Tensor | None) -> None:
            nonlocal counted
            if tensor is not None and tensor.device.type == "cpu" and type(tensor.data) is Tensor:
                counted += tensor.nbytes
                if counted > UNCHECKED:
                    check()

        if counted > UNCHECKED:
            check()
        handles = (
            hooks.register_module_parameter_registration_hook(count),
            hooks.register_module_buffer_registration_hook(count),
        )
        try:
            return super().__call__(*args, **kwargs)
        except RuntimeError as error:
            if "allocate" in str(error):  # a single parameter is larger than all memory
                check()
            raise
        finally:
            for handle in handles:
                handle.remove()


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
