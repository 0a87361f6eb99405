# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Batches of texts that are segmented again in each epoch (Kudo 2018)."""

from collections.abc import Callable
from typing import Any

from hf_lecture_models.trainer.batches import Batch, Batches, RowShard


class SampledBatches(Batches):
    """The batches of one epoch after the other; each epoch has its own segmentations.

    Epochs differ by a few tokens; a run is planned with the `steps_per_epoch` of the first one. A resumed run makes the
    batches of its epoch again, from the same segmentations.

    Args:
        make: returns the batches of an epoch; epochs are counted from 0.
    """

    def __init__(self, make: Callable[[int], Batches]) -> None:
        self.make, self.shard = make, RowShard(1)
        self.inner = make(0)
        self.steps_per_epoch = self.inner.steps_per_epoch
        self.steps = 0

    def set_shard(self, shard: RowShard) -> None:
        """Take the share of one process."""
        super().set_shard(shard)
        self.inner.set_shard(shard)

    def next_step(self) -> list[Batch]:
        """Return the micro-batches of this process in the next optimizer step, on its device."""
        if self.steps == self.inner.steps_per_epoch:
            self._begin(self.epoch + 1)
        self.steps += 1
        return self.inner.next_step()

    def on_step_outputs(self, index: int, outputs: Any) -> None:
        """Give the outputs to the batches of the epoch."""
        self.inner.on_step_outputs(index, outputs)

    def state_dict(self) -> dict[str, Any]:
        """Return the epoch, and the position in it."""
        return {"epoch": self.epoch, "steps": self.steps, "inner": self.inner.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a position that `state_dict` returned."""
        if state["epoch"] != self.epoch:
            self._begin(state["epoch"])
        self.steps = state["steps"]
        self.inner.load_state_dict(state["inner"])

    def _begin(self, epoch: int) -> None:
        self.epoch, self.steps = epoch, 0
        self.inner = self.make(epoch)
        self.inner.set_shard(self.shard)
        # The order of the rows follows from the epoch.
        self.inner.load_state_dict(self.inner.state_dict() | {"epoch": epoch})
