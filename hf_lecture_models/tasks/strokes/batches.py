# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Batches of sequences of points: of like lengths, or all at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.tasks.core.shuffled import ShuffledRows
from hf_lecture_models.trainer.batches import Batch, Batches

# Steps whose sequences are sorted by length together.
_SORTED_TOGETHER = 50


def collate_points(sequences: Sequence[Tensor], given: Sequence[int]) -> dict[str, Tensor]:
    """Return `points`, padded on the right, `labels` and, where one is padded, `attention_mask`.

    >>> batch = collate_points([torch.ones(2, 1), torch.ones(1, 1)], [1, 0])
    >>> batch["labels"].tolist(), batch["attention_mask"].tolist()
    ([[-100, 0], [0, -100]], [[1, 1], [1, 0]])

    Args:
        sequences: each (points, numbers).
        given: how many of its first points do not count.
    """
    points = torch.nn.utils.rnn.pad_sequence(list(sequences), batch_first=True)
    lengths, places = torch.tensor([len(own) for own in sequences]), torch.arange(points.shape[1])
    mask = places < lengths[:, None]
    counted = mask & (places >= torch.tensor(given)[:, None])
    batch = {"points": points, "labels": torch.zeros_like(mask, dtype=torch.long).masked_fill(~counted, NOT_COUNTED)}
    return batch if mask.all() else batch | {"attention_mask": mask.long()}


class PointBatches(ShuffledRows):
    """Sequences in a new order each epoch, each once, in steps of sequences of like length.

    Args:
        sequences, given: as `collate_points`.
    """

    def __init__(self, sequences: Sequence[Tensor], given: Sequence[int], batch_size: int, seed: int) -> None:
        self.sequences, self.given = sequences, given
        self.lengths = np.array([len(own) for own in sequences])
        super().__init__(len(sequences), batch_size, seed)

    def _shuffled(self) -> np.ndarray:
        """Sort the shuffled rows by length within groups of steps, and shuffle the steps."""
        order, size = super()._shuffled(), self.batch_size
        lengths = np.where(order >= 0, self.lengths[order], -1)
        for start in range(0, len(order), _SORTED_TOGETHER * size):
            part = slice(start, start + _SORTED_TOGETHER * size)
            order[part] = order[part][lengths[part].argsort(kind="stable")]
        steps = np.random.default_rng((self.seed, self.epoch, 0, 1)).permutation(self.steps_per_epoch)
        return order.reshape(-1, size)[steps].reshape(-1)

    def _micro_batches(self, step: np.ndarray) -> list[Batch]:
        return [self._collate(step[part]) for part in self.shard.micro_batches]

    def _collate(self, rows: np.ndarray) -> Batch:
        """Return the batch of these rows; an empty place (-1) counts no point, and one stays if all are empty."""
        rows = rows[rows >= 0]
        if not len(rows):
            inputs = collate_points([self.sequences[0][:1]], [1])
        else:
            inputs = collate_points([self.sequences[row] for row in rows], [self.given[row] for row in rows])
        return Batch(inputs, int((inputs["labels"] != NOT_COUNTED).sum()))


class AllPoints(Batches):
    """All sequences in one step, for a model that is estimated from all of them at once.

    The inputs are empty: whoever estimates has the sequences.
    """

    steps_per_epoch = 1

    def __init__(self, sequences: Sequence[Tensor], given: Sequence[int]) -> None:
        self.num_items = sum(len(own) for own in sequences) - sum(given)

    def next_step(self) -> list[Batch]:
        """Return the one batch."""
        self.epoch += 1
        inputs: dict[str, Any] = {}
        return [Batch(inputs, self.num_items)]
