# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The processes of a run: how many there are, what they agree on, and the signals that stop them."""

import os
import signal
import threading
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType, GradientAccumulationPlugin

from hf_lecture_models.trainer.recipe import TrainingRecipe
from hf_lecture_models.trainer.tracking import refuse_missing_tracker

_SHARDED = {DistributedType.FSDP, DistributedType.DEEPSPEED, DistributedType.MEGATRON_LM, DistributedType.XLA}


def make_accelerator(recipe: TrainingRecipe, output_dir: Path) -> Accelerator:
    """The accelerator of a run, on exactly the processes that were asked for.

    Raises:
        ImportError: the recipe names a tracker that is not installed.
        ValueError: another number of processes runs than was asked for, or the launcher asks for what the loop or
            the recipe does not do.
    """
    asked = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    if asked not in ("no", recipe.mixed_precision):
        raise ValueError(
            f"the launcher asks for mixed_precision {asked}, the recipe for {recipe.mixed_precision}; "
            f"add --mixed_precision {asked} after the recipe"
        )
    refuse_missing_tracker(recipe.report_to)
    accelerator = Accelerator(
        # The loop casts by itself: accelerate's wrapper also copies all outputs, logits included, to float32.
        mixed_precision="no",
        # Spelled out, because otherwise an environment variable would divide the loss a second time.
        gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=1),
        log_with=None if recipe.report_to == "none" else recipe.report_to,
        project_dir=output_dir / "runs",
    )
    if accelerator.distributed_type in _SHARDED:
        raise ValueError(f"this loop gives each process the whole model; it cannot run {accelerator.distributed_type}")
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    wanted = recipe.num_processes or launched
    if accelerator.num_processes != max(wanted, launched) or launched > wanted:
        raise ValueError(
            f"{accelerator.num_processes} process(es) run, but {max(wanted, launched)} were asked for; on CPUs: "
            f"ACCELERATE_USE_CPU=true torchrun --nproc_per_node {wanted} SCRIPT"
        )
    return accelerator


def all_reduce_sum(accelerator: Accelerator, *values: float) -> list[float]:
    """Each value summed over the processes, by one message."""
    if accelerator.num_processes == 1:
        return list(values)
    total = accelerator.reduce(torch.tensor(values, dtype=torch.float64, device=accelerator.device), reduction="sum")
    return [float(value) for value in total.tolist()]


class StopSignals:
    """Within the block the first SIGINT or SIGTERM is only noted, so that the loop can save; the second one kills."""

    names = ("SIGINT", "SIGTERM")

    def __init__(self) -> None:
        self.received = ""
        self._previous: dict[int, Any] = {}

    def noted(self) -> list[bool]:
        """For each of `names`, whether it came."""
        return [name == self.received for name in self.names]

    def __enter__(self) -> Self:
        # Python lets only the main thread set handlers; elsewhere signals keep their meaning.
        if threading.current_thread() is threading.main_thread():
            for name in self.names:
                number = signal.Signals[name]
                self._previous[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number).name
        self._restore()

    def _restore(self) -> None:
        while self._previous:
            signal.signal(*self._previous.popitem())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._restore()
