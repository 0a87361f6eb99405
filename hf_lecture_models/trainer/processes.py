# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Several processes that train one model: checks of what a launcher asks for, and sums over the processes.

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

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType, parse_flag_from_env

from hf_lecture_models.trainer.recipe import TrainingRecipe
from hf_lecture_models.trainer.sharding import shard_on_cpus

LAUNCHER_VARIABLES = {
    "WORLD_SIZE",
    "ACCELERATE_MIXED_PRECISION",
    "ACCELERATE_USE_FSDP",
    "ACCELERATE_USE_DEEPSPEED",
    "ACCELERATE_USE_MEGATRON_LM",
}
"""The variables of the environment by which a launcher asks for something."""


def check_launcher(recipe: TrainingRecipe) -> None:
    """Raise a ValueError if the launcher's environment asks for something unsupported or contradicts the recipe."""
    asked = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    if asked not in ("no", recipe.mixed_precision):
        raise ValueError(
            f"the launcher asks for mixed_precision {asked}, the recipe for {recipe.mixed_precision}; "
            f"set `mixed_precision` {asked} in the recipe"
        )
    for name in ("DEEPSPEED", "MEGATRON_LM"):
        # Checked first: accelerate would recommend installing the package, or ignore the variable on CPUs.
        if parse_flag_from_env(f"ACCELERATE_USE_{name}"):
            raise ValueError(f"this loop does not run {name}; it shards by FSDP: accelerate launch --use_fsdp")


def check_processes(accelerator: Accelerator, recipe: TrainingRecipe) -> None:
    """Raise a ValueError if the number of processes, or their sharding, differs from what was requested."""
    sharded = parse_flag_from_env("ACCELERATE_USE_FSDP")
    if sharded and accelerator.distributed_type == DistributedType.MULTI_CPU:
        shard_on_cpus()
    if accelerator.distributed_type == DistributedType.XLA:
        raise ValueError("this loop does not run on XLA devices")
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    wanted = recipe.num_processes or launched
    if accelerator.num_processes != max(wanted, launched) or launched > wanted:
        raise ValueError(
            f"{accelerator.num_processes} process(es) run, but {max(wanted, launched)} were asked for; on CPUs: "
            f"ACCELERATE_USE_CPU=true torchrun --nproc_per_node {wanted} SCRIPT"
        )
    if sharded and accelerator.distributed_type != DistributedType.FSDP:
        raise ValueError(
            f"ACCELERATE_USE_FSDP asks to shard the model, but {accelerator.num_processes} process runs under "
            f"{accelerator.distributed_type}; start several (on CPUs: ACCELERATE_USE_CPU=true torchrun "
            "--nproc_per_node 2 SCRIPT), or unset it"
        )


def all_reduce_sum(accelerator: Accelerator, *values: float) -> list[float]:
    """Return each value summed over the processes, in a single reduction."""
    total = accelerator.reduce(torch.tensor(values, dtype=torch.float64, device=accelerator.device), reduction="sum")
    return [float(value) for value in total.tolist()]
