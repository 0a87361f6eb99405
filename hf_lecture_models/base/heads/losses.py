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

from hf_lecture_models.io.compat import train_as_causal_lm
from hf_lecture_models.layers.execution import at_least_float32, is_traced

NOT_COUNTED = -100
"""The label of an item that does not count, everywhere in transformers."""


def mean_over_items(total: Tensor, count: Tensor | int, num_items_in_batch: Tensor | int | None = None) -> Tensor:
    """The summed loss `total` per item.

    >>> float(mean_over_items(torch.tensor(6.0), torch.tensor(3)))
    2.0
    >>> float(mean_over_items(torch.tensor(6.0), torch.tensor(3), num_items_in_batch=12))
    0.5

    Args:
        total: a scalar, the sum over this batch's items; without items 0, with a gradient of zeros.
        count: the number of this batch's items.
        num_items_in_batch: the items of the whole training step, in place of `count`.

    Returns:
        A scalar; 0 where nothing counts.
    """
    items = count if num_items_in_batch is None else num_items_in_batch
    return total / torch.as_tensor(items, device=total.device).clamp(min=1)


def cross_entropy(
    logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None = None, name: str = "labels"
) -> Tensor:
    """Mean of -ln softmax(logits)[label] over the labels that are not -100, in float32 or wider.

    >>> logits = torch.tensor([[0.0, 0.0], [5.0, -5.0]])
    >>> cross_entropy(logits, torch.tensor([1, -100]))  # ln 2: the second row does not count
    tensor(0.6931)

    Args:
        logits: (..., classes).
        labels: (...), integers from 0 to classes - 1, or -100.
        num_items_in_batch: see `mean_over_items`.
        name: what an error calls the labels.

    Raises:
        ValueError: see `class_labels`.
    """
    labels = class_labels(labels, logits.shape[:-1], logits.shape[-1], name).flatten().to(logits.device)
    total = F.cross_entropy(at_least_float32(logits.flatten(0, -2)), labels, ignore_index=NOT_COUNTED, reduction="sum")
    return mean_over_items(total, (labels != NOT_COUNTED).sum(), num_items_in_batch)


def class_labels(labels: Tensor, shape: Sequence[int], num_classes: int, name: str = "labels") -> Tensor:
    """Labels as int64, each the number of a class (of a token, where these are the classes) or -100.

    Values are looked at on the CPU only, because a GPU would have to be waited for. Its own kernels stop at a label
    that is out of range ("device-side assert").

    Args:
        labels: of `shape`, of any integer type.
        num_classes: one more than the largest label.
        name: what an error calls them.

    Raises:
        ValueError: labels that are not a tensor of integers, of another shape, or outside the classes.

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


def next_token_labels(
    labels: Tensor | None, shift_labels: Tensor | None, shape: Sequence[int], vocab_size: int
) -> Tensor | None:
    """Return the token after each position, (batch, seq) int64: `shift_labels` as they are, or `labels` moved by one.

    >>> next_token_labels(torch.tensor([[3, 1, 4]]), None, (1, 3), vocab_size=5)
    tensor([[   1,    4, -100]])

    Returns:
        None where neither is given.

    Raises:
        ValueError: see `class_labels`.
    """
    if shift_labels is not None:
        return class_labels(shift_labels, shape, vocab_size, "shift_labels")
    if labels is None:
        return None
    return F.pad(class_labels(labels, shape, vocab_size)[:, 1:], (0, 1), value=NOT_COUNTED)


class PredictsNextToken:
    """A causal language model, whose loss transformers' Trainer divides by the labels that it predicts.

    A loss is a mean over the labels that the model predicts. A label with no real token before it is not predicted: the
    first of a row, and after padding on the left the first real one. Trainer counts the latter too, unless it is -100.
    """

    @property
    def accepts_loss_kwargs(self) -> bool:
        """Return True: `forward` takes `num_items_in_batch`. A Trainer asks for it before it counts labels."""
        train_as_causal_lm(type(self))
        return True

    def prepare_labels(self, batch: dict[str, Any], smoothed: bool = False) -> None:
        """Set the labels of a batch to -100 where no real token stands before them; a Trainer calls it.

        Args:
            batch: what a collator returns; its `labels` or `shift_labels`, (batch, seq), are replaced.
            smoothed: whether the Trainer computes the loss itself, from logits, for `label_smoothing_factor`.

        >>> batch = {"labels": torch.tensor([[-100, 1, 2]]), "attention_mask": torch.tensor([[0, 1, 1]])}
        >>> PredictsNextToken().prepare_labels(batch)
        >>> batch["labels"]
        tensor([[-100, -100,    2]])
        """
        mask = batch.get("attention_mask")
        for name, own_token in (("labels", 0), ("shift_labels", 1)):
            labels = batch.get(name)
            if not isinstance(labels, Tensor) or labels.dim() != 2:
                continue  # `forward` says what is wrong
            real = torch.ones_like(labels)
            if isinstance(mask, Tensor) and mask.shape == labels.shape:  # else it is prepared, or wrong
                real = mask.bool().long()
            before = real.cumsum(1) - real * (1 - own_token)
            batch[name] = labels.masked_fill(before.to(labels.device) == 0, NOT_COUNTED)
