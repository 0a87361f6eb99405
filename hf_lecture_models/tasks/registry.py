# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The tasks by name, and the task of a saved model."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hf_lecture_models.data.benchmarks import BENCHMARKS
from hf_lecture_models.data.files import is_table
from hf_lecture_models.hub.metadata import data_set_ids
from hf_lecture_models.tasks.captioning.task import ImageCaptioning
from hf_lecture_models.tasks.choice.task import MultipleChoice
from hf_lecture_models.tasks.classification.task import TextClassification
from hf_lecture_models.tasks.classification.text_to_text import TextToText
from hf_lecture_models.tasks.core.baselines import evaluate_beside
from hf_lecture_models.tasks.core.task import Task, recipe_of
from hf_lecture_models.tasks.images.classification import ImageClassification
from hf_lecture_models.tasks.images.masked import MaskedImagesTask
from hf_lecture_models.tasks.language_models.bidirectional import BidirectionalLM
from hf_lecture_models.tasks.language_models.causal import CausalLM
from hf_lecture_models.tasks.language_models.masked import MaskedLM
from hf_lecture_models.tasks.language_models.recall import SyntheticRecall
from hf_lecture_models.tasks.language_models.spans import SpanCorruption
from hf_lecture_models.tasks.language_models.texts import TextsTask
from hf_lecture_models.tasks.question_answering.task import QuestionAnswering
from hf_lecture_models.tasks.strokes.task import SequencePrediction
from hf_lecture_models.tasks.tagging.task import TokenClassification
from hf_lecture_models.tasks.translation.task import Translation
from hf_lecture_models.tasks.word_vectors.task import WordVectors
from hf_lecture_models.tokenization.corpus import read_training_lines

TASKS: dict[str, Task[Any]] = {
    task.name: task
    for task in (
        SyntheticRecall(),  # first: its models are language models, and it knows them by their folder
        CausalLM(),
        MaskedLM(),
        BidirectionalLM(),
        TextClassification(),
        TokenClassification(),
        QuestionAnswering(),
        MultipleChoice(),
        Translation(),
        SpanCorruption(),
        TextToText(),
        WordVectors(),
        ImageClassification(),
        ImageCaptioning(),
        MaskedImagesTask(),
        SequencePrediction(),
    )
}


def register_task(task: Task[Any]) -> None:
    """Add a task of your own, which `task_of` asks after those of the package.

    Raises:
        ValueError: there is a task of this name.
    """
    if TASKS.setdefault(task.name, task) is not task:
        raise ValueError(f"there is a task {task.name} already; give yours another name")


TASK_OF_BENCHMARK: dict[str, Task[Any]] = {name: TASKS[benchmark.task] for name, benchmark in BENCHMARKS.items()}
"""The tasks by the names of their benchmarks: "rte", "squad", "ewt" and the like."""


def task_of(model: Any) -> Task[Any]:
    """Return the task of a model.

    >>> from hf_lecture_models import FeedForwardConfig, FeedForwardForCausalLM
    >>> task_of(FeedForwardForCausalLM(FeedForwardConfig(vocab_size=9, hidden_size=2))).name
    'causal_lm'

    Raises:
        ValueError: the model is for none of the tasks.
    """
    for task in TASKS.values():
        if task.is_for(model):
            return task
    raise ValueError(f"{type(model).__name__} is a model of none of the tasks {', '.join(TASKS)}")


def measure_file(path: str | os.PathLike[str], model: Any, processor: Any, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a model on a file with its task's measures.

    Args:
        facts: the facts of the model from `hub.facts.facts_of`; their recipe says how it was trained, and gives the
            names of the file's columns.

    Returns:
        The facts "task", "results", "data" and, if there is one or `facts` has one, "baseline", which replace those in
        `facts`.

    Raises:
        ValueError: the file does not hold data of the task.
        OSError: the file cannot be read.
    """
    trained_for = TASKS.get((facts.get("task") or {}).get("name", ""))
    task = trained_for if trained_for is not None and trained_for.is_for(model) else task_of(model)
    recipe = recipe_of(task, facts)
    data = read_file(task, str(path), recipe)
    results, beside = evaluate_beside(task, model, processor, data, recipe, model.config.name_or_path, "")
    compared = beside.as_facts() if beside is not None else None
    return {
        "task": task.describe(model, recipe, data),
        "results": results,
        "data": _data_of(Path(path).name, facts.get("data") or {}),
        **({"baseline": compared} if compared or facts.get("baseline") else {}),
    }


def read_file(task: Task[Any], path: str, recipe: Any) -> Any:
    """Read the data of one file as a recipe says; for a task on texts, a file of an unknown kind has a text a line.

    Raises:
        ValueError, OSError: as `Task.read`.
    """
    if isinstance(task, TextsTask) and not is_table(path):
        return list(read_training_lines(path))
    return task.read(replace(recipe, test_files=[path], dataset_name=""), "test")


def _data_of(file: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of the data, with the file as their split if they have splits, or else as their name.

    >>> _data_of("own.txt", {"name": "SQuAD", "datasets": ["rajpurkar/squad"], "hub_id": "google/xquad"})
    {'name': 'own.txt', 'datasets': ['rajpurkar/squad']}
    """
    # The file is not the measured data set of the Hub; the model learned from the same data as before.
    trained = {"datasets": ids} if (ids := data_set_ids(data)) else {}
    data = {key: value for key, value in data.items() if key not in ("hub_id", "hub_config", "measured_on")} | trained
    return {**data, "split": file} if "split" in data else {**data, "name": file}
