# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The interface between tasks and the loop: batches, the share of one process, and the position in the data."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class SecondTerm:
    """The second term of a loss that is the sum of two means, each over items of its own.

    Attributes:
        num_items: the number of the second mean's items in the batch; at least one if the batch has items.
        of: computes the second term of the batch's loss from the model's outputs.
    """

    num_items: int
    of: Callable[[Any], torch.Tensor]


@dataclass(frozen=True)
class Batch:
    """The keyword arguments of one forward pass, and the number of items that its loss is a mean over.

    Attributes:
        num_items: the items of the loss, or of its first term; 0: nothing in the batch counts, and its loss is ignored.
        second_term: the second term of a loss that has two; None: the loss has one.
        loss: computes the mean over the items from the model's outputs, in place of their own `loss`.
    """

    inputs: dict[str, Any]
    num_items: int
    second_term: SecondTerm | None = None
    loss: Callable[[Any], torch.Tensor] | None = None

    def loss_of(self, outputs: Any) -> torch.Tensor | None:
        """Return the mean over the items; None if the model returns no loss."""
        return outputs.loss if self.loss is None else self.loss(outputs)


class RowShard:
    """The rows of an optimizer step that one process takes, micro-batch by micro-batch.

    >>> RowShard(batch_size=8, accumulation_steps=2, process_index=1, num_processes=2).micro_batches
    [slice(4, 6, None), slice(6, 8, None)]
    """

    def __init__(
        self,
        batch_size: int,
        accumulation_steps: int = 1,
        process_index: int = 0,
        num_processes: int = 1,
        device: torch.device | str = "cpu",
    ) -> None:
        pieces = accumulation_steps * num_processes
        if batch_size % pieces:
            raise ValueError(
                f"batch_size {batch_size} cannot be shared by {num_processes} processes of {accumulation_steps} "
                f"micro-batches each; make it a multiple of {pieces}"
            )
        size = batch_size // pieces
        first = process_index * accumulation_steps * size
        self.batch_size, self.device = batch_size, device
        self.micro_batches = [slice(first + i * size, first + (i + 1) * size) for i in range(accumulation_steps)]


class Batches(ABC):
    """An endless source of optimizer steps, whose position can be saved and restored."""

    steps_per_epoch: int  # 0: not known (data that are streamed)
    shard: RowShard
    epoch = position = 0

    def set_shard(self, shard: RowShard) -> None:
        """Restrict the batches to the share of one process; called once, before any other method."""
        self.shard = shard

    @abstractmethod
    def next_step(self) -> list[Batch]:
        """Return this process's micro-batches of the next step, `accumulation_steps` of them, on its device."""

    def on_step_outputs(self, index: int, outputs: Any) -> None:
        """Keep what the next step's micro-batch `index` needs from the outputs of this one, such as a hidden state."""
        return

    def state_dict(self) -> dict[str, Any]:
        """Return the position, as nested dicts and lists of tensors and JSON values."""
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a position that `state_dict` returned."""
        self.epoch, self.position = state["epoch"], state["position"]
