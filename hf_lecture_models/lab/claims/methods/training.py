# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a model by a recipe, and measure it."""

import math
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from transformers import set_seed

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.installed_folders import training_folder
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.lab.claims.methods.ablation import leave_out
from hf_lecture_models.lab.claims.methods.pre_training import start_from_pretrained, with_words_of
from hf_lecture_models.lab.claims.methods.texts import part_texts
from hf_lecture_models.loading import be_quiet
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tasks.classification.task import TextClassification
from hf_lecture_models.tasks.core.factories import load_tokenizer
from hf_lecture_models.tasks.core.task import Task
from hf_lecture_models.tasks.registry import TASKS
from hf_lecture_models.tasks.word_vectors.initial import start_from_word_vectors
from hf_lecture_models.trainer.loop import TrainingResult

OWN_SETTINGS = (
    *("task", "recipe", "measure", "texts", "most", "own_test", "untrained", "lines", "floor", "fit", "without"),
    *("sample", "held_out", "new_weights"),
)


@dataclass(frozen=True)
class Trained:
    """A model with the task, recipe, tokenizer and data of its training."""

    task: Task[Any]
    recipe: Any
    model: Any
    processor: Any
    validation: Any
    test: Any

    def part(self, part: str) -> Any:
        """Return the data of a part; "test" data are those of validation where the recipe has no others."""
        return self.validation if part == "validation" or self.test is None else self.test

    def right(self, data: Any) -> list[float]:
        """Return for each text or image 100 if its most probable class is right, otherwise 0."""
        task: Any = self.task
        encoded = task.encode(self.model, self.processor, data, self.recipe)
        predicted = task.predict(self.model, self.processor, encoded).argmax(1).numpy()
        return (100.0 * (predicted == np.array(encoded.labels))).tolist()


