# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The processes of a run: how many there are, how the model is spread over them, and the signals that stop them.

Several processes train one model in one of two ways. Either each holds all of it and they add up their gradients
(DistributedDataParallel), or each holds a part of every weight, its gradient and its optimizer state, and the whole of
a block exists only while it is at work (fully sharded, Rajbhandari et al. 2020, "ZeRO"; here torch's FSDP2 through
accelerate). The launcher decides, the recipe stays the same:

    accelerate launch training/train_causal_lm.py RECIPE.yaml
    accelerate launch --use_fsdp training/train_causal_lm.py RECIPE.yaml
    ACCELERATE_USE_CPU=true torchrun --nproc_per_node 2 training/train_causal_lm.py RECIPE.yaml --num_processes 2
    ACCELERATE_USE_CPU=true ACCELERATE_USE_FSDP=true torchrun --nproc_per_node 2 training/train_causal_lm.py RECIPE.yaml

A step has the same rows in the same order on any number of processes, and its loss and gradient are the same but for
rounding. What a model draws at random is not: each process draws dropout masks (and noise for noise-contrastive
estimation) for its own rows, from a seed of its own, so that results differ as they do between two seeds.

What is saved is the same too: a checkpoint and the final folder hold whole tensors, gathered in the main process. A
sharded run that was killed resumes to the weights of one that was not, on the CPU bit for bit, at the same number of
processes; its checkpoints can also be resumed from without sharding, to the same weights but for rounding. Evaluation
gathers the weights into a whole copy of the model in the main process, which must have room for it.
"""

import copy
import os
import signal
import threading
import warnings
from collections import Counter
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import (
    DistributedType,
    FullyShardedDataParallelPlugin,
    GradientAccumulationPlugin,
    parse_flag_from_env,
)
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

from hf_lecture_models.trainer.recipe import TrainingRecipe
from hf_lecture_models.trainer.tracking import refuse_missing_tracker


def make_accelerator(recipe: TrainingRecipe, output_dir: Path) -> Accelerator:
    """The accelerator of a run, on exactly the processes that were asked for.

    Raises:
        ImportError: the recipe names a tracker that is not installed.
        ValueError: another number of processes runs than was asked for, or the launcher asks for what the loop or
            the recipe does not do.
    """
    _refuse_launcher(recipe)
    refuse_missing_tracker(recipe.report_to)
    sharded = parse_flag_from_env("ACCELERATE_USE_FSDP")
    accelerator = Accelerator(
        # The loop casts by itself: accelerate's wrapper also copies all outputs, logits included, to float32.
        mixed_precision="no",
        # Spelled out, because otherwise an environment variable would divide the loss a second time.
        gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=1),
        log_with=None if recipe.report_to == "none" else recipe.report_to,
        project_dir=output_dir / "runs",
        fsdp_plugin=_sharding_of([]) if sharded else None,
    )
    if sharded and accelerator.distributed_type == DistributedType.MULTI_CPU:
        # accelerate 1.15 shards on accelerators only: on CPUs it ignores environment and plugin without a word and
        # gives each process the whole model. All that follows asks these two states alone.
        for state in (AcceleratorState, PartialState):
            state._shared_state["distributed_type"] = DistributedType.FSDP
    _refuse_processes(accelerator, recipe, sharded)
    return accelerator


def _refuse_launcher(recipe: TrainingRecipe) -> None:
    """Raise ValueError where the launcher's environment asks for what the loop or the recipe does not do."""
    asked = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    if asked not in ("no", recipe.mixed_precision):
        raise ValueError(
            f"the launcher asks for mixed_precision {asked}, the recipe for {recipe.mixed_precision}; "
            f"add --mixed_precision {asked} after the recipe"
        )
    for name in ("DEEPSPEED", "MEGATRON_LM"):
        # Before accelerate sees it, which would recommend to install the package, or pass over it on CPUs.
        if parse_flag_from_env(f"ACCELERATE_USE_{name}"):
            raise ValueError(f"this loop does not run {name}; it shards by FSDP: accelerate launch --use_fsdp")


def _refuse_processes(accelerator: Accelerator, recipe: TrainingRecipe, sharded: bool) -> None:
    """Raise ValueError where other processes run than those that were asked for, or ones that do not shard."""
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
    """Whether each process holds a part of every weight."""
    return accelerator.distributed_type == DistributedType.FSDP


