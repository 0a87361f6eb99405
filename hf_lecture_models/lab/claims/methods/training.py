# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a model by a recipe, and measure it."""

import math
import shutil
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from transformers import set_seed

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.installed_folders import training_folder
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.lab.claims.methods.ablation import leave_out
from hf_lecture_models.lab.claims.methods.pre_training import keep_model, start_from_pretrained, with_words_of
from hf_lecture_models.lab.claims.methods.texts import PYTHON, articles_of, by_article, part_texts, read_part
from hf_lecture_models.lab.claims.values import Values
from hf_lecture_models.loading import be_quiet
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tasks.classification.task import TextClassification
from hf_lecture_models.tasks.core.factories import load_tokenizer
from hf_lecture_models.tasks.core.labels import ids_of_tags
from hf_lecture_models.tasks.core.task import Task
from hf_lecture_models.tasks.language_models.causal import CausalLM
from hf_lecture_models.tasks.language_models.recall import SyntheticRecall
from hf_lecture_models.tasks.registry import TASKS
from hf_lecture_models.tasks.tagging.task import TokenClassification
from hf_lecture_models.tasks.word_vectors.initial import start_from_word_vectors
from hf_lecture_models.trainer.loop import TrainingResult

OWN_SETTINGS = (
    *("task", "recipe", "measure", "texts", "most", "spread", "untrained", "lines", "floor", "fit", "without"),
    *("sample", "held_out", "test_lines", "new_weights"),
)


@dataclass(frozen=True)
class Trained:
    """A model with the task, recipe, tokenizer and data of its training.

    Attributes:
        articles: the article of each text of a part, by its name, where the part is read by `texts.read_part`.
    """

    task: Task[Any]
    recipe: Any
    model: Any
    processor: Any
    validation: Any
    test: Any
    articles: Mapping[str, Sequence[Hashable]] = field(default_factory=dict)

    def part(self, part: str) -> Any:
        """Return the data of a part.

        Raises:
            ValueError: they are missing.
        """
        data = {"validation": self.validation, "test": self.test}[part]
        if data is None:
            where = "a file as `texts`" if isinstance(self.task, CausalLM) else "some training rows by `test_lines`"
            advice = f"; give `test_files` or `test_split`, or {where}" if part == "test" else ""
            raise ValueError(f"the recipe of {self.task.name} has no {part} data{advice}")
        return data

    def clusters(self, part: str) -> Sequence[Hashable]:
        """Return for each item of a part what it has in common with others.

        Texts have their articles; rows have their documents where the data name them, as UD English EWT does. Sentences
        of SST and SST-2, whose reviews have no names, captions of Multi30k, whose test set has one for each image, and
        drawn texts are clusters of their own.
        """
        if part in self.articles:
            return self.articles[part]
        data = self.part(part)
        if not isinstance(data, Rows):
            return articles_of(list(data))
        documents = data.documents or [None] * len(data)
        return [row if document is None else document for row, document in enumerate(documents)]

    def right(self, data: Any) -> list[float]:
        """Return for each text or image 100 if its most probable class is right, otherwise 0."""
        task: Any = self.task
        encoded = task.encode(self.model, self.processor, data, self.recipe)
        predicted = task.predict(self.model, self.processor, encoded).argmax(1).numpy()
        return (100.0 * (predicted == np.array(encoded.labels))).tolist()

    def right_tags(self, data: Any) -> list[list[bool]]:
        """Return for each word of each sentence whether its tag is right."""
        encoded = self.task.encode(self.model, self.processor, data, self.recipe)
        ids = ids_of_tags(self.model.config)
        found = self.task.answers(self.model, self.processor, encoded, self.recipe)
        return [
            [tag == ids[name] for tag, name in zip(tags, names, strict=True)]
            for tags, names in zip(found, encoded.labels, strict=True)
        ]


