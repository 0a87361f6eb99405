# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Losses as a head returns them: the sum over the items that count, divided by their number.

A training step may read its examples in several micro-batches, which hold different numbers of items. Its gradient is
that of one large batch if every micro-batch divides its sum by the items of the whole step. Trainers hand this number
to `forward` as `num_items_in_batch`; transformers' Trainer then divides by nothing itself.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

NOT_COUNTED = -100
"""The label of an item that does not count, everywhere in transformers."""


def mean_over_items(total: Tensor, count: Tensor | int, num_items_in_batch: Tensor | int | None = None) -> Tensor:
    """The summed loss `total` per item.

    >>> float(mean_over_items(torch.tensor(6.0), torch.tensor(3)))
    2.0
    >>> float(mean_over_items(torch.tensor(6.0), torch.tensor(3), num_items_in_batch=12))
    0.5

    Args:
        total: a scalar, the sum over this batch's items; 0, with a gradient of zeros, where there are none.
        count: the number of this batch's items.
        num_items_in_batch: the items of the whole training step, in place of `count`.

    Returns:
        A scalar; 0 where nothing counts.
    """
    items = count if num_items_in_batch is None else num_items_in_batch
    return total / torch.as_tensor(items, device=total.device).clamp(min=1)


def cross_entropy(logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None = None) -> Tensor:
    """Mean of -ln softmax(logits)[label] over the labels that are not -100, in float32.

    >>> logits = torch.tensor([[0.0, 0.0], [5.0, -5.0]])
    >>> cross_entropy(logits, torch.tensor([1, -100]))  # ln 2: the second row does not count
    tensor(0.6931)

    Args:
        logits: (..., classes).
        labels: (...), integers from 0 to classes - 1, or -100.
        num_items_in_batch: see `mean_over_items`.

    Raises:
        ValueError: labels of another shape, that are no integers, or of a class that does not exist.
    """
    labels = labels.to(logits.device)
    if labels.shape != logits.shape[:-1]:
        raise ValueError(
            f"labels have shape {tuple(labels.shape)}; {tuple(logits.shape[:-1])} is needed, one class for each "
            f"{logits.shape[-1]} logits"
        )
    check_classes(labels, logits.shape[-1])
    labels = labels.flatten().long()
    total = F.cross_entropy(logits.flatten(0, -2).float(), labels, ignore_index=NOT_COUNTED, reduction="sum")
    return mean_over_items(total, (labels != NOT_COUNTED).sum(), num_items_in_batch)


def check_classes(labels: Tensor, num_classes: int) -> None:
    """Refuse labels that name no class, which a GPU would report as a failed assertion somewhere else.

    Raises:
        ValueError: a label is no integer, or is neither -100 nor from 0 to `num_classes` - 1.
    """
    if labels.is_floating_point() or labels.dtype == torch.bool:
        raise ValueError(f"labels are of type {labels.dtype}; classes are integers: give labels.long()")
    # Tracing cannot ask for values.
    if torch.compiler.is_compiling() or labels.numel() == 0:
        return
    wrong = (labels != NOT_COUNTED) & ((labels < 0) | (labels >= num_classes))
    if bool(wrong.any()):
        raise ValueError(
            f"labels hold {int(labels[wrong][0])}; the model has {num_classes} classes, 0 to {num_classes - 1}, and "
            f"{NOT_COUNTED} is not counted: correct the labels, or build the model with as many classes as they have"
        )
