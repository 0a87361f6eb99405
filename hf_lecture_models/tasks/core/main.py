# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A task run from the command line: `SCRIPT [RECIPE.yaml] [--name value ...] [--resume]`."""

import json
import logging
import signal
import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers.utils.logging import set_verbosity_error

from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.progress import hide_other_bars
from hf_lecture_models.io.recipe import default_of, load_recipe, parse_overrides
from hf_lecture_models.io.runs import AFTER_TEST, as_options, as_program, is_main_process, log_once
from hf_lecture_models.io.task_file import read_task_file
from hf_lecture_models.tasks.core.afterwards import lines_afterwards, validation_errors
from hf_lecture_models.tasks.core.baselines import Comparison, comparison_of, evaluate_beside
from hf_lecture_models.tasks.core.command_line import load_with_example_options, print_help
from hf_lecture_models.tasks.core.errors import Errors
from hf_lecture_models.tasks.core.example_options import EXAMPLE_OPTIONS, EXAMPLE_SWITCHES
from hf_lecture_models.tasks.core.parts import read_parts
from hf_lecture_models.tasks.core.saved_recipe import saved_values
from hf_lecture_models.tasks.core.task import Task
from hf_lecture_models.tasks.word_vectors.initial import start_from_word_vectors
from hf_lecture_models.trainer.loop import TrainingResult

PREDICTIONS = "predictions"
"""The folder in `output_dir` for the best model's predictions of rows without labels."""
SEEDS = "seeds.json"
"""The file in `output_dir` with the results of several seeds."""


class Outcome(NamedTuple):
    """The results of a run.

    Attributes:
        training: the result of the training loop.
        test_results: the measures on the test data; None without test data, or if a signal stopped the run.
        predictions: the file or folder of predictions; None without data to predict, or if a signal stopped the run.
        errors: the errors of the best weights on the validation data; None if they were not asked for, or without such
            data.
    """

    training: TrainingResult
    test_results: dict[str, Any] | None = None
    predictions: Path | None = None
    errors: Errors | None = None

    @property
    def signal(self) -> str:
        """The name of the signal that stopped the run, or ""."""
        return self.training.stopped if self.training.stopped.startswith("SIG") else ""


def run_task(task: Task[Any], arguments: Sequence[str], description: str) -> None:
    """Train, print a closing line, and report errors that the user can fix in one line and by an exit status.

    The status is 1 for an error, 128 plus the signal's number for a run that SIGINT or SIGTERM stopped, else 0.

    Args:
        arguments: the arguments of the command, without its name.
        description: the description of the script for `--help`.
    """
    logging.basicConfig(level=logging.WARNING)
    hide_other_bars()  # those of loading and saving
    set_verbosity_error()  # the task itself logs in one line which weights are new
    try:
        with as_program():
            recipe, resume = parse_command(task, arguments, description)
            outcomes = (
                train_seeds(task, recipe, resume)
                if recipe.seeds
                else [train_and_test(task, recipe, resume, with_errors=True)]
            )
    except (ValueError, OSError, FloatingPointError, ImportError, torch.OutOfMemoryError) as error:
        fields = ("resume", *task.recipe_class.__dataclass_fields__)
        said = as_options(" ".join(str(error).split()), {name: f"--{name}" for name in fields})
        sys.exit(f"error: {said}")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    if is_main_process():
        for index, outcome in enumerate(outcomes):
            print(f"seed {recipe.seeds[index]}: " if recipe.seeds else "", closing_line(task, outcome), sep="")
        if recipe.seeds and not outcomes[-1].signal:
            print(_line_of_seeds(task, recipe, outcomes))
        if not recipe.seeds and not outcomes[-1].signal:
            print(*lines_afterwards(task, outcomes[0].training.folder, outcomes[0].errors), sep="\n")
    if outcomes[-1].signal:
        sys.exit(128 + signal.Signals[outcomes[-1].signal])


