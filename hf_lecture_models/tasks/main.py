# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A task run from the command line: `SCRIPT [RECIPE.yaml] [--name value ...] [--resume]`."""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import torch
from transformers.utils.logging import disable_progress_bar, set_verbosity_error

from hf_lecture_models.hub.facts import facts_of_training, write_facts
from hf_lecture_models.io.signals import signals_as_exceptions
from hf_lecture_models.tasks.task import Task
from hf_lecture_models.trainer.loop import TrainingResult
from hf_lecture_models.trainer.recipe import describe_fields, load_recipe, parse_overrides

_FLAGS = ("--resume", "--help", "-h")


def run_task(task: Task[Any], arguments: Sequence[str], description: str) -> None:
    """Train, say how it ended, and turn what the user can fix into one line and an exit status.

    The status is 1 for an error, 128 and the signal's number for a run that SIGINT or SIGTERM stopped, else 0.

    Args:
        arguments: of the command, without its name.
        description: of the script, for `--help`.
    """
    logging.basicConfig(level=logging.WARNING)
    disable_progress_bar()  # of loading and saving; training has its own
    set_verbosity_error()  # which weights are new, the task says in one line
    try:
        with signals_as_exceptions():
            result, test_results = train_from_command(task, arguments, description)
    except (ValueError, OSError, FloatingPointError, ImportError, torch.OutOfMemoryError) as error:
        sys.exit(f"error: {' '.join(str(error).split())}")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    if _is_main_process():
        print(closing_line(task, result, test_results))
    if result.stopped.startswith("SIG"):
        sys.exit(128 + signal.Signals[result.stopped])


def train_from_command(
    task: Task[Any], arguments: Sequence[str], description: str = ""
) -> tuple[TrainingResult, dict[str, Any] | None]:
    """What `run_task` does, with its result, and with errors as they are."""
    recipe, resume = parse_command(task, arguments, description)
    return train_and_test(task, recipe, resume)


def parse_command(task: Task[Any], arguments: Sequence[str], description: str) -> tuple[Any, bool]:
    """The recipe that the command line says, and whether to resume.

    Raises:
        ValueError: a field is unknown or has an impossible value.
        OSError: the recipe cannot be read.
    """
    parser = argparse.ArgumentParser(
        description=description,
        usage="%(prog)s [RECIPE.yaml] [--name value ...] [--resume]",
        epilog=describe_fields(task.recipe_class),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint in output_dir")
    options = parser.parse_args([argument for argument in arguments if argument in _FLAGS])
    rest = [argument for argument in arguments if argument not in _FLAGS]
    path = rest.pop(0) if rest and not rest[0].startswith("--") else None
    return load_recipe(path, parse_overrides(rest), recipe_class=task.recipe_class), options.resume


def train_and_test(task: Task[Any], recipe: Any, resume: bool = False) -> tuple[TrainingResult, dict[str, Any] | None]:
    """Train by a recipe, and measure the weights that were kept on its test data, if it names any.

    The test results are written to `facts.json` in the output folder, for the model's card.

    Raises:
        ValueError, OSError, FloatingPointError, ImportError: as reading the data, building the model, training.
    """
    data, validation_data, test_data = (task.read(recipe, part) for part in ("train", "validation", "test"))
    processor = task.processor(recipe, data)
    model = task.model(recipe, processor, data)
    task.evaluation(model, processor, test_data, recipe)  # data that cannot be measured are refused before training
    result = task.train(model, processor, data, validation_data, recipe, resume=resume)
    if test_data is None or result.stopped.startswith("SIG") or not _is_main_process():
        return result, None
    model = task.auto_class_of(recipe).from_pretrained(result.folder).to(model.device)
    measured = task.evaluate(model, processor, test_data, recipe)
    facts = facts_of_training(result.folder, model, processor, "test")
    write_facts(result.folder, facts | {"results": measured})
    return result, measured


def closing_line(task: Task[Any], result: TrainingResult, test_results: dict[str, Any] | None = None) -> str:
    """How the run ended, for a person."""
    if result.stopped.startswith("SIG"):
        return f"stopped by {result.stopped} at step {result.step}; the same command with --resume continues"
    early = ", stopped early (early_stopping_patience)" if result.stopped else ""
    best = "" if result.best_metric is None else f", best validation {result.metric_name} {result.best_metric:.4g}"
    test = "" if test_results is None else ", test {} {:.4g}".format(*next(iter(test_results.items())))
    speed = f"{result.items_per_second:,.0f} {task.items}/s"
    return f"{result.step} steps{early}, {speed}{best}{test}: {result.folder}"


def _is_main_process() -> bool:
    return os.environ.get("RANK", "0") == "0"
