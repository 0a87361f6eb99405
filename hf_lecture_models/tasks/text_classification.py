# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
# ruff: noqa: RUF009  (setting() makes fields of a dataclass)
"""Texts and pairs of texts to one of several classes, or to a number."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.batches.shuffled import ShuffledBatches
from hf_lecture_models.data.reading import read_rows
from hf_lecture_models.data.recipe import RowsRecipe
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.files import staged_file
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.factories import tell, templated_tokenizer
from hf_lecture_models.tasks.inputs import Example, count_cut, encode_inputs, model_inputs
from hf_lecture_models.tasks.labels import (
    class_fields,
    classes_of,
    has_default_names,
    in_the_order_of_checkpoint,
    make_head,
    names_of_labels,
    tell_of_default_names,
    tell_of_found_classes,
)
from hf_lecture_models.tasks.metrics import compute
from hf_lecture_models.tasks.task import HeadRecipe, Measure, Task
from hf_lecture_models.tokenization.templates import require_template
from hf_lecture_models.trainer.batches import Batch, Batches

if TYPE_CHECKING:
    from hf_lecture_models.trainer.loop import Evaluation

REGRESSION, SINGLE_LABEL = "regression", "single_label_classification"
UNLABELLED = "rows without labels are for --predict_files, or --predict_split"
_EVALUATION_BATCH = 64


@dataclass(kw_only=True)
class TextClassificationRecipe(HeadRecipe, RowsRecipe):
    """The recipe of a classifier; its data have the columns `text`, `label` and perhaps `text_pair`."""

    problem_type: str = setting(
        SINGLE_LABEL, "what labels are: names of classes, or numbers", choices=(SINGLE_LABEL, REGRESSION)
    )
    label_names: dict[str, str] = setting({}, "names of the classes, by what the data call them: {0: bad, 1: good}")
    max_length: int | None = setting(
        None,
        "tokens of an input, longer ones are cut, of a pair the longer text first; null: one that is too long for the "
        "model is an error",
        least=1,
    )
    model: dict[str, Any] = setting(
        {"model_type": "lecture_bag_of_words"},
        "model_type and the fields of its config; with from_pretrained, fields to change: {dropout: 0.2}",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # YAML reads a name that looks like a number as one.
        self.label_names = {str(label): str(name) for label, name in self.label_names.items()}

    def names_of(self, column: str) -> Sequence[str]:
        """What files may call a column; the number of a row, as GLUE and the Hub do."""
        return ("index", "idx") if column == "index" else super().names_of(column)


class TextClassification(Task[TextClassificationRecipe]):
    """The task of classifying texts, or pairs of them; its data are `Rows`."""

    name = "text_classification"
    auto_class = AutoModelForSequenceClassification
    pipeline_tag = "text-classification"
    items = "examples"
    script = "finetune_glue.py"
    recipe_class: ClassVar[type[TextClassificationRecipe]] = TextClassificationRecipe

    def measures(self, recipe: TextClassificationRecipe) -> tuple[Measure, ...]:
        """The share of right classes; of numbers, how they go together with the right ones."""
        if recipe.problem_type == REGRESSION:
            return (Measure("pearson", "Pearson correlation", lower_is_better=False),)
        return (Measure("accuracy", "accuracy", lower_is_better=False),)

    def read(self, recipe: TextClassificationRecipe, part: str) -> Rows | None:
        """The rows of the part; those to predict may have a column `index`, by which predictions are written."""
        optional = ("text_pair", "index") if part == "predict" else ("text_pair",)
        return read_rows(recipe, part, required=("text",), optional=optional, labels=("label",))

    def processor(self, recipe: TextClassificationRecipe, data: Rows) -> Any:
        """The tokenizer; the template that the model needs is added where it is missing."""
        texts, pairs = _texts(data)
        return templated_tokenizer(self.auto_class, recipe, [*texts, *(pairs or ())])

    def model(self, recipe: TextClassificationRecipe, processor: Any, data: Rows) -> Any:
        """The classifier, with the classes of the data.

        A checkpoint that is a classifier of these classes already keeps its order of them; where it has as many others,
        it is refused, since nothing says which one becomes which.
        """
        names = None if recipe.problem_type == REGRESSION else self.classes(data, recipe)
        if names is not None:
            names = in_the_order_of_checkpoint(names, recipe, "ForSequenceClassification")
        return make_head(self.auto_class, recipe, processor, _head_fields(names))

    def classes(self, data: Rows, recipe: TextClassificationRecipe) -> list[str]:
        """The classes that a model learns from the data, in the order of their ids."""
        return class_names(data, recipe)

    def batches(self, model: Any, processor: Any, data: Rows, recipe: TextClassificationRecipe) -> Batches:
        """Rows in a new order each epoch; each micro-batch is padded to its longest row."""
        if "text_pair" in data.columns and not _parts_pairs(processor):
            fix = "give it a template" if recipe.from_pretrained else "--tokenizer.template pair parts them"
            tell(f"the tokenizer puts nothing between the two texts of a pair, which are read as one; {fix}")
        examples = encode_examples(model, processor, data, recipe)
        collate = ExampleCollator(examples, label_ids(model.config, data, recipe), processor)
        return ShuffledBatches(len(data), collate, recipe.batch_size, recipe.seed)

    def evaluate(self, model: Any, processor: Any, data: Rows, recipe: TextClassificationRecipe) -> dict[str, Any]:
        """The measures, and the number of examples."""
        if recipe.problem_type == SINGLE_LABEL:
            names = names_of_labels(recipe.label_names, recipe.label_names)
            tell_of_default_names(model.config, model.config.name_or_path or "the model", names)
        examples, labels = encode_examples(model, processor, data, recipe), label_ids(model.config, data, recipe)
        return self._measured(model, processor, examples, labels, data, recipe)

    def evaluation(
        self, model: Any, processor: Any, data: Rows | None, recipe: TextClassificationRecipe
    ) -> "Evaluation | None":
        """As of any task; the texts are encoded once."""
        evaluation = super().evaluation(model, processor, data, recipe)
        if data is None or evaluation is None:
            return None
        examples, labels = encode_examples(model, processor, data, recipe), label_ids(model.config, data, recipe)
        known = {"processor": processor, "examples": examples, "labels": labels, "data": data, "recipe": recipe}
        return replace(evaluation, measure=partial(self._measured, **known))

    def _measured(
        self,
        model: Any,
        processor: Any,
        examples: Sequence[Example],
        labels: Sequence[float],
        data: Rows,
        recipe: TextClassificationRecipe,
    ) -> dict[str, Any]:
        logits = predict(model, processor, examples)
        predictions = logits[:, 0] if recipe.problem_type == REGRESSION else logits.argmax(1)
        measured = self.scores(model.config, predictions.tolist(), labels, data, recipe)
        return {**measured, "examples": len(examples)}

    def scores(
        self,
        config: Any,
        predictions: Sequence[float],
        labels: Sequence[float],
        data: Rows,
        recipe: TextClassificationRecipe,
    ) -> dict[str, float]:
        """The measures of predictions, ids of the model's classes or numbers, one for each row of the data."""
        return {measure.key: compute(measure.key, predictions, labels) for measure in self.measures(recipe)}

    def check_predict_data(self, model: Any, processor: Any, data: Rows, recipe: TextClassificationRecipe) -> None:
        """Raise ValueError where the model cannot read a row."""
        encode_examples(model, processor, data, recipe)

    def write_predictions(
        self, model: Any, processor: Any, data: Rows, recipe: TextClassificationRecipe, folder: Path
    ) -> Path:
        """Write `.tsv` files with the columns `index`, from the data or else counted from 0, and `prediction`."""
        logits = predict(model, processor, encode_examples(model, processor, data, recipe))
        values, index = self.prediction_values(model.config, logits, recipe), data.columns.get("index")
        files = self.prediction_files(data, recipe)
        for name, rows in files.items():
            numbers = range(len(rows)) if index is None else [index[row] for row in rows]
            lines = ["index\tprediction", *(f"{i}\t{values[row]}" for i, row in zip(numbers, rows, strict=True))]
            with staged_file(folder / name) as path:
                path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return folder / name if len(files) == 1 else folder

    def prediction_files(self, data: Rows, recipe: TextClassificationRecipe) -> dict[str, list[int]]:
        """The files of predictions, each with the rows that are in it."""
        return {"predictions.tsv": list(range(len(data)))}

    def prediction_values(self, config: Any, logits: torch.Tensor, recipe: TextClassificationRecipe) -> list[str]:
        """What is written for each row: the name of the class, or the number."""
        if recipe.problem_type == REGRESSION:
            return [f"{value:.6g}" for value in logits[:, 0].tolist()]
        names = classes_of(config)
        return [names[index] for index in logits.argmax(1).tolist()]

    def describe(self, model: Any, recipe: TextClassificationRecipe, data: Rows | None = None) -> dict[str, Any]:
        """As of any task, and the classes, if there are any; and whether inputs are pairs of texts."""
        classes = [] if recipe.problem_type == REGRESSION else classes_of(model.config)
        pairs = data is not None and "text_pair" in data.columns
        return super().describe(model, recipe, data) | {"classes": classes, "pairs": pairs}