def parse_command(task: Task[Any], arguments: Sequence[str], description: str) -> tuple[Any, bool]:
    """Return the recipe that the command line gives, and whether to resume.

    A resumed run has the values that its output folder's recipe says, where the command and its recipe say nothing.

    Raises:
        ValueError: a field is unknown or has an impossible value.
        OSError: the recipe cannot be read.
        SystemExit: the help was asked for, and is printed.
    """
    if "--help" in arguments or "-h" in arguments:
        print_help(task, description)
    rest = list(arguments)
    if resume := "--resume" in rest:
        rest = [argument for argument in rest if argument != "--resume"]
    path = rest.pop(0) if rest and not rest[0].startswith("--") else None
    values = parse_overrides(rest, task.recipe_class, EXAMPLE_SWITCHES)
    base = saved_values(path, values, task.recipe_class) if resume else {}
    if EXAMPLE_OPTIONS.isdisjoint(values):
        recipe = load_recipe(path, values, recipe_class=task.recipe_class, base=base)
    else:
        recipe = load_with_example_options(task, path, values, base)
    return recipe, resume


def train_from_command(task: Task[Any], arguments: Sequence[str], description: str = "") -> Outcome:
    """Do what `run_task` does with one seed; return its outcome, and raise errors as they are."""
    recipe, resume = parse_command(task, arguments, description)
    return train_and_test(task, recipe, resume)


def train_and_test(task: Task[Any], recipe: Any, resume: bool = False, with_errors: bool = False) -> Outcome:
    """Train by a recipe, then measure the best model on its test data, and predict its rows without labels, if any.

    The test results are written to `facts.json` in the output folder, for the model's card.

    Args:
        with_errors: return the errors on the validation data too, which takes another prediction of them.

    Raises:
        ValueError, OSError, FloatingPointError, ImportError: an error in reading the data, building the model or
            training.
    """
    if recipe.seeds:
        raise ValueError("the recipe has several seeds, which are several runs: train_seeds makes them")
    data, validation_data, test_data, unlabelled, held_out = read_parts(task, recipe)
    processor = task.processor(recipe, data)
    model = task.model(recipe, processor, data)
    if recipe.model == default_of(type(recipe).__dataclass_fields__["model"]):
        _note_default(model)
    if recipe.word_vectors:
        start_from_word_vectors(model, processor, recipe.word_vectors)
    # Data that cannot be measured or predicted are refused before training.
    if test_data is not None:
        task.evaluation(model, processor, test_data, recipe)
    if unlabelled is not None:
        _check_predict_data(task, model, processor, unlabelled, recipe)
    extra = () if held_out is None else (held_out,)
    outcome = Outcome(task.train(model, processor, data, validation_data, recipe, resume=resume, save_with=extra))
    if outcome.signal or not is_main_process():
        return outcome
    if validation_data is not None:
        _log_baseline(task, recipe, "validation", comparison_of(outcome.training.folder, "validation"))
    if validation_data is not None and with_errors:
        found = validation_errors(task, model, processor, validation_data, recipe, outcome.training.folder)
        outcome = outcome._replace(errors=found)
    if test_data is None and unlabelled is None:
        return outcome
    return _test_and_predict(task, recipe, processor, model, test_data, unlabelled, outcome)


def _check_predict_data(task: Task[Any], model: Any, processor: Any, data: Any, recipe: Any) -> None:
    """Check before training that the task writes predictions, and that the model can read the data."""
    if type(task).write_predictions is Task.write_predictions:
        raise ValueError(f"{task.script} writes no predictions; leave out predict_files and predict_split")
    task.encode(model, processor, data, recipe)


def _test_and_predict(
    task: Task[Any], recipe: Any, processor: Any, trained: Any, test_data: Any, unlabelled: Any, outcome: Outcome
) -> Outcome:
    """Measure the weights that were kept on test data, and predict unlabelled data; None of either is left out."""
    folder = outcome.training.folder
    model = type(trained).from_pretrained(folder).to(trained.device)
    recipe = replace(recipe, **recipe.fields_of(read_task_file(folder).get("settings") or {}))
    if test_data is not None:
        measured, beside = evaluate_beside(task, model, processor, test_data, recipe, folder, "test")
        for keep in AFTER_TEST:
            keep(folder, model, processor, measured)
        _log_baseline(task, recipe, "test", beside)
        outcome = outcome._replace(test_results=measured)
    if unlabelled is not None:
        predictions = folder / PREDICTIONS
        predictions.mkdir(exist_ok=True)
        written = task.write_predictions(model, processor, unlabelled, recipe, predictions)
        outcome = outcome._replace(predictions=written)
    return outcome


