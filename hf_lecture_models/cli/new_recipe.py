# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The recipe that `hf-lecture new` writes: each field with the reason above it, and an estimate of the training."""

import math
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hf_lecture_models.base.limits import longest_input
from hf_lecture_models.cli.declared import declared_recipe
from hf_lecture_models.cli.new_report import Looked, counted, is_missing
from hf_lecture_models.data.holdout import SHARE
from hf_lecture_models.data.looking import Lengths, is_without_blanks, lengths_of, scripts_of
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.installed_folders import training_folder
from hf_lecture_models.io.recipe import write_yaml
from hf_lecture_models.io.runs import no_log
from hf_lecture_models.io.system import resident_bytes, shell_quoted
from hf_lecture_models.tasks.core.task import Task
from hf_lecture_models.tasks.language_models.documents import document_starts
from hf_lecture_models.trainer.estimate import Estimate, measure_steps

_UNEVEN = 3
"""How many times as many rows as the rarest class the most frequent one must have before weights are suggested."""
_SAMPLE = 2_000
"""The most rows of which training steps are measured."""
_VOCABULARY_SAMPLE = 20_000
"""The most rows from which a tokenizer is trained for the measurement."""
_EPOCHS_WANTED = 5
_FEWEST_DOCUMENTS = 20
_HARD = ("question_answering", "multiple_choice")
"""Tasks that a model without pretraining hardly learns from a few thousand rows."""


@dataclass(frozen=True)
class Cost:
    """The time and the memory of a training.

    Attributes:
        estimate: that of the steps, of an epoch of all rows.
        model: the name of the model's class.
        device: the device of the measurement.
        tokens: the lengths of the rows in tokens; None for tasks that cut their inputs into windows or blocks.
        beside: a clause on the memory of the program and the data.
    """

    estimate: Estimate
    model: str
    device: str
    tokens: Lengths | None
    beside: str


@dataclass
class Findings:
    """The data in the files, and the recipe that follows from them.

    Attributes:
        recipe: the recipe that follows from it.
        files: the names of the files of each part.
        columns: the columns of the files by the task's own names.
        unread: the columns of the files that are not read.
        parts: the data of each part, of those that were read.
        reasons: why fields of the recipe are set, by their names.
        problems: why training refuses the data.
        cost: what the training costs; None if that could not be measured.
    """

    recipe: Any
    files: Mapping[str, Sequence[str]]
    columns: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    parts: dict[str, Looked] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    cost: Cost | None = None

    @property
    def label_columns(self) -> list[str]:
        """The columns of 0 and 1 that are classes, for texts with several classes."""
        return getattr(self.recipe, "label_columns", [])

    @property
    def train(self) -> Looked | None:
        """The training data; None if they cannot be read."""
        return self.parts.get("train")


def are_classes(recipe: Any, looked: Looked) -> bool:
    """Return whether the labels of rows or words are classes."""
    return bool(looked.counted) and getattr(recipe, "problem_type", "") != "regression"


def settle(found: Findings, looked: Looked) -> None:
    """Set what follows from the training data in the recipe: kind of labels, tags, documents, tokenizer."""
    recipe, names = found.recipe, found.recipe.__dataclass_fields__
    if getattr(recipe, "task", None):
        found.reasons["task"] = "The files have the columns of this benchmark."
    if getattr(recipe, "scheme", "") == "entities":
        found.reasons["scheme"] = "All tags are parts of entities, such as B-X, I-X and O: entities are measured."
    if found.label_columns:
        found.reasons["label_columns"] = "Columns of 0 and 1: a text may have several of these classes, or none."
    elif getattr(recipe, "problem_type", "") == "multi_label_classification":
        found.reasons["problem_type"] = "The labels are lists: a text may have several classes, or none."
    changes: dict[str, tuple[Any, str]] = {}
    labels = [label for label in looked.labels or () if not is_missing(label)]
    are_numbers = bool(labels) and all(map(_is_number, labels))
    if "problem_type" in names and are_numbers and not all(float(str(label)).is_integer() for label in labels):
        changes["problem_type"] = ("regression", "The labels are numbers, not all of them whole: these are predicted.")
    if "documents" in names and "next_sentence" in names:
        changes |= _documents(looked.sides["text"])
    first = next(iter(looked.sides.values()), [])
    if is_without_blanks(scripts_of(first)) and recipe.tokenizer.get("type") == "word":
        why = "Most letters are of a script without blanks between words: each letter is a token."
        kept = {name: value for name, value in recipe.tokenizer.items() if name == "template"}
        changes["tokenizer"] = ({"type": "char", **kept}, why)
    found.recipe = replace(recipe, **{name: value for name, (value, _) in changes.items()})
    found.reasons |= {name: why for name, (_, why) in changes.items()}


