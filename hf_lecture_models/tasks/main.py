# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A task run from the command line: `SCRIPT [RECIPE.yaml] [--name value ...] [--resume]`."""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers.utils.logging import disable_progress_bar, set_verbosity_error

from hf_lecture_models.hub.facts import facts_of_training, write_facts
from hf_lecture_models.io.signals import signals_as_exceptions
from hf_lecture_models.tasks.task import Task
from hf_lecture_models.trainer.loop import TrainingResult
from hf_lecture_models.trainer.recipe import describe_fields, load_recipe, parse_overrides

PREDICTIONS = "predictions"
"""The folder in `output_dir` that holds what the kept weights say of rows without labels."""
_FLAGS = ("--resume", "--help", "-h")


class Outcome(NamedTuple):
    """What a run left behind.

    Attributes:
        test_results: the measures on the test data; None without them, or where a signal stopped the run.
        predictions: the file or folder of predictions; None likewise.
    """

    training: TrainingResult
    test_results: dict[str, Any] | None = None
    predictions: Path | None = None


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
            outcome = train_from_command(task, arguments, description)
    except (ValueError, OSError, FloatingPointError, ImportError, torch.OutOfMemoryError) as error:
        sys.exit(f"error: {' '.join(str(error).split())}")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    if _is_main_process():
        print(closing_line(task, outcome))
    stopped = outcome.training.stopped
    if stopped.startswith("SIG"):
        sys.exit(128 + signal.Signals[stopped])


def train_from_command(task: Task[Any], arguments: Sequence[str], description: str = "") -> Outcome:
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


def train_and_test(task: Task[Any], recipe: Any, resume: bool = False) -> Outcome:
    """Train by a recipe; measure the weights that were kept on its test data, and write predictions, if it names any.

    The test results are written to `facts.json` in the output folder, for the model's card.

    Raises:
        ValueError, OSError, FloatingPointError, ImportError: as reading the data, building the model, training.
    """
    data, validation_data, test_data, unlabelled = (
        task.read(recipe, part) for part in ("train", "validation", "test", "predict")
    )
    processor = task.processor(recipe, data)
    model = task.model(recipe, processor, data)
    # Data that cannot be measured or predicted are refused before training.
    task.evaluation(model, processor, test_data, recipe)
    if unlabelled is not None:
        task.check_predict_data(model, processor, unlabelled, recipe)
    result = task.train(model, processor, data, validation_data, recipe, resume=resume)
    outcome = Outcome(result)
    if not _is_main_process() or result.stopped.startswith("SIG") or (test_data is None and unlabelled is None):
        return outcome
    model = task.auto_class_of(recipe).from_pretrained(result.folder).to(model.device)
    if test_data is not None:
        measured = task.evaluate(model, processor, test_data, recipe)
        facts = facts_of_training(result.folder, model, processor, "test")
        write_facts(result.folder, facts | {"results": measured})
        outcome = outcome._replace(test_results=measured)
    if unlabelled is not None:
        folder = result.folder / PREDICTIONS
        folder.mkdir(exist_ok=True)
        outcome = outcome._replace(predictions=task.write_predictions(model, processor, unlabelled, recipe, folder))
    return outcome


def closing_line(task: Task[Any], outcome: Outcome) -> str:
    """How the run ended, for a person."""
    result = outcome.training
    if result.stopped.startswith("SIG"):
        return f"stopped by {result.stopped} at step {result.step}; the same command with --resume continues"
    early = ", stopped early (early_stopping_patience)" if result.stopped else ""
    best = "" if result.best_metric is None else f", best validation {result.metric_name} {result.best_metric:.4g}"
    test = "" if outcome.test_results is None else ", test {} {:.4g}".format(*next(iter(outcome.test_results.items())))
    speed = f"{result.items_per_second:,.0f} {task.items}/s"
    written = "" if outcome.predictions is None else f", predictions in {outcome.predictions}"
    return f"{result.step} steps{early}, {speed}{best}{test}: {result.folder}{written}"


def _is_main_process() -> bool:
    return os.environ.get("RANK", "0") == "0"