def _log_baseline(task: Task[Any], recipe: Any, part: str, beside: Comparison | None) -> None:
    """Log the first measure beside the baseline's, with the difference and the warnings."""
    if beside is not None:
        for line in beside.lines(part, task.measures(recipe)):
            log_once(line)


def train_seeds(task: Task[Any], recipe: Any, resume: bool = False) -> list[Outcome]:
    """Call `train_and_test` with each of the recipe's seeds, into `seed-0` and so on in its output folder.

    Each run is bit for bit the one that its seed alone gives. A resumed series skips finished runs, continues an
    unfinished one, and starts those that are missing. At the end the values of the first measure, their mean and its
    standard error are written to `seeds.json` in the output folder.

    Returns:
        The results of each run; if a signal stopped a run, it is the last one.

    Raises:
        ValueError, OSError, FloatingPointError, ImportError: as `train_and_test`.
    """
    outcomes: list[Outcome] = []
    for seed in recipe.seeds:
        folder = str(Path(recipe.output_dir) / f"seed-{seed}")
        outcomes.append(train_and_test(task, replace(recipe, seed=seed, seeds=[], output_dir=folder), resume))
        if outcomes[-1].signal:
            return outcomes
    if is_main_process():
        summary = summarize_seeds(task, recipe, outcomes)
        write_file(Path(recipe.output_dir) / SEEDS, json.dumps(summary, indent=1) + "\n")
    return outcomes


def summarize_seeds(task: Task[Any], recipe: Any, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return each run's first measure, their mean, and its standard error s / √n with s² = Σ (x - mean)² / (n - 1).

    The values are measured on the test data or, without them, are the best ones on the validation data. The standard
    error of a single run is None. Without test and validation data only the folders of the runs are returned.
    """
    tested = [outcome.test_results for outcome in outcomes]
    runs = [{"seed": seed, "folder": f"seed-{seed}"} for seed in recipe.seeds]
    key = outcomes[0].training.metric_name
    if tested[0] is not None:
        key = next(measure.key for measure in task.measures(recipe) if measure.key in tested[0])
    values: list[Any] = [
        outcome.training.best_metric if test is None else test[key]
        for outcome, test in zip(outcomes, tested, strict=True)
    ]
    if None in values:
        return {"runs": runs}
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else None
    return {
        "measure": key,
        "part": "validation" if tested[0] is None else "test",
        "mean": statistics.fmean(values),
        "standard_error": error,
        "runs": [
            run | {"value": value} | ({} if test is None else {"results": test})
            for run, value, test in zip(runs, values, tested, strict=True)
        ],
    }


def _line_of_seeds(task: Task[Any], recipe: Any, outcomes: Sequence[Outcome]) -> str:
    summary, path = summarize_seeds(task, recipe, outcomes), (Path(recipe.output_dir) / SEEDS).absolute()
    if "mean" not in summary:
        return f"{len(outcomes)} seeds, nothing measured: {path}"
    part = "best validation" if summary["part"] == "validation" else "test"
    error = "" if summary["standard_error"] is None else f" ± {summary['standard_error']:.2g} (standard error)"
    return f"{len(outcomes)} seeds, mean {part} {summary['measure']} {summary['mean']:.4g}{error}: {path}"


def closing_line(task: Task[Any], outcome: Outcome) -> str:
    """Return a line that tells the user how the run ended."""
    result = outcome.training
    if outcome.signal:
        return f"stopped by {result.stopped} at step {result.step}; the same command with --resume continues"
    ending = f" ({result.ending})" if result.ending else ""
    best = "" if result.best_metric is None else f", best validation {result.metric_name} {result.best_metric:.4g}"
    test = "" if outcome.test_results is None else ", test {} {:.4g}".format(*next(iter(outcome.test_results.items())))
    speed = f"{result.items_per_second:,.0f} {task.items}/s"
    written = "" if outcome.predictions is None else f", predictions in {outcome.predictions}"
    return f"{result.step} steps{ending}, {speed}{best}{test}: {result.folder}{written}"


def _note_default(model: Any) -> None:
    """Log which model is trained where the recipe names none."""
    number = sum(parameter.numel() for parameter in model.parameters())
    log_once(
        f"the recipe names no model: a new {type(model).__name__} of {number:,} parameters is trained; --model.FIELD "
        "VALUE changes a field of it, --from_pretrained FOLDER trains another one further"
    )
