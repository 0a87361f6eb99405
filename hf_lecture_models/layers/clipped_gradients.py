# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Losses whose gradients with respect to a network's outputs are clipped."""

from collections.abc import Callable

import torch
from torch import Tensor


def clip_output_gradients(losses: Callable[[Tensor], Tensor], outputs: Tensor, limit: float) -> Tensor:
    """Return `losses(outputs)`, with the gradient of each loss clipped to between -limit and limit in every output.

    The limit holds for the loss of one item, before any mean over items is taken.

    >>> outputs = torch.tensor([[3.0], [0.5]], requires_grad=True)
    >>> clip_output_gradients(lambda y: y.square().sum(-1), outputs, limit=2.0).mean().backward()
    >>> outputs.grad.flatten().tolist()  # 6 and 1, clipped to 2 and 1, over two items
    [1.0, 0.5]

    Args:
        losses: from outputs (..., size) to one loss each, (...), which depends on its own outputs alone.
        outputs: (..., size).
    """
    if not (torch.is_grad_enabled() and outputs.requires_grad):
        return losses(outputs)
    own = outputs.detach().requires_grad_()
    values = losses(own)
    (gradient,) = torch.autograd.grad(values.sum(), own)
    # The value is that of the loss, the gradient that of this product.
    product = (outputs * gradient.clamp(-limit, limit)).sum(-1)
    return values.detach() + (product - product.detach())
