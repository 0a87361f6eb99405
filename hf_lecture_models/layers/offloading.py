# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Reading the weights of a module outside of its `forward`, wherever they are kept.

accelerate keeps the weights of an offloaded model (`device_map`, `cpu_offload`, `disk_offload`) on the meta device. A
hook on each module loads them before its `forward`, and releases them afterwards.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

Result = TypeVar("Result")


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
