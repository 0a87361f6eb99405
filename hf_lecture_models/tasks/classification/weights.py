# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A classifier's loss in which some classes weigh more than others, for data where some classes are rare."""

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from hf_lecture_models.layers.execution import at_least_float32
from hf_lecture_models.tasks.classification.kinds import MULTI_LABEL, SINGLE_LABEL
from hf_lecture_models.tasks.core.factories import log_once

BALANCED = "balanced"
_UNEVEN = 5


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


def weighted_set_loss(labels: Tensor, weights: Tensor) -> Callable[[Any], Tensor]:
    """Return the loss of a batch of texts with several classes, in which a class weighs w where a text has it.

    It is the mean over rows and classes of -w y ln σ(x) - (1 - y) ln(1 - σ(x)), the weights being the `pos_weight` of
    torch's `BCEWithLogitsLoss`. Further terms of the model's own loss stay as they are.

    >>> import torch
    >>> from transformers.modeling_outputs import SequenceClassifierOutput
    >>> labels, logits = torch.tensor([[1.0, 0.0]]), torch.zeros(1, 2)
    >>> outputs = SequenceClassifierOutput(loss=F.binary_cross_entropy_with_logits(logits, labels), logits=logits)
    >>> round(float(weighted_set_loss(labels, torch.tensor([3.0, 1.0]))(outputs)), 4)  # (3 ln 2 + ln 2) / 2
    1.3863

    Args:
        labels: (rows, classes), 0 or 1, or -100.
        weights: (classes,).
    """

    def loss(outputs: Any) -> Tensor:
        logits = at_least_float32(outputs.logits)
        truths = labels.to(logits.device)
        extra = (weights.to(logits.device) - 1) * truths.clamp(min=0) * F.softplus(-logits)
        return outputs.loss + extra.sum() / (truths >= 0).sum().clamp(min=1)

    return loss


def balanced_weights(counts: Mapping[str, int], rows: int, kind: str) -> dict[str, float]:
    """Return the weight of each class that makes rare classes count as much as frequent ones.

    For one class a row it is rows / (classes · rows of the class), as scikit-learn's `class_weight="balanced"`. For
    several classes it is rows without the class / rows with it, so that both parts count the same.

    >>> balanced_weights({"good": 3, "bad": 1}, 4, SINGLE_LABEL), balanced_weights({"toxic": 1}, 4, MULTI_LABEL)
    ({'good': 0.6666666666666666, 'bad': 2.0}, {'toxic': 3.0})

    Args:
        counts: the rows of each class.
        rows: the number of all rows.
        kind: the `problem_type`, `SINGLE_LABEL` or `MULTI_LABEL`.
    """
    occurring = {name: count for name, count in counts.items() if count}
    if kind == MULTI_LABEL:
        return {name: (rows - count) / count if count < rows else 1.0 for name, count in occurring.items()}
    return {name: rows / (len(occurring) * count) for name, count in occurring.items()}


def note_uneven_classes(labels: Sequence[str]) -> None:
    """Log the options that weigh rare classes more, if the most frequent class has more than 5 times the rarest's rows.

    Args:
        labels: the class of each row.
    """
    counts = Counter(labels)
    (frequent, many), *_, (rare, few) = counts.most_common()
    if many > _UNEVEN * few:
        weight = balanced_weights(counts, len(labels), SINGLE_LABEL)[rare]
        log_once(
            f"the classes are uneven, {many:,} rows of {frequent} and {few:,} of {rare}: --class_weights {BALANCED} "
            "lets the rows of rare classes weigh more in the loss, "
            f"{shlex.quote(f'--class_weights.{rare}')} {weight:.2g} those of one class"
        )