@torch.no_grad()
def predict(
    model: Any, tokenizer: Any, examples: Sequence[Example], batch_size: int = _EVALUATION_BATCH
) -> torch.Tensor:
    """The logits of encoded examples, (rows, num_labels), float32 on the CPU.

    Those of like length go through the model together.
    """
    order = sorted(range(len(examples)), key=lambda row: len(examples[row]["input_ids"]))
    logits = torch.empty(len(examples), model.config.num_labels)
    with evaluation_mode(model):
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            batch = tokenizer.pad([examples[row] for row in rows], return_tensors="pt").to(model.device)
            logits[rows] = model(**batch).logits.float().cpu()
    return logits


class ExampleCollator:
    """The collator of encoded examples, each row of which is an item.

    Args:
        examples: the tokenizer's output for each row.
        labels: ids of classes, or floats.
    """

    def __init__(self, examples: Sequence[Example], labels: Sequence[float], tokenizer: Any) -> None:
        self.examples, self.tokenizer = examples, tokenizer
        self.labels = torch.tensor(labels)

    def __call__(self, rows: np.ndarray) -> Batch:
        """The rows, padded on the tokenizer's side; empty places (-1) are left out, but for one where all are empty."""
        real = [int(row) for row in rows if row >= 0]
        batch = self.tokenizer.pad([self.examples[row] for row in real or [0]], return_tensors="pt")
        labels = self.labels[real] if real else torch.full((1,), NOT_COUNTED, dtype=self.labels.dtype)
        return Batch({**batch, "labels": labels}, len(real))