def _documents(texts: Sequence[str]) -> dict[str, tuple[Any, str]]:
    """Return how texts become documents, or that next sentences are not learned where there are too few of them."""
    if document_starts(texts, "titles").sum() >= _FEWEST_DOCUMENTS:
        return {"documents": ("titles", "A document begins with a title as WikiText writes it.")}
    if document_starts(texts, "blank_lines").sum() >= _FEWEST_DOCUMENTS:
        return {}
    return {"next_sentence": (False, "Blank lines part too few documents to tell neighbouring sentences from others.")}


def _is_number(label: Any) -> bool:
    try:
        return not isinstance(label, bool) and math.isfinite(float(label))
    except (TypeError, ValueError):
        return False


def measure_cost(task: Task[Any], recipe: Any, looked: Looked) -> tuple[Any, Cost]:
    """Build the model and train it for a few steps; return the recipe, with a `max_length` if it needs one, and costs.

    Raises:
        ValueError: training refuses the data or the recipe.
        ImportError: a package that training needs is not installed.
    """
    from accelerate import PartialState

    device, beside = PartialState().device, ""
    with suppress(ImportError):
        beside = f", beside {megabytes(resident_bytes())} of the program and the data"
    unlabelled = set(looked.unlabelled())
    usable = [place for place in range(len(looked.data)) if place not in unlabelled]
    with no_log():
        most = _some(looked.data, usable, _VOCABULARY_SAMPLE)
        processor = task.processor(recipe, most)
        model = task.model(recipe, processor, most)
        limit = longest_input(model, processor)
        tokens = _tokens(task, processor, looked) if "max_length" in recipe.__dataclass_fields__ else None
        if tokens is not None and recipe.max_length is None and tokens.longest > limit:
            recipe = replace(recipe, max_length=limit)
        sample = _some(looked.data, usable, _SAMPLE)
        batches = task.batches(model, processor, sample, recipe)
        found = measure_steps(model, batches, recipe, task.training_options(model, recipe), device)
    trained_on = len(usable) * (1.0 if recipe.validation_files else 1 - SHARE)
    steps = math.ceil(found.steps_per_epoch * trained_on / len(sample))
    estimate = replace(found, steps_per_epoch=steps)
    return recipe, Cost(estimate, type(model).__name__, device.type, tokens, beside)


