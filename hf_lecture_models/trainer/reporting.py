# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Reports on a run: a bar on a terminal, lines, a tracker, the history as JSON."""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from accelerate.utils import DistributedType
from tqdm import tqdm
from transformers.utils import logging as transformers_logging

from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.io.runs import environment
from hf_lecture_models.trainer.plan import EARLY_STOPPING, MINUTES, Plan
from hf_lecture_models.trainer.recipe import TrainingRecipe
from hf_lecture_models.trainer.tracking import finish_trackers


@dataclass
class Progress:
    """The progress of a run; checkpoints hold it, so that a resumed run goes on counting."""

    step: int = 0
    checkpoint: int = 0  # the step of the newest checkpoint; 0: none yet
    items: int = 0
    seconds: float = 0.0
    step_seconds: float = 0.0
    step_cpu_seconds: float = 0.0  # all threads of this process; varies less than seconds on a shared machine
    best_metric: float | None = None
    evaluations_without_gain: int = 0
    stopped: str = ""
    interval_loss: float = 0.0
    interval_items: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)

    def has_improved(self, metric: str) -> bool:
        """Return whether the last evaluation gave a better value of `metric` than all before it."""
        values = [row[name] for row in self.history if (name := f"validation_{metric}") in row]
        return bool(values) and values[-1] == self.best_metric and values[-1] not in values[:-1]

    @property
    def items_per_second(self) -> float:
        """The speed of the optimizer steps alone, without evaluation and saving."""
        return self.items / self.step_seconds if self.step_seconds else 0.0


@contextmanager
def silent_saving() -> Iterator[None]:
    """Within the block transformers shows no bar for a model that is saved; afterwards it does again."""
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.enable_progress_bar()


@dataclass
class Reporter:
    """The reports of the main process; the other processes are silent.

    Args:
        plan: how long the run is at most, and what ends it.
        items_name: the items that the loss is a mean over ("tokens").
        quiet: show no bar and no lines; tracker and files are written nevertheless.
    """

    accelerator: Any
    folder: Path
    recipe: TrainingRecipe
    plan: Plan
    items_name: str
    quiet: bool

    def __post_init__(self) -> None:
        self.quiet = self.quiet or not self.accelerator.is_main_process
        self.metric = self.plan.metric or "loss"  # the name of the number that decides which weights are the best
        self.loss = 0.0
        total = None if self.plan.is_automatic else self.plan.total_steps
        self.bar = ProgressBar(total=total, shown=not self.quiet, unit="step", delay=0, desc="training")
        # Asked at the beginning: the checkout may be changed while the run goes on.
        self.environment = environment() if self.accelerator.is_main_process else {}

    def note(self, line: str) -> None:
        """Print a line, unless it is empty or the run is quiet."""
        if line and not self.quiet:
            tqdm.write(line, file=sys.stderr)

    def advance(self, progress: Progress, loss: float | None = None) -> None:
        """Move the bar to the current step; None: the loss is the last one, only the best measure may be new."""
        self.loss = self.loss if loss is None else loss
        if not self.bar.disable:
            self.bar.set_postfix_str(", ".join(self._shown(progress)), refresh=False)
            self.bar.update(progress.step - self.bar.n)

    def _shown(self, progress: Progress) -> Iterator[str]:
        """Yield what the bar says beside the steps: epoch, time of a run with a limit, loss, speed, the best so far."""
        if self.plan.steps_per_epoch:
            yield f"epoch {progress.step / self.plan.steps_per_epoch:.2f}"
        if self.plan.seconds is not None:
            yield f"{tqdm.format_interval(progress.seconds)} of {tqdm.format_interval(self.plan.seconds)}"
        yield f"loss {self.loss:.3f}"
        yield f"{progress.items_per_second:,.0f} {self.items_name}/s"
        if progress.best_metric is not None:
            yield f"best {self.metric} {progress.best_metric:.4g}"

    def record(self, progress: Progress, numbers: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
        """Add the finite numbers to the history as a row, send it to the tracker, and return it."""
        per_epoch = self.plan.steps_per_epoch
        epoch = round(progress.step / per_epoch, 4) if per_epoch else 0.0
        row: dict[str, Any] = {"step": progress.step, "epoch": epoch}
        for name, number in numbers.items():
            if isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number):
                row[prefix + name] = number
        progress.history.append(row)
        if self.accelerator.trackers:
            # The speed is not in the history, where no two runs would agree.
            speed = {f"{self.items_name}_per_second": progress.items_per_second} if "loss" in row else {}
            values = {name: value for name, value in row.items() if name != "step"}
            self.accelerator.log(values | speed, step=progress.step)
        return row

    def write_facts(self, progress: Progress) -> None:
        """Write `training.json` in the main process: how the run went, for programs."""
        if not self.accelerator.is_main_process:
            return
        facts = asdict(progress)
        del facts["interval_loss"], facts["interval_items"]
        facts[f"{self.items_name}_per_second"] = progress.items_per_second
        facts |= {"metric": self.metric, "recipe": self.recipe.to_dict()}
        facts["num_processes"] = self.accelerator.num_processes
        facts["sharded"] = self.accelerator.distributed_type == DistributedType.FSDP
        facts |= {"device": self.accelerator.device.type, "environment": self.environment}
        facts["finished"] = progress.step == self.plan.total_steps or progress.stopped in (EARLY_STOPPING, MINUTES)
        # The history holds finite numbers alone, so this is JSON that every program can read.
        write_file(self.folder / "training.json", json.dumps(facts, indent=1, ensure_ascii=False))

    def close(self) -> None:
        """Close the bar and the tracker; the processes stay connected."""
        self.bar.close()
        if self.accelerator.trackers:
            finish_trackers(self.accelerator)
