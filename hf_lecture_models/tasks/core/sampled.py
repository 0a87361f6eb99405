# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Batches of texts that are segmented again in each epoch (Kudo 2018)."""

import math
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from hf_lecture_models.base.limits import NO_LIMIT, longest_input
from hf_lecture_models.io.recipe import coerced
from hf_lecture_models.trainer.batches import Batch, Batches, RowShard


def sampled_batches(make: Callable[[], Batches], model: Any, tokenizer: Any, recipe: Any) -> Batches:
    """Return the batches of a task over segmentations that are drawn again in each epoch (`tokenizer.sampling`).

    Args:
        make: encodes all texts and returns the task's batches.
        tokenizer: a tokenizer or a `TokenizerPair`.

    Raises:
        ValueError: the tokenizer cannot sample, the recipe has a field that encodes the texts only once, or
            `max_length` is missing and a sampled segmentation may be too long for the model.
    """
    alpha = coerced(recipe.tokenizer["sampling"], float, "tokenizer.sampling")
    sides = [tokenizer.source, tokenizer.target] if hasattr(tokenizer, "target") else [tokenizer]
    for side in sides:
        if not hasattr(side, "sampling"):
            raise ValueError(
                f"recipe: tokenizer.sampling is for the type unigram, and {type(side).__name__} has one segmentation"
            )
    for field in ("streaming", "freeze_backbone"):
        if getattr(recipe, field, False):
            raise ValueError(f"recipe: tokenizer.sampling encodes all texts in each epoch, {field} once; leave one out")
    if not (math.isfinite(alpha) and alpha >= 0):
        raise ValueError(f"recipe: tokenizer.sampling must be a finite number of at least 0, not {alpha}")
    longest = min(longest_input(model, side) for side in sides)
    if longest < NO_LIMIT and getattr(recipe, "max_length", longest) is None:
        raise ValueError(
            f"recipe: with tokenizer.sampling a text may have more than the {longest} tokens that the model reads in "
            f"some epoch; `max_length` {longest} says that such a one is cut, or left out"
        )

    def of_epoch(epoch: int) -> Batches:
        with ExitStack() as stack:
            for number, side in enumerate(sides):
                stack.enter_context(side.sampling(alpha, seed=(recipe.seed, epoch, number)))
            return make()

    return SampledBatches(of_epoch)


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
