# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""An estimate of a training's time and memory, measured on a few of its steps."""

import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.trainer.batches import Batches, RowShard
from hf_lecture_models.trainer.optimization import make_optimizer, parameter_groups
from hf_lecture_models.trainer.recipe import TrainingRecipe

_BYTES_PER_PARAMETER = 16  # float32: the weight, its gradient, and the two means of AdamW


@dataclass(frozen=True)
class Estimate:
    """The cost of a training.

    Attributes:
        parameters: the number of weights that are trained.
        step_seconds: the median duration of an optimizer step.
        steps_per_epoch: the optimizer steps of an epoch; 0: not known.
        activation_bytes: what the forward pass of the largest measured micro-batch keeps for the backward pass.
    """

    parameters: int
    step_seconds: float
    steps_per_epoch: int
    activation_bytes: int

    @property
    def epoch_minutes(self) -> float:
        """The duration of an epoch without evaluations, in minutes."""
        return self.step_seconds * self.steps_per_epoch / 60

    @property
    def bytes(self) -> int:
        """The memory of weights, gradients, optimizer and activations; programs and data come on top of it."""
        return self.parameters * _BYTES_PER_PARAMETER + self.activation_bytes


@contextmanager
def _saved_bytes(model: nn.Module, sizes: list[int]) -> Iterator[None]:
    """Append the bytes of all tensors that the forward pass within the block keeps, without the model's weights."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    seen: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        if tensor.layout == torch.strided:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in weights:
                seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield
    sizes.append(sum(seen.values()))


def measure_steps(
    model: nn.Module,
    batches: Batches,
    recipe: TrainingRecipe,
    options: Mapping[str, Any],
    device: torch.device | str = "cpu",
    seconds: float = 2.0,
    most: int = 30,
) -> Estimate:
    """Train the model for a few steps, and return what they cost. The first step is not counted.

    Args:
        options: further arguments of `trainer.loop.train`, those of `Task.training_options`.
        seconds: no step is begun after so many seconds.
        most: the most steps.
    """
    trained = [parameter for parameter in model.to(device).parameters() if parameter.requires_grad]
    groups, factory = options.get("groups", parameter_groups), options.get("optimizer_factory", make_optimizer)
    optimizer = factory(groups(model, recipe), recipe)
    batches.set_shard(RowShard(recipe.batch_size, recipe.accumulation_steps, device=device))
    model.train()
    durations: list[float] = []
    sizes: list[int] = []
    begin = time.perf_counter()
    while len(durations) < 2 or (len(durations) < most and time.perf_counter() - begin < seconds):
        started = time.perf_counter()
        _step(model, batches, optimizer, options, sizes)
        durations.append(time.perf_counter() - started)
    return Estimate(
        parameters=sum(parameter.numel() for parameter in trained),
        step_seconds=statistics.median(durations[1:]),
        steps_per_epoch=batches.steps_per_epoch,
        activation_bytes=max(sizes, default=0),
    )


def _step(
    model: nn.Module, batches: Batches, optimizer: torch.optim.Optimizer, options: Mapping[str, Any], sizes: list[int]
) -> None:
    """Make an optimizer step as the training loop does, and append the bytes of each micro-batch's activations."""
    if (update := options.get("update")) is not None:
        for batch in batches.next_step():
            update(optimizer, batch)
        return
    for index, batch in enumerate(batches.next_step()):
        with _saved_bytes(model, sizes):
            outputs = model(**batch.inputs, **options.get("forward_options", {}))
            loss = batch.loss_of(outputs)
        batches.on_step_outputs(index, outputs)
        if loss is not None:
            loss.backward()
    optimizer.step()
    optimizer.zero_grad()
