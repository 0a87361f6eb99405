# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How a call is computed: in which type, recorded for later calls, or with weights that are kept elsewhere.

accelerate keeps the weights of an offloaded model (`device_map`, `cpu_offload`, `disk_offload`) on the meta device. A
hook on each module loads them before its `forward`, and releases them afterwards.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

Result = TypeVar("Result")
FewRowsLinear = nn.Linear  # what published code has of layers/few_rows.py, which computes the same


def at_least_float32(tensor: Tensor) -> Tensor:
    """Return the tensor in float32; one of float64 as it is.

    >>> [at_least_float32(torch.ones(1, dtype=dtype)).dtype for dtype in (torch.bfloat16, torch.float64)]
    [torch.float32, torch.float64]
    """
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def is_traced() -> bool:
    """Return whether `torch.compile`, `torch.export` or `torch.jit.trace` records what the model computes.

    What is recorded holds for other inputs: a step may then not depend on the values of this one's.

    >>> is_traced()
    False
    """
    return torch.compiler.is_compiling() or torch.jit.is_tracing()


def with_weights(module: Any, function: Callable[..., Result], *args: Any) -> Result:
    """Return `function(*args)`, called while the weights of `module`, an `nn.Module`, are loaded, on their device.

    >>> from torch import nn
    >>> linear = nn.Linear(3, 2, bias=False)
    >>> with_weights(linear, lambda factor: tuple(linear.weight[:factor].shape), 2)
    (2, 3)
    """
    hook = getattr(module, "_hf_hook", None)
    if hook is None:
        return function(*args)
    moved, _ = hook.pre_forward(module, *args)
    return hook.post_forward(module, function(*moved))


def method_with_weights(method: Callable[..., Result]) -> Callable[..., Result]:
    """Decorate a method of a module beside `forward`; positional arguments only."""

    @wraps(method)
    def called(self: Any, *args: Any) -> Result:
        return with_weights(self, partial(method, self), *args)

    return called


def has_own_loss(head: Any) -> bool:
    """Return whether the output layer computes its own loss, which is not the softmax's of its logits.

    Its method `loss(hidden, targets)` returns the summed loss in nats of `targets` (positions,).
    """
    return callable(getattr(head, "loss", None))
