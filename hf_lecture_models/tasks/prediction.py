# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Predictions of saved models, with the same code and settings as their measures.

`hf_lecture_models.predict` and `hf-lecture predict` use them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.io.auto_classes import learns_next_sentences, model_classes
from hf_lecture_models.io.locations import check_location
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.io.task_file import task_file_of
from hf_lecture_models.tasks.classification.kinds import MULTI_LABEL
from hf_lecture_models.tasks.core.lines import LineForm, PredictionOptions
from hf_lecture_models.tasks.core.task import Task, recipe_of
from hf_lecture_models.tasks.registry import TASKS

Result = dict[str, Any]


def predict(
    model: Any,
    processor: Any,
    inputs: Sequence[Any],
    *,
    top_k: int | None = None,
    aggregate: bool = False,
    max_length: int | None = None,
    batch_size: int = 64,
) -> list[list[Result]]:
    """Predict classes, tags, masked words, choices or answers for texts or rows, with the settings of the measures.

    >>> from hf_lecture_models import BagOfWordsConfig, BagOfWordsForSequenceClassification, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["a fine film", "a dull film"], progress=False)
    >>> model = BagOfWordsForSequenceClassification(BagOfWordsConfig(vocab_size=len(tokenizer)))
    >>> [sorted(found) for found, in predict(model, tokenizer, ["a fine film", "a film"])]
    [['label', 'score'], ['label', 'score']]

    Args:
        model: a model of the lectures or of transformers, for example from `load_model`.
        processor: its tokenizer or image processor.
        inputs: texts (sentences, texts with masks, paths of images), or mappings of a row's columns: `text` and
            `text_pair`, `question` and `context`, `context` and `choices`; or images in any form of `open_image`.
        top_k: the most predictions of a row; None: one, of masked words five.
        aggregate: of tags, return entities in place of words.
        max_length: tokens that are kept of an input; None: as saved in `task.json`, with all settings of measuring.
        batch_size: rows that go through the model together.

    Returns:
        The predictions of each row, best first: dicts with `label`, `score` and further keys of the task.

    Raises:
        TypeError: `inputs` is not a list of texts and mappings.
        ValueError: the model has no such head, or a row cannot be read; the message names the row.
    """
    predictor = Predictor(model, processor, PredictionOptions(top_k, aggregate, batch_size, max_length))
    of_images = "image" in predictor.form.fields
    if not isinstance(inputs, list | tuple) or not all(of_images or isinstance(one, str | Mapping) for one in inputs):
        raise TypeError("expected a list of texts or of mappings of columns; write [text] for one text")
    return predictor.predict([_row(predictor.form, one, number) for number, one in enumerate(inputs, 1)])


def _row(form: LineForm, given: Any, number: int) -> dict[str, Any]:
    """Return the fields of an input, which is a line of text, a row or an image."""
    try:
        if isinstance(given, str):
            row = form.read(given)
        else:
            row = dict(given) if isinstance(given, Mapping) else {"image": given}
        if missing := [name for name in form.fields if name not in row]:
            raise ValueError(f"it has no field {missing[0]}: give {form.words}")
        form.check(row)
    except ValueError as error:
        raise ValueError(f"inputs, line {number}: {error}") from None
    return row