def encode_examples(model: Any, tokenizer: Any, data: Rows, recipe: TextClassificationRecipe) -> list[Example]:
    """What the tokenizer gives for each row and the model takes; how many rows `max_length` cuts is told.

    Raises:
        ValueError: a row is too long for the model, and `max_length` cuts none, or is itself too long; or the tokenizer
            belongs to another model, lacks the template that it needs, or pads nothing; or the model reads pairs
            alone, and the data or the tokenizer know none.
    """
    texts, pairs = _texts(data)
    if getattr(model.config, "extract_token_id", None) is not None:
        require_template(tokenizer, model.text_template)
    if pairs is None and getattr(model.config, "both_orders", False):
        raise ValueError(f"{data.sources[0][0]} has no column text_pair, but the model reads pairs (both_orders)")
    if getattr(model.config, "pair_combination", None) is not None:
        _check_pairs(tokenizer, data)
    encoded = encode_inputs(model, tokenizer, data, texts, pairs, recipe.max_length)
    if cut := count_cut(encoded):
        tell(f"{data.sources[0][0]}: {cut:,} of {len(data):,} rows are longer than max_length and are cut")
    return model_inputs(model, encoded)


def _check_pairs(tokenizer: Any, data: Rows) -> None:
    if "text_pair" not in data.columns:
        raise ValueError(
            f"{data.sources[0][0]} has no column text_pair, but the model has a pair_combination and reads two texts: "
            "--columns.text_pair NAME says which one it is, --model.pair_combination null makes a model of single texts"
        )
    if "token_type_ids" not in tokenizer.model_input_names:
        raise ValueError(
            "the model has a pair_combination and reads two texts apart, but the tokenizer does not say which token is "
            "of which (token_type_ids): --tokenizer.template pair, or tokenizer.set_template('pair') on a saved one"
        )


def _parts_pairs(tokenizer: Any) -> bool:
    """Whether a pair of texts is told from one text, by a token between them or by types of tokens."""
    if "token_type_ids" in tokenizer.model_input_names:
        return True
    return tokenizer.num_special_tokens_to_add(pair=True) > tokenizer.num_special_tokens_to_add(pair=False)


