# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Reports on a run: a bar on a terminal, lines, a tracker, the history as JSON and as a picture."""

import importlib.util
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm
from transformers.utils import logging as transformers_logging

from hf_lecture_models.analysis.learning_curve import save_learning_curve
from hf_lecture_models.hub.facts import environment
from hf_lecture_models.io.files import staged_file
from hf_lecture_models.trainer.processes import is_sharded
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


class Reporter:
    """The reports of the main process; the other processes are silent.

    Args:
        quiet: show no bar and no lines; tracker and files are written nevertheless.
        items_name: the items that the loss is a mean over ("tokens").
    """

    def __init__(self, accelerator: Any, output_dir: Path, total_steps: int, quiet: bool, items_name: str) -> None:
        self.accelerator, self.output_dir, self.items_name = accelerator, output_dir, items_name
        self.total_steps = total_steps
        self.quiet = quiet or not accelerator.is_main_process
        silent = self.quiet or not sys.stderr.isatty()
        self.bar = tqdm(total=total_steps, disable=silent, unit="step", dynamic_ncols=True)

    def note(self, line: str) -> None:
        """Print a line, unless the run is quiet."""
        if not self.quiet:
            tqdm.write(line, file=sys.stderr)

    def advance(self, progress: Progress, loss: float) -> None:
        """Move the bar to the current step."""
        if not self.bar.disable:
            speed = f"{progress.items_per_second:,.0f} {self.items_name}/s"
            self.bar.set_postfix_str(f"loss {loss:.3f}, {speed}", refresh=False)
            self.bar.update(progress.step - self.bar.n)

    def record(self, progress: Progress, row: dict[str, Any]) -> None:
        """Add a row of numbers to the history and send it to the tracker."""
        progress.history.append(row)
        values = {name: value for name, value in row.items() if name != "step"}
        speed = {f"{self.items_name}_per_second": progress.items_per_second}  # not in the history: no two runs agree
        self.accelerator.log(values | speed if "loss" in row else values, step=row["step"])

    def write_facts(self, progress: Progress, recipe: dict[str, Any], metric: str) -> None:
        """Write `training.json` in the main process: how the run went, for programs."""
        if not self.accelerator.is_main_process:
            return
        facts = {key: value for key, value in asdict(progress).items() if not key.startswith("interval")}
        facts |= {f"{self.items_name}_per_second": progress.items_per_second, "metric": metric, "recipe": recipe}
        facts |= {"num_processes": self.accelerator.num_processes, "sharded": is_sharded(self.accelerator)}
        facts |= {"device": self.accelerator.device.type, "environment": environment()}
        facts |= {"finished": progress.step == self.total_steps or progress.stopped == "early stopping"}
        with staged_file(self.output_dir / "training.json") as stage:
            # The history holds finite numbers alone, so this is JSON that every program can read.
            stage.write_text(json.dumps(facts, indent=1, ensure_ascii=False), encoding="utf-8")

    def draw(self, progress: Progress) -> None:
        """Draw `learning_curve.png` in the main process, if matplotlib is installed."""
        has_losses = any("loss" in row for row in progress.history)
        if has_losses and self.accelerator.is_main_process and importlib.util.find_spec("matplotlib"):
            save_learning_curve(progress.history, self.output_dir / "learning_curve.png")

    def close(self) -> None:
        """Close the bar and the tracker; the processes stay connected."""
        self.bar.close()
        if self.accelerator.trackers:
            finish_trackers(self.accelerator)
