# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A model in parts: each process holds a part of every weight, its gradient and its optimizer state (torch's FSDP2)."""

import copy
import warnings
from collections import Counter
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin
from torch import nn
from torch.distributed.tensor import DTensor

from hf_lecture_models.base.traits import trait


def shard_on_cpus() -> None:
    """Make accelerate shard on processes of a CPU, too.

    accelerate 1.15 shards on accelerators only: on CPUs it ignores environment and plugin without a word and gives
    each process the whole model. All that follows asks these two states alone.
    """
    for state in (AcceleratorState, PartialState):
        state._shared_state["distributed_type"] = DistributedType.FSDP


def copy_to_shard(model: nn.Module) -> nn.Module:
    """A copy whose single numbers, such as a Swish's β, are lists of one: FSDP2 shards nothing else.

    They compute the same, and torch loads them back into single numbers.
    """
    model = copy.deepcopy(model)
    lists: dict[nn.Parameter, nn.Parameter] = {}  # what is shared stays shared
    for module in model.modules():
        for name, number in list(module.named_parameters(recurse=False)):
            if number.ndim == 0:
                one = nn.Parameter(number.detach()[None], number.requires_grad)
                setattr(module, name, lists.setdefault(number, one))
    return model


def shard_model(accelerator: Accelerator, model: Any, optimizer: torch.optim.Optimizer) -> tuple[Any, Any]:
    """Spread a model and its optimizer over the processes, so that each holds a part of every weight.

    Each of the model's `_no_split_modules` is gathered by itself when it is called; all other weights, among
    them word vectors and output layer, are gathered for the whole pass. `model` itself then holds parts of weights.
    """
    accelerator.state.fsdp_plugin = sharding_plugin(_block_classes(model))
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


def sharding_plugin(block_classes: list[str]) -> FullyShardedDataParallelPlugin:
    """Return the settings by which accelerate gathers each block of these classes by itself."""
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
    for name in trait(model, "_no_split_modules") or []:
        blocks = [module for module in model.modules() if type(module).__name__ == name]
        if blocks and all(uses[id(p)] == 1 for block in blocks for p in block.parameters()):
            found.append(name)
    return found


def gather_weights(accelerator: Accelerator, model: nn.Module, whole: nn.Module) -> None:
    """Copy the sharded `model`'s weights into `whole`, in the main process; every process must call it."""
    weights = accelerator.get_state_dict(model)
    if accelerator.is_main_process:
        whole.load_state_dict(weights)


def gather_optimizer_state(accelerator: Accelerator, state: dict[str, Any]) -> dict[str, Any]:
    """Return an optimizer's `state_dict` with whole tensors in the main process; every process must call it."""

    def whole(value: Any) -> Any:
        if not isinstance(value, DTensor):
            return value
        gathered = value.full_tensor()
        return gathered.cpu() if accelerator.is_main_process else None

    states = {index: {name: whole(value) for name, value in values.items()} for index, values in state["state"].items()}
    return state | {"state": states}
