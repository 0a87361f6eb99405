# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Batches of source and target: pairs of like length together, up to a number of tokens."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.base.heads.seq2seq_lm import shift_right
from hf_lecture_models.tasks.core.shuffled import ShuffledRows
from hf_lecture_models.tasks.language_models.label_smoothing import smoothed_loss
from hf_lecture_models.tasks.translation.translate import pad_rows
from hf_lecture_models.trainer.batches import Batch, RowShard


def cut_by_tokens(lengths: np.ndarray, most: int) -> list[slice]:
    """Cut rows into batches of neighbours; each has at most `most` tokens, padding included.

    >>> cut_by_tokens(np.array([2, 2, 3, 3, 9]), most=6)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]

    Args:
        lengths: (rows,); a row that is longer than `most` is a batch by itself.
    """
    cuts, start, longest = [], 0, 0
    for row, length in enumerate(lengths.tolist()):
        longest = max(longest, length)
        if row > start and (row + 1 - start) * longest > most:
            cuts.append(slice(start, row))
            start, longest = row, length
    return [*cuts, slice(start, len(lengths))]


class BatchesByTokens(ShuffledRows):
    """All rows once in each epoch, in steps of rows of like length, with a limit on the tokens of either side.

    Rows are sorted by length and cut into steps, and the steps are shuffled. Rows of the same lengths change places in
    each epoch. The lengths alone determine the cuts, so all epochs have the same number of steps.

    >>> import torch
    >>> lengths = np.array([[3, 3], [1, 1], [3, 2], [1, 2]])
    >>> batches = BatchesByTokens(lengths, lambda rows: Batch({"rows": torch.tensor(sorted(rows))}, 2), 6, seed=0)
    >>> sorted(batch.inputs["rows"].tolist() for step in range(2) for batch in batches.next_step())
    [[0, 2], [1, 3]]

    Args:
        lengths: (rows, 2), of source and target.
        collate: makes a batch of row numbers; -1 is an empty place.
        batch_tokens: the most tokens of one side in one optimizer step, padding included, over all processes and
            micro-batches.
    """

    def __init__(
        self, lengths: np.ndarray, collate: Callable[[np.ndarray], Batch], batch_tokens: int, seed: int
    ) -> None:
        self.lengths, self.collate = lengths, collate
        by_length = np.lexsort((lengths[:, 0], lengths[:, 1]))
        self.cuts = cut_by_tokens(lengths.max(1)[by_length], batch_tokens)
        super().__init__(len(lengths), 1, seed)
        self.steps_per_epoch = len(self.cuts)
        self.set_shard(self.shard)

    def set_shard(self, shard: RowShard) -> None:
        """Take the share of one process; each of its micro-batches is every n-th row of a step."""
        super().set_shard(shard)
        size = shard.micro_batches[0].stop - shard.micro_batches[0].start
        self.pieces = shard.batch_size // size
        self.own_pieces = [part.start // size for part in shard.micro_batches]

    def _micro_batches(self, step: np.ndarray) -> list[Batch]:
        filled = np.concatenate((step, np.full(-len(step) % self.pieces, -1, dtype=step.dtype)))
        return [self.collate(filled[piece :: self.pieces]) for piece in self.own_pieces]

    def _rows_of_step(self, position: int) -> np.ndarray:
        return self.order[self.cuts[self.step_order[position]]]

    def _shuffled(self) -> np.ndarray:
        generator = np.random.default_rng((self.seed, self.epoch))
        self.step_order = generator.permutation(len(self.cuts))
        return np.lexsort((generator.random(self.num_rows), self.lengths[:, 0], self.lengths[:, 1]))


class PairCollator:
    """Collate pairs of source and target; each target token is an item.

    Args:
        sources: the ids of each row that the encoder reads.
        targets: the ids of each row that the decoder learns to write, the end of text last.
        pad_ids: of source and target.
        start_id: the token that the decoder reads first.
        label_smoothing: ε of `smoothed_loss`; with 0 the model computes its loss itself.
    """

    def __init__(
        self,
        sources: Sequence[np.ndarray],
        targets: Sequence[np.ndarray],
        pad_ids: tuple[int, int],
        start_id: int,
        label_smoothing: float = 0.0,
    ) -> None:
        self.sources, self.targets, self.pad_ids, self.start_id = sources, targets, pad_ids, start_id
        self.label_smoothing = label_smoothing

    def __call__(self, rows: np.ndarray) -> Batch:
        """Return these pairs padded on the right; an empty place (-1) is a pair of one token, which does not count."""
        real = rows[rows >= 0]
        empty: list[list[int]] = [[]] * (len(rows) - len(real))
        sources, mask = pad_rows([*(self.sources[row] for row in real), *empty], self.pad_ids[0])
        labels, _ = pad_rows([*(self.targets[row] for row in real), *empty], NOT_COUNTED)
        mask[len(real) :, 0] = 1  # attention over nothing would be NaN
        inputs = {"input_ids": sources}
        if not mask.all():
            inputs["attention_mask"] = mask
        items = int((labels != NOT_COUNTED).sum())
        if not self.label_smoothing:
            return Batch({**inputs, "labels": labels}, items)
        inputs["decoder_input_ids"] = shift_right(labels, self.start_id, self.pad_ids[1])
        loss = partial(smoothed_loss, labels=labels, label_smoothing=self.label_smoothing)
        return Batch(inputs, items, loss=loss)
