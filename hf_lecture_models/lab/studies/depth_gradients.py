# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Gradients through the layers of a stack: how much of the loss's gradient reaches the first layer (slide R:938-944).

With h_l the output of layer l, the gradient of layer 1 is that of layer L times a Jacobian for each layer between them,

    ∂loss/∂h_1 = ∂loss/∂h_L · ∂h_L/∂h_{L-1} · ... · ∂h_2/∂h_1

so that it vanishes or explodes with L, as it does through time (`analysis/gradient_flow.py`), unless residual
connections or norms prevent it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class DepthGradients:
    """Norms of the gradients of a loss in each layer of a stack.

    Attributes:
        states: |∂loss/∂h_l| of the output h_l of each layer, (layers,) float64, the first layer's first.
        weights: |∂loss/∂θ_l| of all weights θ_l of each layer together, (layers,) float64.
    """

    states: Tensor
    weights: Tensor


def measure_depth_gradients(layers: Iterable[nn.Module], loss: Callable[[], Tensor]) -> DepthGradients:
    """Measure the gradients of a loss in each layer; the gradients that parameters hold stay as they were.

    >>> layers = [nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)]
    >>> for layer, factor in zip(layers, (2.0, 3.0)):
    ...     _ = nn.init.constant_(layer.weight, factor)
    >>> found = measure_depth_gradients(layers, lambda: nn.Sequential(*layers)(torch.ones(1, 1)).square().sum())
    >>> found.states.tolist(), found.weights.tolist()  # h_1 = 2, h_2 = 6
    ([36.0, 12.0], [36.0, 24.0])

    Args:
        layers: the stack's, the first one first, such as `model.model.layers`. A layer returns its state, or a tuple
            that begins with it.
        loss: runs the layers, each once, and returns a scalar.

    Raises:
        ValueError: a layer did not run, or ran more than once.
    """
    stack, outputs = list(layers), []

    def catch(layer: nn.Module, given: Any, output: Any) -> None:
        outputs.append((layer, output[0] if isinstance(output, tuple) else output))

    hooks = [layer.register_forward_hook(catch) for layer in stack]
    try:
        with torch.enable_grad():
            value = loss()
    finally:
        for hook in hooks:
            hook.remove()
    if [layer for layer, _ in outputs] != stack:
        raise ValueError(
            f"the loss must run the {len(stack)} layers once each, in their order; it made {len(outputs)} calls of them"
        )
    states = [state for _, state in outputs]
    weights = [[each for each in layer.parameters() if each.requires_grad] for layer in stack]
    found = torch.autograd.grad(value, [*states, *chain(*weights)], allow_unused=True)
    norms = torch.tensor([0.0 if one is None else one.double().norm().item() for one in found], dtype=torch.float64)
    own = norms[len(stack) :].split([len(each) for each in weights])
    return DepthGradients(norms[: len(stack)], torch.stack([each.norm() for each in own]))
