# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a small model's modules read and return, in words: (batch, seq, hidden)."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn


class Recording:
    """A model and the shapes that its modules saw in one forward pass.

    Args:
        model: the model, small.
        inputs: what its `forward` reads.
        axes: each size of the model with its name; no two names have the same size.

    Raises:
        ValueError: two axes of one size.
    """

    def __init__(self, model: nn.Module, inputs: dict[str, Any], axes: dict[str, int]):
        self.names = {size: name for name, size in axes.items()}
        if len(self.names) < len(axes):
            raise ValueError(f"two axes have the same size: {axes}")
        self.model = model.eval()
        self.read: dict[str, tuple[int, ...]] = {}
        self.returned: dict[str, tuple[int, ...]] = {}
        handles = [
            module.register_forward_hook(self._hook(name), with_kwargs=True) for name, module in model.named_modules()
        ]
        with torch.no_grad():
            outputs = self.model(**inputs)
        for handle in handles:
            handle.remove()
        found = {**inputs, **{key: value for key, value in outputs.items() if isinstance(value, Tensor)}}
        self.texts = {key: tuple(value.shape) for key, value in found.items() if isinstance(value, Tensor)}

    def _hook(self, name: str) -> Any:
        def hook(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            for kept, values in ((self.read, (args, kwargs)), (self.returned, output)):
                first = next(_tensors(values), None)
                if first is not None:
                    kept.setdefault(name, tuple(first.shape))

        return hook

    def shape(self, sizes: tuple[int, ...]) -> str:
        """Return a shape in words; "(one number)" for that of a scalar.

        Raises:
            KeyError: a size without a name.
        """
        return f"({', '.join(self.names[size] for size in sizes)})" if sizes else "(one number)"

    def tensors(self, path: str) -> dict[str, Tensor]:
        """Return the parameters and saved buffers of a module, or the one that `path` names, by names from the root."""
        saved = self.model.state_dict(keep_vars=True)
        return {name: one for name, one in saved.items() if name == path or name.startswith(f"{path}.")}

    def size(self, tensor: Tensor) -> str:
        """Return the number of numbers as a product in one word, such as 3·hidden × hidden; sizes of 1 are left out."""
        names = [self.names[size] for size in tensor.shape if size != 1]
        return "\u00a0×\u00a0".join(f"({name})" if "+" in name else name for name in names) or "1"

    def owner(self, name: str) -> str | None:
        """Return the module whose parameter this is, too, and came first; None for a parameter with one name."""
        saved = self.model.state_dict(keep_vars=True)
        first = next(other for other, one in saved.items() if one is saved[name])
        return None if first == name else first.rpartition(".")[0]

    def class_of(self, path: str) -> str:
        """Return the name of a module's class, or "Parameter" or "Buffer" where `path` names one."""
        names = {name for name, _ in self.model.named_modules()}
        if path in names:
            return type(self.model.get_submodule(path)).__name__
        return "Parameter" if path in dict(self.model.named_parameters()) else "Buffer"


def _tensors(values: Any) -> Iterator[Tensor]:
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _tensors(value)
    elif hasattr(values, "values"):
        yield from _tensors(list(values.values()))