def train_and_measure(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return what a trained model reaches: percent, or minus 100 ln of a measure that should be low.

    A difference of 1 is one point of accuracy, or about one percent of the perplexity. The mean is the task's own
    measure: a perplexity has a value for each article, 100 ln P of a token, weighted by its tokens, which are read in
    the stream of all articles, or text by text, as the layout says; an accuracy has one for each text, 100 or 0, or for
    each sentence or text with several answers, weighted by these. Other measures have one value. The weights of the
    model are those that are best on the validation data.

    Args:
        settings: those of `train_model`; `measure`, a key of the task's measures; and `floor`, which is the value of
            all items where their mean is lower, or where a run ends with numbers that are not finite.

    Raises:
        ValueError: data of the part are missing.
        FloatingPointError: a run ends with numbers that are not finite, and `floor` is not given.
    """
    floor = settings.get("floor", -math.inf)
    try:
        values = _values(train_model(settings, seed, folder), settings["measure"], part)
    except FloatingPointError:
        if "floor" not in settings:
            raise
        # The items and their weights are the same whatever the model has learned.
        values = _values(train_model({**settings, "untrained": True}, seed, folder), settings["measure"], part)
        return replace(values, values=[float(floor)] * len(values.values))
    return values if values.mean >= floor else replace(values, values=[float(floor)] * len(values.values))


def all_but(settings: Mapping[str, Any], *own: str) -> dict[str, Any]:
    """Return the settings of other names, which are those of another function."""
    return {name: value for name, value in settings.items() if name not in own}


def train_model(settings: Mapping[str, Any], seed: int, folder: Path) -> Trained:
    """Train a model by a recipe.

    Args:
        settings: `task` and `recipe` by their names; `texts`, `most` and `spread` in place of the recipe's data, as in
            `texts.read_part`; `lines`, how many of the training data are used, the first texts or any rows;
            `test_lines`, how many of the training rows are the test data in place of the recipe's, the same for each
            seed, and are not trained on; `sample`, how many training rows the seed draws, and `held_out`, how many
            others are the validation data, the same for each seed, which do not choose among a run's weights;
            `untrained`, true for random weights; `new_weights`, true for random weights in place of those of
            `from_pretrained`, before training; `fit`, arguments of `NGramForCausalLM.fit`, for an n-gram model in place
            of the recipe's; `without`, the part or parts that are left out of the model, as in `leave_out`;
            `pre_training`, of a model to start from, as in `start_from_pretrained`; and fields of the recipe. With
            `word_vectors` the vocabulary also has the words of these vectors.
        folder: for the model, which is removed in the end.

    Returns:
        The model with the data of its recipe; those of the validation or the test part may be missing.
    """
    be_quiet()  # transformers would list the weights that are new
    settings = start_from_pretrained(settings, seed, folder, train_model)
    task, recipe = task_and_recipe(settings, seed, folder)
    parts = _parts(settings, task, recipe, seed)
    data = parts.train
    processor = task.processor(recipe, data)
    if recipe.word_vectors:
        processor = with_words_of(processor, load_tokenizer(recipe.word_vectors))
    if "fit" in settings:
        model = NGramForCausalLM.fit(data, processor, **settings["fit"], progress=False)
        return Trained(task, recipe, model, processor, parts.validation, parts.test, parts.articles)
    model = _made(settings, task.model(recipe, processor, data))
    if settings.get("new_weights"):
        set_seed(seed)
        model = type(model)(model.config)
    if recipe.word_vectors:
        start_from_word_vectors(model, processor, recipe.word_vectors)
    if not settings.get("untrained"):
        with training(task, recipe, model, processor, data, parts.chooses) as result:
            model = _made(settings, type(model).from_pretrained(result.folder))
    return Trained(task, recipe, model.eval(), processor, parts.validation, parts.test, parts.articles)


def train_once(settings: Mapping[str, Any], seed: int, folder: Path) -> Trained:
    """Train as `train_model`, but keep the model beside `folder`: all that measure it find it there.

    Methods call it whose cases measure the same model in several ways; their own settings are not among `settings`.
    """
    if settings.get("untrained") or "fit" in settings:
        return train_model(settings, seed, folder)  # as quickly made as read
    place = keep_model("trained", settings, seed, folder, train_model)
    untrained = train_model({**settings, "untrained": True}, seed, folder)
    model = _made(settings, type(untrained.model).from_pretrained(place))
    return replace(untrained, model=model.eval())


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


@dataclass(frozen=True)
class _Parts:
    """The data to train on, those that choose a run's weights, if any, and the validation and test data."""

    train: Any
    chooses: Any
    validation: Any
    test: Any
    articles: Mapping[str, Sequence[Hashable]]


def _parts(settings: Mapping[str, Any], task: Task[Any], recipe: Any, seed: int) -> _Parts:
    data, validation, test = (task.read(recipe, one) for one in ("train", "validation", "test"))
    articles: dict[str, Sequence[Hashable]] = {}
    if "texts" in settings and not _draws_texts(task):
        articles["validation"] = read_part(settings, "validation").articles
        if settings["texts"] == PYTHON or "test" in settings["texts"]:
            test, articles["test"] = read_part(settings, "test")
    if "test_lines" in settings:
        data, test = sample_rows(data, len(data) - settings["test_lines"], settings["test_lines"], 0)
    data = _some(data, settings["lines"]) if "lines" in settings else data
    if "sample" not in settings:
        return _Parts(data, validation, validation, test, articles)
    drawn, held_out = sample_rows(data, settings["sample"], settings["held_out"], seed)
    return _Parts(drawn, None, held_out, test, articles)


def _draws_texts(task: Task[Any]) -> bool:
    """Return whether `texts` is a field of the task's own recipe: the kind of texts that synthetic recall draws."""
    return "texts" in task.recipe_class.__dataclass_fields__


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
    return data.select(places.tolist())


def _made(settings: Mapping[str, Any], model: Any) -> Any:
    parts = settings.get("without", [])
    for part in [parts] if isinstance(parts, str) else parts:
        leave_out(model, part)
    return model


def task_and_recipe(settings: Mapping[str, Any], seed: int, folder: Path) -> tuple[Task[Any], Any]:
    """Return the task and the recipe that the settings of `train_model` name."""
    task = TASKS[settings["task"]]
    own = set(OWN_SETTINGS) - {"texts"} if _draws_texts(task) else OWN_SETTINGS
    # A copy, since fields such as model.hidden_act are written into the dictionary `model`, which all arms share.
    fields = deepcopy(all_but(settings, *own))
    fields |= {"seed": seed, "output_dir": str(folder / "model")}
    if "texts" in settings and not _draws_texts(task):
        fields |= {f"{part}_texts": part_texts(settings, part) for part in ("train", "validation")}
        fields |= {f"{part}_files": [] for part in ("train", "validation", "test")}
    path = training_folder() / "recipes" / f"{settings['recipe']}.yaml"
    return task, load_recipe(path, fields, recipe_class=task.recipe_class)


def _values(trained: Trained, key: str, part: str) -> Values:
    task, model, processor, recipe = trained.task, trained.model, trained.processor, trained.recipe
    data = trained.part(part)
    if isinstance(task, TextClassification) and key == "accuracy":
        return Values(trained.right(data), clusters=trained.clusters(part))
    if isinstance(task, TokenClassification) and key == "accuracy":
        return share_of_right(trained.right_tags(data), trained.clusters(part))
    encoded = task.encode(model, processor, data, recipe)
    if isinstance(task, SyntheticRecall) and key == "accuracy":
        return share_of_right(task.right_answers(model, processor, encoded), trained.clusters(part))
    if isinstance(task, CausalLM) and key == "perplexity":
        nats, tokens, *_ = task.answers(model, processor, encoded, recipe).rows.T
        return by_article(-100 * nats, tokens, trained.clusters(part))
    (measure,) = (one for one in task.measures(recipe) if one.key == key)
    value = task.measure(model, processor, encoded, recipe)[key]
    return Values([-100 * math.log(value) if measure.lower_is_better else 100 * value])


def share_of_right(right: Sequence[Sequence[bool]], clusters: Sequence[Hashable]) -> Values:
    """Return the percentage of right answers of each row, weighted by its answers.

    >>> share_of_right([[True, False], [True] * 3], ["a", "a"])
    Values(values=[50.0, 100.0], weights=[2, 3], clusters=['a', 'a'])
    """
    return Values([100 * sum(row) / len(row) for row in right], [len(row) for row in right], clusters)
