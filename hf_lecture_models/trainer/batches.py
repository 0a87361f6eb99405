# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the loop reads: batches, the share of one process, and where a run is in its data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch


@dataclass(frozen=True)
class SecondTerm:
    """The second term of a loss that is the sum of two means: over the items, and over others, fewer or more of them.

    Attributes:
        num_items: how many others there are in the batch; one at least where it has items.
        of: the term as it stands in the loss, from the model's outputs.
    """

    num_items: int
    of: Callable[[Any], torch.Tensor]


@dataclass(frozen=True)
class Batch:
    """The keyword arguments of one forward pass, and how many items its loss, or the first term of it, is a mean over.

    Attributes:
        num_items: 0 where nothing in the batch counts; what the model returns is then not read.
        second_term: of a loss of two terms, the second; None: the loss has one.
        loss: the mean over the items from the model's outputs, in place of the `loss` among these.
    """

    inputs: dict[str, Any]
    num_items: int
    second_term: SecondTerm | None = None
    loss: Callable[[Any], torch.Tensor] | None = None

    def loss_of(self, outputs: Any) -> torch.Tensor | None:
        """The mean over the items; None where the model gives none."""
        return outputs.loss if self.loss is None else self.loss(outputs)


class Batches(Protocol):
    """An endless source of optimizer steps that can say where it is and go back there."""

    steps_per_epoch: int  # 0: not known (data that are streamed)

    def set_shard(self, shard: "RowShard") -> None:
        """Take the share of one process; called once, before all else."""

    def next_step(self) -> list[Batch]:
        """The micro-batches of this process in the next optimizer step, `accumulation_steps` of them."""

    def on_step_outputs(self, index: int, outputs: Any) -> None:
        """Take from the outputs of micro-batch `index` what the next one at that place starts from."""

    def state_dict(self) -> dict[str, Any]:
        """The position, as nested dicts and lists of tensors and JSON values."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a position that `state_dict` gave."""


class RowShard:
    """Which of an optimizer step's rows each process takes, micro-batch by micro-batch.

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