class Predictor:
    """A saved model that predicts rows and tables.

    Args:
        model: a model with a head for classes, tags, masked words, choices or answers.
        processor: its tokenizer or image processor.
        options: the options of `Task.predictions`; `max_length` replaces the length that was saved with the model.
        name: the model's folder, if it has one; its records say how tables are read.

    Raises:
        ValueError: the model has another head, or an option does not apply to it.
    """

    def __init__(self, model: Any, processor: Any, options: PredictionOptions, name: str = "") -> None:
        self.model = _with_mask_head(model, name or model.config.name_or_path)
        self.processor, self.options, self.name = processor, options, name
        self.task = _predicting_task(self.model, name)
        kind, form = type(model).__name__, self.task.line_form
        assert form is not None
        self.form = form
        if options.top_k is not None and not form.usual:
            raise ValueError(f"{kind} gives one tag for each word: leave `top_k` out")
        if options.aggregate and form.usual:
            raise ValueError(f"{kind} finds no entities: leave `aggregate` out")
        if options.max_length is not None and "image" in form.fields:
            raise ValueError(f"{kind} reads no tokens: leave `max_length` out")
        saved = {"task": task_file_of(self.model.config)}
        self.settings = self._chosen(self.task.settings_class.of(saved, self.task.name))

    @property
    def gives_sets(self) -> bool:
        """True if the predictions of a row are a set of classes, which may be empty."""
        is_several = self.model.config.problem_type == MULTI_LABEL
        return is_several and self.task.name == "text_classification" and self.options.top_k is None

    def predict(self, rows: Sequence[Mapping[str, Any]], sources: Rows | None = None) -> list[list[Result]]:
        """Predict rows; return the predictions of each row, none for blank rows.

        Args:
            rows: mappings of the task's columns; rows need not have the same columns.
            sources: the files and lines of the rows for messages.

        Raises:
            ValueError: a row cannot be read; the message names it.
        """
        found: list[list[Result]] = [[] for _ in rows]
        sources = sources or Rows({}, [("inputs", 1)] * len(rows), [[number] for number in range(1, len(rows) + 1)])
        filled = {index: tuple(row) for index, row in enumerate(rows) if not self.form.is_blank(row)}
        for columns in dict.fromkeys(filled.values()):  # pairs and single texts are encoded separately
            chosen = [index for index, own in filled.items() if own == columns]
            data = Rows(
                {name: [rows[index][name] for index in chosen] for name in columns},
                [sources.sources[index] for index in chosen],
                [sources.lines[index] for index in chosen],
            )
            for index, own in zip(chosen, self._predict(data, self.settings), strict=True):
                found[index] = own
        return found

    def predict_table(
        self, file: str, fields: Mapping[str, Any]
    ) -> tuple[Sequence[Mapping[str, Any]], list[list[Result]]]:
        """Read a table in the same way as the model's training did, and return its rows with their predictions.

        Args:
            fields: fields of the recipe that say how the table is read, by their dotted names, such as "columns.text".

        Raises:
            ValueError, OSError: as `Task.read`.
        """
        facts = facts_of(self.name, self.model, self.processor) if self.name and Path(self.name).is_dir() else {}
        saved = self._chosen(recipe_of(self.task, {"task": task_file_of(self.model.config), **facts}))
        own = vars(saved) | {"predict_files": [file], "predict_split": "", "dataset_name": ""}
        recipe = load_recipe(None, own | dict(fields), recipe_class=self.task.recipe_class)
        read: Any = self.task.read(recipe, "predict")
        rows = read if isinstance(read, Rows) else Rows({"text": list(read)}, [(file, len(read))])
        return rows, self._predict(rows, recipe) if len(rows) else []

    def _chosen(self, settings: Any) -> Any:
        """Return the settings with the `max_length` of the options, if there is one."""
        if self.options.max_length is None or not hasattr(settings, "max_length"):
            return settings
        return replace(settings, max_length=self.options.max_length)

    def _predict(self, data: Rows, settings: Any) -> list[list[Result]]:
        return self.task.predictions(self.model, self.processor, data, settings, self.options)


def _with_mask_head(model: Any, name: str) -> Any:
    """Return the model with only the head for masked words, if it has one for next sentences too."""
    if not learns_next_sentences(model) or not name:
        return model
    return AutoModelForMaskedLM.from_pretrained(name, local_files_only=check_location(name)).to(model.device)


def _predicting_task(model: Any, name: str) -> Task[Any]:
    for task in TASKS.values():
        if task.line_form is not None and task.is_for(model):
            return task
    kind, shown = type(model).__name__, name or "the model"
    if type(model) in model_classes(AutoModelForCausalLM, type(model.config)):
        raise ValueError(
            f"{shown} holds {kind}, a language model: the verb generate continues texts, score and rank say how "
            "probable they are"
        )
    raise ValueError(
        f"{shown} holds {kind}, whose outputs are no predictions of classes, tags, words, choices or answers"
    )
