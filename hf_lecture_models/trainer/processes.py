# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The processes of a run: how many there are, how the model is spread over them, and the signals that stop them.

Several processes train one model in one of two ways. Either each process holds the whole model and they add up their
gradients (DistributedDataParallel), or each holds a part of every weight, its gradient and its optimizer state, and
the weights of a block are gathered only while it computes (fully sharded, Rajbhandari et al. 2020, "ZeRO"; here
torch's FSDP2 through accelerate). The launcher decides, the recipe stays the same:

    accelerate launch training/train_causal_lm.py RECIPE.yaml
    accelerate launch --use_fsdp training/train_causal_lm.py RECIPE.yaml
    ACCELERATE_USE_CPU=true torchrun --nproc_per_node 2 training/train_causal_lm.py RECIPE.yaml --num_processes 2
    ACCELERATE_USE_CPU=true ACCELERATE_USE_FSDP=true torchrun --nproc_per_node 2 training/train_causal_lm.py RECIPE.yaml

A step has the same rows in the same order on any number of processes, and the same loss and gradient up to rounding.
Random numbers differ: each process draws dropout masks (and noise for noise-contrastive estimation) for its own rows,
from its own seed, so that results differ as they do between two seeds.

The saved files are the same too: a checkpoint and the final folder hold whole tensors, gathered in the main process. A
sharded run that is killed and resumed ends with the weights of an uninterrupted run: on the CPU bit for bit, with the
same number of processes. Its checkpoints can also be resumed without sharding, to the same weights up to rounding.
Evaluation gathers the weights into a whole copy of the model in the main process, which needs the memory for it.
"""

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType, GradientAccumulationPlugin, parse_flag_from_env

from hf_lecture_models.trainer.recipe import TrainingRecipe
from hf_lecture_models.trainer.sharding import shard_on_cpus, sharding_plugin
from hf_lecture_models.trainer.tracking import refuse_missing_tracker


def make_accelerator(recipe: TrainingRecipe, output_dir: Path) -> Accelerator:
    """Return the accelerator of a run, on exactly the processes that were asked for.

    Raises:
        ImportError: the recipe names a tracker that is not installed.
        ValueError: another number of processes runs than was requested, or the launcher asks for something that the
            loop does not support or the recipe contradicts.
    """
    is_launched = "WORLD_SIZE" in os.environ or any(name.startswith("ACCELERATE_") for name in os.environ)
    sharded = is_launched and parse_flag_from_env("ACCELERATE_USE_FSDP")
    if is_launched:
        _refuse_launcher(recipe)
    if recipe.report_to != "none":
        refuse_missing_tracker(recipe.report_to)
    accelerator = Accelerator(
        # The loop casts by itself: accelerate's wrapper also copies all outputs, logits included, to float32.
        mixed_precision="no",
        # Spelled out, because otherwise an environment variable would divide the loss a second time.
        gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=1),
        log_with=None if recipe.report_to == "none" else recipe.report_to,
        project_dir=output_dir / "runs",
        fsdp_plugin=sharding_plugin([]) if sharded else None,
    )
    if sharded and accelerator.distributed_type == DistributedType.MULTI_CPU:
        shard_on_cpus()
    if is_launched or recipe.num_processes or accelerator.distributed_type != DistributedType.NO:
        _refuse_processes(accelerator, recipe, sharded)
    return accelerator


def _refuse_launcher(recipe: TrainingRecipe) -> None:
    """Raise a ValueError if the launcher's environment asks for something unsupported or contradicts the recipe."""
    asked = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    if asked not in ("no", recipe.mixed_precision):
        raise ValueError(
            f"the launcher asks for mixed_precision {asked}, the recipe for {recipe.mixed_precision}; "
            f"add --mixed_precision {asked} after the recipe"
        )
    for name in ("DEEPSPEED", "MEGATRON_LM"):
        # Checked first: accelerate would recommend installing the package, or ignore the variable on CPUs.
        if parse_flag_from_env(f"ACCELERATE_USE_{name}"):
            raise ValueError(f"this loop does not run {name}; it shards by FSDP: accelerate launch --use_fsdp")


def _refuse_processes(accelerator: Accelerator, recipe: TrainingRecipe, sharded: bool) -> None:
    """Raise a ValueError if the number of processes, or their sharding, differs from what was requested."""
    if accelerator.distributed_type == DistributedType.XLA:
        raise ValueError("this loop does not run on XLA devices")
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    wanted = recipe.num_processes or launched
    if accelerator.num_processes != max(wanted, launched) or launched > wanted:
        raise ValueError(
            f"{accelerator.num_processes} process(es) run, but {max(wanted, launched)} were asked for; on CPUs: "
            f"ACCELERATE_USE_CPU=true torchrun --nproc_per_node {wanted} SCRIPT"
        )
    if sharded and not is_sharded(accelerator):
        raise ValueError(
            f"ACCELERATE_USE_FSDP asks to shard the model, but {accelerator.num_processes} process runs under "
            f"{accelerator.distributed_type}; start several (on CPUs: ACCELERATE_USE_CPU=true torchrun "
            "--nproc_per_node 2 SCRIPT), or unset it"
        )


def is_sharded(accelerator: Accelerator) -> bool:
    """Return whether each process holds a part of every weight."""
    return accelerator.distributed_type == DistributedType.FSDP


def all_reduce_sum(accelerator: Accelerator, *values: float) -> list[float]:
    """Return each value summed over the processes, in a single reduction."""
    if accelerator.num_processes == 1:
        return list(values)
    total = accelerator.reduce(torch.tensor(values, dtype=torch.float64, device=accelerator.device), reduction="sum")
    return [float(value) for value in total.tolist()]


@contextmanager
def stop_signals() -> Iterator[dict[str, int]]:
    """Within the block the first SIGINT or SIGTERM is only counted, so that the loop can save; the second one kills.

    Yields how often each signal came, by name. Outside the main thread, where Python sets no handlers, none is counted.
    """
    counts = {"SIGINT": 0, "SIGTERM": 0}
    previous: dict[int, Any] = {}

    def restore() -> None:
        while previous:
            signal.signal(*previous.popitem())

    def count(number: int, frame: FrameType | None) -> None:
        counts[signal.Signals(number).name] += 1
        restore()

    try:
        for name in counts if threading.current_thread() is threading.main_thread() else ():
            previous[signal.Signals[name]] = signal.signal(signal.Signals[name], count)
        yield counts
    finally:
        restore()


def signal_in(counts: Mapping[str, float]) -> str:
    """Return the name of a signal that came; "" where none did.

    >>> signal_in({"SIGINT": 0, "SIGTERM": 1})
    'SIGTERM'
    """
    return next((name for name, count in counts.items() if count), "")
