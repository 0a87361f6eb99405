# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Batches from a data set that is streamed because it does not fit into memory or onto the disk."""

import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.data.streaming import streamed_lines
from hf_lecture_models.tasks.language_models.blocks import make_labels, token_stream
from hf_lecture_models.trainer.batches import Batch, Batches, RowShard

_TEXTS_AT_ONCE = 256


class StreamedBlocks(Batches):
    """Blocks of consecutive tokens from an `IterableDataset` of texts; see `BlockCollator` for their labels.

    Every process reads all texts and takes its own rows, so that any number of processes sees the same steps. After
    its last text the data set starts again, in the order of the next epoch.

    A resumed run goes on exactly where it was if the stream is not shuffled. `datasets` does not save the rows in a
    shuffle buffer: the resumed run fills it again from the stream's position, and does not see the rows that were in
    it, at most `shuffle_buffer`, in that epoch. Shuffle the files instead to lose nothing.
    """

    steps_per_epoch = 0

    def __init__(self, dataset: Any, tokenizer: Any, recipe: Any) -> None:
        self.dataset, self.text_column, self.tokenizer = dataset, recipe.text_column, tokenizer
        self.batch_size, self.sequence_length = recipe.batch_size, recipe.sequence_length
        self.shuffle_buffer = recipe.shuffle_buffer
        self.shard = RowShard(self.batch_size)
        self.waiting = np.empty(0, dtype=np.int32)  # tokens that were read and not yet trained on
        self.texts: Iterator[str] | None = None
        self.place: dict[str, Any] | None = None  # in the data set, where `texts` will begin; None: its first text

    def next_step(self) -> list[Batch]:
        """Return the micro-batches of this process in the next optimizer step, on its device."""
        needed = self.batch_size * self.sequence_length + 1
        while len(self.waiting) < needed:
            self.waiting = np.concatenate((self.waiting, self._read()))
        step = torch.from_numpy(self.waiting[:needed].astype(np.int64))
        # The last token is only a label here, and the next step's first input.
        self.waiting = self.waiting[needed - 1 :].copy()
        shape = (self.batch_size, self.sequence_length)
        inputs, following = step[:-1].view(shape), step[1:].view(shape)
        return [self._batch(inputs[part], following[part]) for part in self.shard.micro_batches]

    def _batch(self, inputs: Tensor, following: Tensor) -> Batch:
        counted = following != self.tokenizer.bos_token_id
        labels = following.masked_fill(~counted, NOT_COUNTED)
        device = self.shard.device
        return Batch({"input_ids": inputs.to(device), **make_labels(labels.to(device))}, int(counted.sum()))

    def _read(self) -> np.ndarray:
        if self.texts is None:
            self.texts = streamed_lines(self.dataset, self.text_column, self.tokenizer)
        texts = list(islice(self.texts, _TEXTS_AT_ONCE))
        if not texts:
            self.epoch += 1
            self.dataset.set_epoch(self.epoch)
            self.texts = streamed_lines(self.dataset, self.text_column, self.tokenizer)
            texts = list(islice(self.texts, 1))
        if not texts:
            raise ValueError("the streamed data set holds no text; check its files and text_column")
        return token_stream(self.tokenizer, texts)[0]

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the data, with the tokens that were read and not yet trained on."""
        waiting = torch.from_numpy(self.waiting)
        # Until it is read again, the data set gives the place of its last iteration, whichever that was.
        place = self.place if self.texts is None else self.dataset.state_dict()
        return {"dataset": place, "epoch": self.epoch, "waiting": waiting}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a position that `state_dict` returned.

        Raises:
            ValueError: the data were read in another way then, so the position does not fit.
        """
        if state["dataset"] is not None and _readers(state["dataset"]) != _readers(self.dataset.state_dict()):
            raise ValueError(
                "cannot resume: the streamed training data were read in another way when the run was started, by "
                "another version of this package or of datasets; use that one, or train into another output folder"
            )
        if self.shuffle_buffer:
            warnings.warn(
                f"the shuffle buffer is not part of a checkpoint: up to {self.shuffle_buffer} rows that waited in it "
                "are left out of this epoch, and the weights differ from those of an uninterrupted run",
                stacklevel=2,
            )
        self.epoch, self.waiting = state["epoch"], state["waiting"].numpy()
        self.texts, self.place = None, state["dataset"]
        self.dataset.set_epoch(self.epoch)
        self.dataset.load_state_dict(self.place)


def _readers(place: dict[str, Any]) -> list[Any]:
    """Return the names that `datasets` gives to the readers of the data, the reader of the files last."""
    inner = place.get("examples_iterable")
    return [] if inner is None else [inner.get("type"), *_readers(inner)]