def train_and_measure(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return what a trained model reaches: percent, or minus 100 ln of a measure that should be low.

    A difference of 1 is one point of accuracy, or about one percent of the perplexity. The accuracy of a classifier of
    texts has a value for each text, 100 or 0, all other measures have one. The weights are those that are best on the
    validation data.

    Args:
        settings: those of `train_model`; `measure`, a key of the task's measures; and `floor`, which replaces lower
            values, and is the one value of a run that ends with numbers that are not finite.
        part: "test" data are those of validation where the recipe has no others.
    """
    try:
        trained = train_model(settings, seed, folder)
    except FloatingPointError:
        if "floor" not in settings:
            raise
        return [float(settings["floor"])]
    values = _values(trained, settings["measure"], trained.part(part))
    return [max(value, settings.get("floor", -math.inf)) for value in values]


def all_but(settings: Mapping[str, Any], *own: str) -> dict[str, Any]:
    """Return the settings of other names, which are those of another function."""
    return {name: value for name, value in settings.items() if name not in own}


def train_model(settings: Mapping[str, Any], seed: int, folder: Path) -> Trained:
    """Train a model by a recipe.

    Args:
        settings: `task` and `recipe` by their names; `texts` and `most` in place of the recipe's data, as in
            `part_texts`; `own_test`, true where their test part is measured, which has chosen neither weights nor
            settings; `lines`, how many of the training data are used, the first texts or any rows; `sample`, how many
            training rows the seed draws, and `held_out`, how many others are the validation data, the same for each
            seed, which do not choose among a run's weights; `untrained`, true for random weights; `new_weights`, true
            for random weights in place of those of `from_pretrained`, before training; `fit`, arguments of
            `NGramForCausalLM.fit`, for an n-gram model in place of the recipe's; `without`, a part that is left out of
            the model, as in `leave_out`; `pre_training`, of a model to start from, as in `start_from_pretrained`; and
            fields of the recipe. With `word_vectors` the vocabulary also has the words of these vectors.
        folder: for the model, which is removed in the end.
    """
    be_quiet()  # transformers would list the weights that are new
    settings = start_from_pretrained(settings, seed, folder, train_model)
    task, recipe = task_and_recipe(settings, seed, folder)
    data, chooses, validation, test = _parts(settings, task, recipe, seed)
    processor = task.processor(recipe, data)
    if recipe.word_vectors:
        processor = with_words_of(processor, load_tokenizer(recipe.word_vectors))
    if "fit" in settings:
        model = NGramForCausalLM.fit(data, processor, **settings["fit"], progress=False)
        return Trained(task, recipe, model, processor, validation, test)
    model = _made(settings, task.model(recipe, processor, data))
    if settings.get("new_weights"):
        set_seed(seed)
        model = type(model)(model.config)
    if recipe.word_vectors:
        start_from_word_vectors(model, processor, recipe.word_vectors)
    if not settings.get("untrained"):
        with training(task, recipe, model, processor, data, chooses) as result:
            model = _made(settings, type(model).from_pretrained(result.folder))
    return Trained(task, recipe, model.eval(), processor, validation, test)


@contextmanager
def training(
    task: Task[Any], recipe: Any, model: Any, processor: Any, data: Any, chooses: Any
) -> Iterator[TrainingResult]:
    """Train a model, and yield the result, whose folder is removed in the end.

    Args:
        chooses: the data that choose among the weights of the run; None keeps the last ones.

    Raises:
        KeyboardInterrupt: a signal stopped the run.
    """
    shutil.rmtree(recipe.output_dir, ignore_errors=True)  # of a run that was cut off
    try:
        result = task.train(model, processor, data, chooses, recipe, quiet=True)
        if result.stopped.startswith("SIG"):
            raise KeyboardInterrupt(f"training was stopped by {result.stopped}")
        yield result
    finally:
        shutil.rmtree(recipe.output_dir, ignore_errors=True)


def _parts(settings: Mapping[str, Any], task: Task[Any], recipe: Any, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return the data to train on, those that choose a run's weights, if any, and the validation and test data."""
    data, validation, test = (task.read(recipe, one) for one in ("train", "validation", "test"))
    data = _some(data, settings["lines"]) if "lines" in settings else data
    test = part_texts(settings, "test") if settings.get("own_test") else test
    if "sample" not in settings:
        return data, validation, validation, test
    drawn, held_out = sample_rows(data, settings["sample"], settings["held_out"], seed)
    return drawn, None, held_out, test


def _some(data: Any, number: int) -> Any:
    """Return the first texts; of rows, which a file may have sorted by their class, some that are drawn at random.

    They are the same ones at each call, in the order of the data.

    >>> rows = _some(Rows({"label": [0] * 50 + [1] * 50}, [("train.csv", 100)]), 30)
    >>> len(rows), set(rows.columns["label"]), rows.columns["label"] == sorted(rows.columns["label"])
    (30, {0, 1}, True)
    """
    if not isinstance(data, Rows):
        return data[:number]
    return rows_at(data, np.random.default_rng(0).permutation(len(data))[:number])


def sample_rows(data: Rows, number: int, held_out: int, seed: int) -> tuple[Rows, Rows]:
    """Return rows that the seed draws, and others that are the same for each seed.

    >>> rows = Rows({"label": list(range(10))}, [("train.csv", 10)])
    >>> [sample_rows(rows, 3, held_out=2, seed=seed)[1].columns["label"] for seed in (0, 1)]
    [[4, 6], [4, 6]]

    Raises:
        ValueError: there are fewer rows.
    """
    if number + held_out > len(data):
        raise ValueError(
            f"{number} rows and {held_out} others cannot be drawn of {len(data)}; lower sample or held_out"
        )
    order = np.random.default_rng(0).permutation(len(data))
    drawn = np.random.default_rng(seed).permutation(order[held_out:])[:number]
    return rows_at(data, drawn), rows_at(data, order[:held_out])


def rows_at(data: Rows, places: np.ndarray) -> Rows:
    """Return the rows at these places, in the order of the data."""
    columns = {name: [values[row] for row in sorted(places.tolist())] for name, values in data.columns.items()}
    return Rows(columns, [(f"{len(places)} rows of {data.sources[0][0]}", len(places))])


def _made(settings: Mapping[str, Any], model: Any) -> Any:
    if "without" in settings:
        leave_out(model, settings["without"])
    return model


def task_and_recipe(settings: Mapping[str, Any], seed: int, folder: Path) -> tuple[Task[Any], Any]:
    """Return the task and the recipe that the settings of `train_model` name."""
    task = TASKS[settings["task"]]
    has_own_texts = "texts" in task.recipe_class.__dataclass_fields__  # the kind of texts that synthetic recall draws
    own = set(OWN_SETTINGS) - {"texts"} if has_own_texts else OWN_SETTINGS
    # A copy, since fields such as model.hidden_act are written into the dictionary `model`, which all arms share.
    fields = deepcopy(all_but(settings, *own))
    fields |= {"seed": seed, "output_dir": str(folder / "model")}
    if "texts" in settings and not has_own_texts:
        fields |= {f"{part}_texts": part_texts(settings, part) for part in ("train", "validation")}
        fields |= {f"{part}_files": [] for part in ("train", "validation", "test")}
    path = training_folder() / "recipes" / f"{settings['recipe']}.yaml"
    return task, load_recipe(path, fields, recipe_class=task.recipe_class)


def _values(trained: Trained, key: str, data: Any) -> list[float]:
    task, model, processor, recipe = trained.task, trained.model, trained.processor, trained.recipe
    if isinstance(task, TextClassification) and key == "accuracy":
        return trained.right(data)
    (measure,) = (one for one in task.measures(recipe) if one.key == key)
    encoded = task.encode(model, processor, data, recipe)
    value = task.measure(model, processor, encoded, recipe)[key]
    return [-100 * math.log(value) if measure.lower_is_better else 100 * value]