def copy_to_shard(model: nn.Module) -> nn.Module:
    """A copy whose single numbers, such as a Swish's β, are lists of one: FSDP2 shards nothing else.

    They compute the same, and torch loads them back into single numbers.
    """
    model = copy.deepcopy(model)
    lists: dict[nn.Parameter, nn.Parameter] = {}  # what is shared stays shared
    for module in model.modules():
        for name, number in list(module.named_parameters(recurse=False)):
            if number.ndim == 0:
                setattr(
                    module, name, lists.setdefault(number, nn.Parameter(number.detach()[None], number.requires_grad))
                )
    return model


def prepare(accelerator: Accelerator, model: Any, optimizer: torch.optim.Optimizer) -> tuple[Any, Any]:
    """Put model and optimizer on their devices, and spread them over the processes.

    Sharded, each of the model's `_no_split_modules` is gathered by itself when it is called; all other weights, among
    them word vectors and output layer, are gathered for the whole pass. `model` itself then holds parts of weights.
    """
    if not is_sharded(accelerator):
        return accelerator.prepare(model, optimizer)
    accelerator.state.fsdp_plugin = _sharding_of(_block_classes(model))
    # accelerate would gather word vectors and output layer each by itself, when their `forward` is called. A loss that
    # reads the output matrix without calling it, or calls it twice, would then get wrong gradients or none.
    model.get_input_embeddings = model.get_output_embeddings = lambda: None
    try:
        model, optimizer = accelerator.prepare(model, optimizer)
    finally:
        del model.get_input_embeddings, model.get_output_embeddings
    for name, parameter in model.named_parameters():
        if not isinstance(parameter, DTensor) or parameter.device_mesh.device_type != accelerator.device.type:
            raise RuntimeError(f"accelerate left {name} whole, or sharded it elsewhere than on {accelerator.device}")
    # torch warns of views among the outputs, which harm only where they are changed in place; the loop changes none.
    warnings.filterwarnings("ignore", message=rf"FSDP2-wrapped module \({type(model).__name__}\) returned a view")
    return model, optimizer


def _sharding_of(block_classes: list[str]) -> FullyShardedDataParallelPlugin:
    return FullyShardedDataParallelPlugin(
        fsdp_version=2,
        auto_wrap_policy="transformer_based_wrap",
        transformer_cls_names_to_wrap=block_classes,
        # Meant for models that only the main process has loaded; here each has.
        cpu_ram_efficient_loading=False,
    )


def _block_classes(model: nn.Module) -> list[str]:
    """Names of the classes in `_no_split_modules` that the model has, without those around a shared weight."""
    uses = Counter(id(p) for module in model.modules() for p in module.parameters(recurse=False))
    found = []
    for name in getattr(model, "_no_split_modules", None) or []:
        blocks = [module for module in model.modules() if type(module).__name__ == name]
        if blocks and all(uses[id(p)] == 1 for block in blocks for p in block.parameters()):
            found.append(name)
    return found


def gather_weights(accelerator: Accelerator, model: nn.Module, whole: nn.Module) -> None:
    """Copy the sharded `model`'s weights into `whole`, in the main process; every process must call it."""
    weights = accelerator.get_state_dict(model)
    if accelerator.is_main_process:
        whole.load_state_dict(weights)


def optimizer_state(accelerator: Accelerator, optimizer: Any) -> dict[str, Any]:
    """The optimizer's `state_dict`, in the main process with whole tensors; every process must call it."""

    def whole(value: Any) -> Any:
        if not isinstance(value, DTensor):
            return value
        gathered = value.full_tensor()
        return gathered.cpu() if accelerator.is_main_process else None

    state = optimizer.state_dict()
    states = {index: {name: whole(value) for name, value in values.items()} for index, values in state["state"].items()}
    return state | {"state": states}


def load_optimizer_state(optimizer: Any, state: dict[str, Any]) -> None:
    """Load a `state_dict` of whole tensors, the same one in every process; of each, a sharded parameter takes its part.

    Args:
        state: its parameters' numbers may be text, as JSON makes them. It may come from a sharded run, where single
            numbers are lists of one, or go to one.
    """
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]

    def part(name: str, value: Any, parameter: Tensor) -> Any:
        # A count of steps is one number, whatever the parameter.
        if name == "step" or not isinstance(value, Tensor) or value.numel() != parameter.numel():
            return value
        value = value.to(parameter.device).reshape(parameter.shape)
        if not isinstance(parameter, DTensor):
            return value
        return distribute_tensor(value, parameter.device_mesh, parameter.placements, src_data_rank=None)

    states = {
        int(index): {name: part(name, value, parameters[int(index)]) for name, value in values.items()}
        for index, values in state["state"].items()
    }
    optimizer.load_state_dict(state | {"state": states})


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
