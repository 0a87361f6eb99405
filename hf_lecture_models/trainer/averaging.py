# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The mean of the weights of several checkpoints of one run, as Vaswani et al. 2017 translate with."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.io.files import staged_folder, write_file
from hf_lecture_models.io.strict_json import strict_json
from hf_lecture_models.trainer.checkpoint import complete_checkpoints, read_model

if TYPE_CHECKING:
    from hf_lecture_models.trainer.loop import Evaluation, TrainingResult


@torch.no_grad()
def average_checkpoints(folder: Path, number: int, model: nn.Module) -> list[Path]:
    """Load the mean weights of the newest `number` complete checkpoints into `model`; buffers are the newest one's.

    Args:
        folder: the folder of the checkpoints.
        model: the model of the run; it stays on its device.

    Returns:
        The checkpoints, newest first; fewer than `number` if the folder has fewer.

    Raises:
        ValueError: the folder has no complete checkpoint, or they belong to another model.
    """
    paths = complete_checkpoints(folder)[:number]
    if not paths:
        raise ValueError(f"{folder} holds no complete checkpoint to average")
    means: dict[str, torch.Tensor] = {}
    for count, path in enumerate(reversed(paths), start=1):
        read_model(path, model)
        for name, weight in model.named_parameters():
            value = weight.detach().double()
            means[name] = value if name not in means else means[name] + (value - means[name]) / count
    for name, weight in model.named_parameters():
        weight.copy_(means[name])
    return paths


def keep_average(
    model: Any, result: "TrainingResult", number: int, evaluation: "Evaluation | None"
) -> "TrainingResult":
    """Measure the mean of the newest checkpoints after a run, and save it if it is the best model.

    Without an evaluation the mean is saved unmeasured. The history of the run gets a row with the measures and
    `averaged`, the number of checkpoints.

    Args:
        model: the transformers model of the run; it holds the mean afterwards.

    Returns:
        The result of the run, with the new best metric if the mean is better.
    """
    paths = average_checkpoints(result.folder / "checkpoints", number, model)
    with evaluation_mode(model):
        measured = {} if evaluation is None else evaluation.measure(model)
    value = None if evaluation is None else measured[result.metric_name]
    is_best = evaluation is None or evaluation.improves(measured[result.metric_name], result.best_metric)
    if is_best:
        with staged_folder(result.folder) as stage:
            model.save_pretrained(stage)
        result = replace(result, best_metric=value)
    numbers = {f"validation_{name}": number for name, number in measured.items() if isinstance(number, int | float)}
    last = next((row["epoch"] for row in reversed(result.history)), 0.0)
    row = {"step": result.step, "epoch": last, "averaged": len(paths), **numbers}
    record = result.folder / "training.json"
    facts = json.loads(record.read_text(encoding="utf-8")) | {"best_metric": result.best_metric}
    facts["history"] = [*facts["history"], row]
    write_file(record, strict_json(facts, indent=1) + "\n")
    return replace(result, history=facts["history"])
