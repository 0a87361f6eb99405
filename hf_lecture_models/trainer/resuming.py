# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Going on with a run from its newest checkpoint, to the bits that it would have had without a stop."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accelerate.utils import broadcast_object_list
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

from hf_lecture_models.trainer.batches import Batches
from hf_lecture_models.trainer.checkpoint import latest_checkpoint, read_model, read_state, set_random_state
from hf_lecture_models.trainer.optimization import Schedule
from hf_lecture_models.trainer.plan import EARLY_STOPPING, MINUTES, Plan
from hf_lecture_models.trainer.recipe import TrainingRecipe, refuse_changed_recipe
from hf_lecture_models.trainer.reporting import Progress, Reporter


def read_newest(
    model: nn.Module, recipe: TrainingRecipe, fingerprints: Mapping[str, str], reporter: Reporter
) -> dict[str, Any] | None:
    """Load the weights of the newest complete checkpoint into `model`, and return its state; None: there is none yet.

    Raises:
        ValueError: checkpoints are lost or damaged; recipe, data or the number of processes differ.
    """
    accelerator, folder = reporter.accelerator, reporter.folder
    found: list[Any] = [None]
    if accelerator.is_main_process:
        found = [latest_checkpoint(folder / "checkpoints")]
        if found[0] is None:
            _refuse_lost_checkpoints(folder)
            reporter.note(f"no checkpoint in {folder} yet: starting from scratch")
    start: Path | None = broadcast_object_list(found)[0]
    if start is None:
        return None
    state = read_state(start)
    refuse_changed_recipe(recipe, state["recipe"])
    if len(state["processes"]) != accelerator.num_processes:
        raise ValueError(
            f"cannot resume: num_processes is {accelerator.num_processes} but the run was started with "
            f"{len(state['processes'])}; start as many, or train into another output folder"
        )
    before = state.get("fingerprints", {})
    # Refused before the weights are read: other data may have made a model of other shapes.
    if changed := [name for name, value in fingerprints.items() if before.get(name) != value]:
        raise ValueError(
            f"cannot resume: {' and '.join(changed)} changed since the run was started; "
            "restore what was there, or train into another output folder"
        )
    read_model(start, model)
    reporter.note(f"resuming from {start}")
    return state


def go_back(
    state: Mapping[str, Any], process_index: int, optimizer: Any, schedule: Schedule, batches: Batches, plan: Plan
) -> Progress:
    """Restore all but the weights from a checkpoint; return the progress of the run.

    A run that a signal stopped goes on, and so does one that has more time or patience now than when it ended.
    """
    load_optimizer_state(optimizer, state["optimizer"])
    schedule.reductions = state["reductions"]
    own = state["processes"][process_index]
    batches.load_state_dict(own["batches"])
    set_random_state(own["random"])
    progress = Progress(**state["progress"])
    has_time = plan.seconds is None or progress.seconds < plan.seconds
    has_patience = not 0 < plan.patience <= progress.evaluations_without_gain
    goes_on = {MINUTES: has_time, EARLY_STOPPING: has_patience}
    if goes_on.get(progress.stopped, True):
        progress.stopped = ""
    return progress


def _refuse_lost_checkpoints(output_dir: Path) -> None:
    """Raise a ValueError where a run, or whatever else made a model, left no checkpoint: it would be written over."""
    record = output_dir / "training.json"
    facts = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    if facts and facts.get("checkpoint") != 0:  # 0: killed before the first one
        kind = "a finished run" if facts.get("finished") else "a run"
        raise ValueError(
            f"{output_dir} holds {kind} of {facts['step']} steps, but none of its checkpoints: there is nothing to "
            "resume; to train again, name another output folder, or remove this one"
        )
    if not facts and any(output_dir.glob("*.safetensors")):
        raise ValueError(
            f"{output_dir} holds a model, but no checkpoint of a run: there is nothing to resume; name another output "
            "folder, or leave `resume` out to write over the model"
        )


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
