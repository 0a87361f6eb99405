# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Rows in a new order each epoch, and the batches of encoded rows with labels."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.trainer.batches import Batch, Batches, RowShard


class ShuffledRows(Batches):
    """Rows in a new order each epoch, each row once; a subclass makes batches of them."""

    def __init__(self, num_rows: int, batch_size: int, seed: int) -> None:
        self.num_rows, self.batch_size, self.seed = num_rows, batch_size, seed
        self.steps_per_epoch = -(-num_rows // batch_size)
        self.shard = RowShard(batch_size)
        self.order = self._shuffled()

    def next_step(self) -> list[Batch]:
        """Return the micro-batches of this process in the next optimizer step, on its device."""
        if self.position == self.steps_per_epoch:
            self.epoch, self.position = self.epoch + 1, 0
            self.order = self._shuffled()
        step = self._rows_of_step(self.position)
        self.position += 1
        device = self.shard.device
        return [
            replace(batch, inputs={name: tensor.to(device) for name, tensor in batch.inputs.items()})
            for batch in self._micro_batches(step)
        ]

    def step_generator(self) -> np.random.Generator:
        """Return the generator of everything random in the current step, the same in every process."""
        # `position` is 1 or more here; a trailing 0 would give the generator that has shuffled the rows.
        return np.random.default_rng((self.seed, self.epoch, self.position))

    def _rows_of_step(self, position: int) -> np.ndarray:
        """Return the numbers of the rows of a whole step; `position` counts the steps of the epoch from 0."""
        return self.order[position * self.batch_size : (position + 1) * self.batch_size]

    @abstractmethod
    def _micro_batches(self, step: np.ndarray) -> list[Batch]:
        """Return the micro-batches of this process from the numbers of the rows of a whole step.

        -1 is an empty place in the last step of an epoch: a row that counts no item.
        """

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a position; seed and epoch determine the order of the rows."""
        super().load_state_dict(state)
        self.order = self._shuffled()

    def _shuffled(self) -> np.ndarray:
        # A generator of its own: the order must not depend on what dropout drew from the global one.
        order = np.random.default_rng((self.seed, self.epoch)).permutation(self.num_rows)
        empty = self.steps_per_epoch * self.batch_size - self.num_rows
        return np.concatenate((order, np.full(empty, -1, dtype=order.dtype)))


class ShuffledBatches(ShuffledRows):
    """Rows in a new order each epoch, each row once.

    Args:
        collate: makes a batch of row numbers. -1 is an empty place in the last step of an epoch: a row that counts
            no item. Not a closure, so that processes started by spawn can receive it.
    """

    def __init__(self, num_rows: int, collate: Callable[[np.ndarray], Batch], batch_size: int, seed: int) -> None:
        super().__init__(num_rows, batch_size, seed)
        self.collate = collate

    def _micro_batches(self, step: np.ndarray) -> list[Batch]:
        return [self.collate(step[part]) for part in self.shard.micro_batches]

    def in_order(self, size: int) -> Iterator[Batch]:
        """Yield all rows once, in batches of at most `size` rows of one kind, in their own order."""
        for rows in self._kinds():
            for start in range(0, len(rows), size):
                yield self.collate(rows[start : start + size])

    def _kinds(self) -> list[np.ndarray]:
        """Return the numbers of the rows that a batch may hold together: all rows, here."""
        return [np.arange(self.num_rows)]


class RowCollator:
    """The collator of encoded rows with labels; each row is an item.

    Args:
        examples: the encoded rows.
        labels: the labels, (rows,) each, by the names of the model's arguments.
        pad: returns the model's inputs for some of the examples.
        loss: returns the loss of a batch, `Batch.loss`, for its labels; None: the model's own.
    """

    def __init__(
        self,
        examples: Sequence[Any],
        labels: Mapping[str, Tensor],
        pad: Callable[[list[Any]], Mapping[str, Any]],
        loss: Callable[..., Callable[[Any], Tensor]] | None = None,
    ) -> None:
        self.examples, self.labels, self.pad, self.loss = examples, labels, pad, loss

    def __call__(self, rows: np.ndarray) -> Batch:
        """Return the rows, padded; empty places (-1) are left out, except one if all are empty."""
        real = [int(row) for row in rows if row >= 0]
        inputs = self.pad([self.examples[row] for row in real or [0]])
        labels = {
            name: own[real] if real else torch.full_like(own[:1], NOT_COUNTED) for name, own in self.labels.items()
        }
        loss = None if self.loss is None else self.loss(*labels.values())
        return Batch({**inputs, **labels}, len(real), loss=loss)