def _texts(data: Rows) -> tuple[list[str], list[str] | None]:
    return data.texts("text"), data.texts("text_pair") if "text_pair" in data.columns else None


def read_labels(data: Rows) -> list[str]:
    """The labels of classes, as text.

    Raises:
        ValueError: a row has no label, or a number that is no class.
    """
    labels = data.columns["label"]
    for index, label in enumerate(labels):
        if label is None or not str(label).strip():
            raise ValueError(f"{data.where(index)} has no label; {UNLABELLED}")
    wrong = [index for index, label in enumerate(labels) if not isinstance(label, str | int)]
    if not wrong and all(map(_is_number, labels)):  # those of a table are texts
        wrong = [index for index, label in enumerate(labels) if not float(label).is_integer()]
    if wrong:
        # One 0.5 makes floats of all numbers in its column.
        index = next((i for i in wrong if not isinstance(labels[i], float) or labels[i] % 1), wrong[0])
        raise ValueError(
            f"{data.where(index)}: label is {labels[index]!r}, no class; --problem_type {REGRESSION} learns numbers"
        )
    return [str(label) for label in labels]


def _is_number(label: Any) -> bool:
    try:
        return math.isfinite(float(label))
    except (TypeError, ValueError):
        return False


def class_names(data: Rows, recipe: TextClassificationRecipe) -> list[str]:
    """The classes of the data, in the order of their numbers or of the alphabet, by their names.

    >>> rows = Rows({"label": [1, -1, 0, 1]}, [("train.jsonl", 4)])
    >>> class_names(rows, TextClassificationRecipe(label_names={-1: "negative", 0: "neutral"}))
    ['negative', 'neutral', '1']

    Raises:
        ValueError: a label is no class, or there is only one.
    """
    labels = read_labels(data)
    names = names_of_labels(labels, recipe.label_names)
    if len(names) < 2:
        raise ValueError(f"{data.sources[0][0]}: all labels are {names[0]!r}; there is nothing to learn")
    tell_of_found_classes(labels, names, recipe.label_names, data.sources[0][0])
    return names


def label_ids(config: Any, data: Rows, recipe: TextClassificationRecipe) -> list[float]:
    """The labels as the model's loss takes them: ids of its classes, or floats.

    Raises:
        ValueError: a label is none of the classes, or no number.
    """
    if recipe.problem_type == REGRESSION:
        return [as_number(label, data.where(index)) for index, label in enumerate(data.columns["label"])]
    ids = ids_by_name(config, recipe.label_names)
    found: list[float] = []
    for index, label in enumerate(read_labels(data)):
        name = recipe.label_names.get(label, label)
        if (known := ids.get(name, ids.get(name.casefold()))) is None:
            fix = UNLABELLED if name == "-1" else f"--label_names.{name} NAME says which one it is"
            classes = ", ".join(classes_of(config))
            raise ValueError(f"{data.where(index)}: label {name!r} is none of the model's classes, {classes}; {fix}")
        found.append(known)
    return found


def ids_by_name(config: Any, label_names: Mapping[str, str]) -> dict[str, int]:
    """The ids of a model's classes, by name, also in small letters if these tell them apart.

    Classes that the model merely numbers are known by their numbers, and, if they are as many, by `label_names` in the
    order of the labels.
    """
    ids = {name: index for index, name in enumerate(classes_of(config))}
    small = {name.casefold(): index for name, index in ids.items()}
    unnamed: dict[str, int] = {}
    if has_default_names(config):
        named = names_of_labels(label_names, label_names)
        unnamed = {str(index): index for index in ids.values()}
        unnamed |= {name: index for index, name in enumerate(named)} if len(named) == len(ids) else {}
    return unnamed | (small if len(small) == len(ids) else {}) | ids


def as_number(label: Any, where: str) -> float:
    """A label that is a number.

    Args:
        where: its row, for the message.

    Raises:
        ValueError: it is none.
    """
    try:
        number = float(label)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{where}: label is {label!r}, no number")
    return number


def _head_fields(names: list[str] | None) -> dict[str, Any]:
    """Fields of the configuration by which the head knows its classes; of None, that it gives one number."""
    if names is None:
        return {"num_labels": 1, "problem_type": REGRESSION}
    return class_fields(names) | {"problem_type": SINGLE_LABEL}
