# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A classifier's loss in which some classes weigh more than others, for data where some classes are rare."""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from hf_lecture_models.layers.execution import at_least_float32


def weighted_loss(labels: Tensor, weights: Tensor) -> Callable[[Any], Tensor]:
    """Return the loss of a batch as a function of the model's outputs: the mean over its rows of -w_y ln P(y).

    The mean divides by the number of rows, so that a row weighs the same in every batch. Further terms of the model's
    own loss stay as they are.

    >>> import torch
    >>> from transformers.modeling_outputs import SequenceClassifierOutput
    >>> labels, logits = torch.tensor([0, 1]), torch.zeros(2, 2)
    >>> outputs = SequenceClassifierOutput(loss=F.cross_entropy(logits, labels), logits=logits)
    >>> round(float(weighted_loss(labels, torch.tensor([3.0, 1.0]))(outputs)), 4)  # 2 ln 2
    1.3863

    Args:
        labels: (rows,), ids of classes, or -100.
        weights: (classes,).
    """

    def loss(outputs: Any) -> Tensor:
        logits = at_least_float32(outputs.logits)
        targets = labels.to(logits.device)
        counted = (targets >= 0).sum().clamp(min=1)
        nats = F.cross_entropy(logits, targets, reduction="none")
        extra = (weights.to(logits.device)[targets.clamp(min=0)] - 1) * nats
        return outputs.loss + extra.sum() / counted

    return loss
