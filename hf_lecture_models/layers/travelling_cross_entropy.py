# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Cross-entropy of softmax(W h + b) over all words: what a published copy has of layers/linear_cross_entropy.py.

The package computes the same in pieces, so that the logits of all positions never coexist.
"""

from functools import partial
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from hf_lecture_models.layers.execution import at_least_float32, has_own_loss, with_weights


def linear_cross_entropy(
    hidden: Tensor, head: Any, targets: Tensor, weights: Tensor | None = None, ignore_index: int = -100
) -> Tensor:
    """Return the sum of -ln softmax(head(hidden))[target] in nats, times the weight of each position.

    Args:
        hidden: (positions, hidden).
        head: the output layer; the method `loss(hidden, targets)` of one that has it is used where no weights are.
        targets: (positions,) ids; `ignore_index` is not counted.
        weights: (positions,), how often each one counts; None: once.
    """
    counted = (targets != ignore_index).nonzero().squeeze(1)
    hidden, targets = hidden.index_select(0, counted), targets.index_select(0, counted)
    if has_own_loss(head) and weights is None:
        return with_weights(head, head.loss, hidden, targets)
    losses = F.cross_entropy(at_least_float32(head(hidden)), targets, reduction="none")
    return (losses if weights is None else losses * weights.index_select(0, counted)).sum()


def matrix_cross_entropy(head: Any, hidden: Tensor, targets: Tensor) -> Tensor:
    """Return the same of W h + b, whatever else `head` computes."""
    return linear_cross_entropy(hidden, partial(F.linear, weight=head.weight, bias=head.bias), targets)
