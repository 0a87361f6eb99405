# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Losses as a head returns them: the sum over the items that count, divided by their number.

A training step may read its examples in several micro-batches, which hold different numbers of items. Its gradient is
that of one large batch if every micro-batch divides its sum by the items of the whole step. Trainers hand this number
to `forward` as `num_items_in_batch`; transformers' Trainer then divides by nothing itself.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from hf_lecture_models.layers.execution import at_least_float32, is_traced

NOT_COUNTED = -100
"""The label of an item that does not count, everywhere in transformers."""


def mean_over_items(total: Tensor, count: Tensor | int, num_items_in_batch: Tensor | int | None = None) -> Tensor:
    """Return the summed loss `total`, a scalar, per item; 0 where nothing counts.

    >>> float(mean_over_items(torch.tensor(6.0), torch.tensor(3), num_items_in_batch=12))
    0.5

    Args:
        count: the number of this batch's items.
        num_items_in_batch: the items of the whole training step, in place of `count`.
    """
    items = count if num_items_in_batch is None else num_items_in_batch
    return total / torch.as_tensor(items, device=total.device).clamp(min=1)


def cross_entropy(
    logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None = None, name: str = "labels"
) -> Tensor:
    """Mean of -ln softmax(logits)[label] over the labels that are not -100, in float32 or wider.

    `logits` are (..., classes), and `labels` (...) integers from 0 to classes - 1, or -100; errors call them `name`.

    >>> logits = torch.tensor([[0.0, 0.0], [5.0, -5.0]])
    >>> cross_entropy(logits, torch.tensor([1, -100]))  # ln 2: the second row does not count
    tensor(0.6931)
    """
    labels = class_labels(labels, logits.shape[:-1], logits.shape[-1], name).flatten().to(logits.device)
    total = F.cross_entropy(at_least_float32(logits.flatten(0, -2)), labels, ignore_index=NOT_COUNTED, reduction="sum")
    return mean_over_items(total, (labels != NOT_COUNTED).sum(), num_items_in_batch)


def class_labels(labels: Tensor, shape: Sequence[int], num_classes: int, name: str = "labels") -> Tensor:
    """Labels as int64, each the number of a class (of a token, where these are the classes) or -100.

    Values are looked at on the CPU only: a GPU would have to be waited for, and stops by itself.

    Raises:
        ValueError: labels that are not a tensor of integers of this `shape`, or outside the classes.

    >>> class_labels(torch.tensor([1, -100], dtype=torch.int32), (2,), num_classes=3)
    tensor([   1, -100])
    """
    if not isinstance(labels, Tensor):
        raise no_tensor(labels, name)
    if labels.shape != torch.Size(shape):
        raise ValueError(
            f"{name} have shape {tuple(labels.shape)}; {tuple(shape)} is needed, one of {num_classes} classes each"
        )
    if labels.is_floating_point() or labels.dtype == torch.bool:
        raise ValueError(f"{name} are of type {labels.dtype}; classes are integers: give {name}.long()")
    labels = labels.long()
    # Tracing cannot ask for values.
    if is_traced() or labels.device.type != "cpu":
        return labels
    wrong = labels[((labels < 0) & (labels != NOT_COUNTED)) | (labels >= num_classes)]
    if wrong.numel():
        raise ValueError(
            f"{name} hold {int(wrong[0])}; the model has {num_classes} classes, 0 to {num_classes - 1}, and "
            f"{NOT_COUNTED} is not counted: correct the labels, or build the model with as many classes as they have"
        )
    return labels


def no_tensor(labels: Any, name: str = "labels") -> ValueError:
    """Return the error for labels that are not a tensor, but names of classes, or a list of their numbers."""
    return ValueError(
        f"{name} are a {type(labels).__name__}, but a tensor of numbers is needed: torch.tensor(ids); the number of a "
        "class by its name is model.config.label2id[name]"
    )