def _some(data: Any, places: Sequence[int], most: int) -> Any:
    """Return rows at these places, evenly spaced where there are more than wanted."""
    if len(places) > most:
        places = [places[index * len(places) // most] for index in range(most)]
    if len(places) == len(data):
        return data
    return data.select(places) if isinstance(data, Rows) else [data[place] for place in places]


def _tokens(task: Task[Any], processor: Any, looked: Looked) -> Lengths | None:
    """Return the lengths of rows in tokens, for tasks that read each row as a text or a pair of texts."""
    sides = [looked.sides[name] for name in ("text", "text_pair", "sentence", "context") if name in looked.sides]
    if task.name == "multiple_choice":
        counts = [choices.count("\n") + 1 for choices in looked.sides["choices"]]
        contexts = [text for text, count in zip(sides[0], counts, strict=True) for _ in range(count)]
        sides = [contexts, [choice for choices in looked.sides["choices"] for choice in choices.split("\n")]]
    elif task.name not in ("text_classification", "token_classification"):
        return None
    return lengths_of([len(ids) for ids in processor(*sides)["input_ids"]])


@dataclass
class _Line:
    """A field of the recipe; `is_on` is False for one that is only suggested, as a comment."""

    name: str
    value: Any
    why: str
    is_on: bool = True


def recipe_text(task: Task[Any], command: str, found: Findings, output: Path) -> str:
    """Return the recipe in YAML, with a comment above each field."""
    declared = declared_recipe(training_folder() / f"{command}.py")  # that of an n-gram is no task's
    known = (declared or task.recipe_class).__dataclass_fields__
    lines = [*_data_lines(task, found), *_label_lines(found), *_model_lines(task, found), *_run_lines(found, output)]
    parts = [_head(task, command, found, output)]
    for line in lines:
        if line.name in known:
            written = write_yaml({line.name: line.value})
            parts.append(_comment(line.why) + (written if line.is_on else textwrap.indent(written, "# ")))
    return "\n".join(parts)


def _comment(text: str) -> str:
    return textwrap.fill(text, 118, initial_indent="# ", subsequent_indent="# ", break_long_words=False) + "\n"


def _head(task: Task[Any], command: str, found: Findings, output: Path) -> str:
    rows = "" if found.train is None else f", {found.train}"
    files = ", ".join(found.files["train"])
    head = f"# {task.name} on {files}{rows}; written by `hf-lecture new`, to be changed as you like.\n"
    head += f"#   hf-lecture train {command} {shell_quoted(str(output))}\n"
    return head + _comment(f"{describe_cost(found)} `hf-lecture train {command} --help` lists all fields.")


def describe_cost(found: Findings) -> str:
    """Return the estimate of time and memory in sentences."""
    if found.cost is None:
        return "No estimate of minutes and memory: nothing was trained to measure them."
    cost, one = found.cost, found.cost.estimate
    epoch = f"an epoch takes about {minutes(one.epoch_minutes)} ({counted(one.steps_per_epoch, 'step')})"
    return (
        f"Estimate, from a few steps on this machine ({cost.device}): {epoch}; {cost.model} has {one.parameters:,} "
        f"parameters, which with gradients, AdamW and activations take about {megabytes(one.bytes)}{cost.beside}."
    )


def minutes(number: float) -> str:
    """Return a duration in words.

    >>> [minutes(number) for number in (0.02, 0.7, 3.21, 240)]
    ['1 second', '42 seconds', '3.2 minutes', '4.0 hours']
    """
    if number >= 120:
        return f"{number / 60:.1f} hours"
    return counted(max(1, round(number * 60)), "second") if number < 1 else f"{number:.1f} minutes"


def megabytes(number: int) -> str:
    """Return a number of bytes in megabytes or gigabytes.

    >>> megabytes(12_345_678), megabytes(2_340_000_000)
    ('13 MB', '2.3 GB')
    """
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{max(1, math.ceil(number / 1e6))} MB"


def _share_line(task: Task[Any], found: Findings, looked: Looked) -> _Line:
    """Return the share of the rows that is held out, 0 where none can be."""
    why = "these data have no rows that can be held out"
    try:
        with no_log():
            _, held, _ = task.hold_out(looked.data, replace(found.recipe, validation_share=SHARE))
        if held is not None:
            rows = f"{len(held):,} of {counted(len(looked.data), looked.noun)}"
            return _Line("validation_share", SHARE, f"The share of the rows that is held out to measure on, {rows}.")
    except ValueError as error:
        why = str(error)
    return _Line("validation_share", 0, f"Nothing is measured during training: {why}.")


def _data_lines(task: Task[Any], found: Findings) -> list[_Line]:
    where = "Files of rows, relative to the folder in which the command runs."
    lines = [_Line("train_files", list(found.files["train"]), where)]
    if found.files.get("validation"):
        own = list(found.files["validation"])
        lines.append(_Line("validation_files", own, "Measured during training; the best weights are kept."))
    elif found.train is not None:
        lines.append(_share_line(task, found, found.train))
    if found.files.get("test"):
        own = list(found.files["test"])
        lines.append(_Line("test_files", own, "Measured once, at the end, with the best weights."))
    if found.recipe.columns:
        unread = f" Not read: {', '.join(found.unread)}." if found.unread else ""
        lines.append(
            _Line("columns", dict(found.recipe.columns), f"The columns of the files, by the task's names.{unread}")
        )
    return lines


def _label_lines(found: Findings) -> list[_Line]:
    recipe, looked = found.recipe, found.train
    lines = [_Line(name, getattr(recipe, name), why) for name, why in found.reasons.items()]
    if looked is None:
        return lines
    if recipe_names := getattr(recipe, "label_names", {}):
        lines.append(_Line("label_names", recipe_names, "The names of the classes, by what the data call them."))
    counts = Counter(looked.counted)
    if not are_classes(recipe, looked) or len(counts) < 2:
        return lines
    if not recipe_names and all(re.fullmatch(r"[+-]?\d+", name) for name in counts):
        named = {name: f"NAME_{name}" for name in sorted(counts, key=int)}
        lines.append(_Line("label_names", named, "Names for the numbered classes, which predictions then have.", False))
    most, least = max(counts.values()), min(counts.values())
    if most >= _UNEVEN * least:
        why = (
            f"The classes are uneven ({most:,} rows and {least:,}). With these weights each counts alike in the loss, "
            "which finds more of the rare ones and makes more mistakes in all."
        )
        lines.append(_Line("class_weights", "balanced", why, False))
    return lines


def _model_lines(task: Task[Any], found: Findings) -> list[_Line]:
    recipe, cost, lines = found.recipe, found.cost, []
    if cost is not None and cost.tokens is not None:
        tokens, is_cut = cost.tokens, recipe.max_length is not None
        long = f"the longest row has {tokens.longest:,} tokens, 95 % have at most {tokens.high:,}"
        why = f"Longer rows are cut: {long}." if is_cut else f"No row is cut: {long}. A number saves memory and time."
        lines.append(_Line("max_length", recipe.max_length, why))
    hard = " A new model hardly learns this task from a few thousand rows." if task.name in _HARD else ""
    why = f"A trained model to start from, a folder or a name on the Hub, in place of a new one.{hard}"
    return [*lines, _Line("from_pretrained", "FOLDER", why, False)]


def _run_lines(found: Findings, output: Path) -> list[_Line]:
    epoch = 0.0 if found.cost is None else found.cost.estimate.epoch_minutes
    budget = max(5, math.ceil(_EPOCHS_WANTED * epoch))
    fits = f" About {int(budget / epoch):,} epochs fit." if epoch else ""
    return [
        _Line(
            "minutes",
            budget,
            "Training stops when the validation measure is no longer better, or after so many minutes; --resume goes "
            f"on.{fits} --limit 200 tries the recipe on 200 rows.",
        ),
        _Line("output_dir", output.stem, "The folder of the trained model, which the run makes."),
    ]
