# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Batches of one stream of tokens: shuffled blocks, or parallel streams with a carried state."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.io.compat import cache_of
from hf_lecture_models.layers.recurrent_cache import RecurrentCache
from hf_lecture_models.tokenization.corpus import encode_training_texts
from hf_lecture_models.trainer.batches import Batch, Batches, RowShard


def token_stream(tokenizer: Any, texts: Iterable[str], progress: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Encode texts as `<s> ... </s>`, one after the other.

    Returns:
        (tokens,) int32 ids, and (texts,) int64, the place of each text's `<s>`.

    Raises:
        ValueError: the tokenizer has no `<s>` or no `</s>`, or one token for both; or as `encode_training_texts`.
    """
    begin, end = tokenizer.bos_token_id, tokenizer.eos_token_id
    if begin is None or end is None or begin == end:
        raise ValueError(
            f"the tokenizer's bos_token_id is {begin} and its eos_token_id {end}; training needs two tokens, "
            "one to begin a text with and one to predict at its end"
        )
    corpus = encode_training_texts(tokenizer, texts, progress=progress)
    lengths = np.asarray(corpus.lengths, dtype=np.int64)
    ends = np.cumsum(lengths + 2) - 1
    starts = ends - lengths - 1
    stream = np.empty(len(corpus.ids) + 2 * len(lengths), dtype=np.int32)
    inside = np.ones(len(stream), dtype=bool)
    inside[starts] = inside[ends] = False
    stream[inside], stream[starts], stream[ends] = corpus.ids, begin, end
    return stream, starts


class BlockCollator:
    """Collate spans of one token stream; each token is predicted from those before it in its span.

    Args:
        stream: (tokens,) int32, `<s> ... </s>` of every text one after the other.
        starts, lengths: (rows,), the spans of input tokens; each also predicts the token after it.
    """

    def __init__(self, stream: np.ndarray, starts: np.ndarray, lengths: np.ndarray, bos_id: int, pad_id: int) -> None:
        self.stream, self.starts, self.lengths = stream, starts, lengths
        self.bos_id, self.pad_id = bos_id, pad_id

    def __call__(self, rows: np.ndarray) -> Batch:
        """Return these spans padded on the right; `shift_labels[:, t]` is the token after `input_ids[:, t]`."""
        lengths = np.where(rows < 0, 0, self.lengths[rows])
        width = max(1, int(lengths.max()))
        columns = np.arange(width)[None, :]
        real = columns < lengths[:, None]  # (rows, width)
        places = np.where(real, self.starts[rows][:, None] + columns, 0)
        inputs = torch.from_numpy(np.where(real, self.stream[places], self.pad_id).astype(np.int64))
        following = self.stream[np.minimum(places + 1, len(self.stream) - 1)]
        counted = real & (following != self.bos_id)
        labels = torch.from_numpy(np.where(counted, following, NOT_COUNTED).astype(np.int64))
        batch = {"input_ids": inputs, **make_labels(labels)}
        if not real.all():
            # An empty row keeps one visible token: attention over nothing would be NaN.
            real[:, 0] = True
            batch["attention_mask"] = torch.from_numpy(real.astype(np.int64))
        return Batch(batch, int(counted.sum()))


class StreamBatches(Batches):
    """Parallel streams in segments, with the state carried across them, for truncated back-propagation through time.

    The N - 1 predictions of a stream of N tokens are cut into `batch_size` contiguous streams. Position t's label is
    token t + 1 (`shift_labels`), so the last position of a segment predicts the first token of the next one, and
    each token but the very first is predicted exactly once; `<s>` is read and never a target. All streams start an
    epoch with an empty state.

    Args:
        stream: (tokens,) int32.
        sequence_length: tokens of a segment; the last one of an epoch may be shorter.
    """

    def __init__(self, stream: np.ndarray, batch_size: int, sequence_length: int, bos_id: int) -> None:
        self.sequence_length, self.bos_id = sequence_length, bos_id
        columns = -(-(len(stream) - 1) // batch_size)
        self.steps_per_epoch = -(-columns // sequence_length)
        # Two (batch_size, columns). The last stream is filled up with inputs that have no label.
        filled = np.full((2, batch_size * columns), bos_id, dtype=stream.dtype)
        filled[0, : len(stream) - 1], filled[1, : len(stream) - 1] = stream[:-1], stream[1:]
        self.inputs, self.following = torch.from_numpy(filled.reshape(2, batch_size, columns))
        self.set_shard(RowShard(batch_size))

    def set_shard(self, shard: RowShard) -> None:
        """Take the share of one process, with an empty state."""
        self.shard = shard
        self.carried: list[RecurrentCache | None] = [None] * len(shard.micro_batches)

    def next_step(self) -> list[Batch]:
        """Return the micro-batches of this process in the next optimizer step, on its device."""
        if self.position == self.steps_per_epoch:
            self.epoch, self.position = self.epoch + 1, 0
            self.carried = [None] * len(self.carried)
        segment = slice(self.position * self.sequence_length, (self.position + 1) * self.sequence_length)
        self.position += 1
        step = []
        for rows, state in zip(self.shard.micro_batches, self.carried, strict=True):
            labels = self.following[rows, segment].long()
            counted = labels != self.bos_id
            inputs = {
                "input_ids": self.inputs[rows, segment].long().to(self.shard.device),
                **make_labels(labels.masked_fill(~counted, NOT_COUNTED).to(self.shard.device)),
                "past_key_values": state,
                "use_cache": True,
            }
            step.append(Batch(inputs, int(counted.sum())))
        return step

    def on_step_outputs(self, index: int, outputs: Any) -> None:
        """Carry the state to the next segment, cut off from the gradient."""
        cache = cache_of(outputs)
        if not isinstance(cache, RecurrentCache):
            raise ValueError(
                f"layout stream needs a recurrent state in past_key_values, the model returned {type(cache).__name__}; "
                "use layout blocks or texts for it"
            )
        self.carried[index] = cache.detach()

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the data, with the state that the next segment starts from."""
        carried = [None if cache is None else cache.to_tensors() for cache in self.carried]
        return {"epoch": self.epoch, "position": self.position, "carried": carried}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a position that `state_dict` returned."""
        super().load_state_dict(state)
        self.carried = []
        for saved in state["carried"]:
            tensors = {name: tensor.to(self.shard.device) for name, tensor in (saved or {}).items()}
            self.carried.append(None if saved is None else RecurrentCache.from_tensors(tensors))


def make_labels(shift_labels: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return `shift_labels` (batch, seq), and `labels`, which transformers' own heads need to compute a loss.

    >>> make_labels(torch.tensor([[5, 6, 7]]))["labels"]
    tensor([[-100,    5,    6]])
    """
    return {"shift_labels": shift_labels, "labels": F.pad(shift_labels[:, :-1], (1, 0), value=NOT_COUNTED)}
