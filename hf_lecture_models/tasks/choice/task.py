# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Multiple choice: a model chooses one of several continuations of a context.

A model reads a pair of texts for each choice, the context and the choice, and gives it a score; the highest one wins.
Rows may have different numbers of choices, but the rows of a batch have the same number, because the heads, also those
of transformers, treat every choice of a batch as a real one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from transformers import AutoModelForMultipleChoice

from hf_lecture_models.base.traits import trait
from hf_lecture_models.data.benchmarks import Benchmarked, BenchmarkRecipe, benchmarks_of
from hf_lecture_models.data.holdout import SplitKeys
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.evaluation.by_length import predict_by_length
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.choice.baseline import MostFrequentPlace
from hf_lecture_models.tasks.choice.rows import FORMS, ChoiceForm, check_choices, read_choices
from hf_lecture_models.tasks.classification.classes import best_classes
from hf_lecture_models.tasks.core.errors import Errors, errors_of_classes
from hf_lecture_models.tasks.core.factories import SMALL_BERT, log_once, templated_tokenizer
from hf_lecture_models.tasks.core.heads import HeadRecipe
from hf_lecture_models.tasks.core.hold_out import keys_of_rows
from hf_lecture_models.tasks.core.inputs import Example, encode_inputs, model_inputs
from hf_lecture_models.tasks.core.labels import make_head
from hf_lecture_models.tasks.core.lines import LineForm, PredictionOptions
from hf_lecture_models.tasks.core.settings import Settings
from hf_lecture_models.tasks.core.shuffled import RowCollator, ShuffledBatches
from hf_lecture_models.tasks.core.task import Encoded, Measure, Task
from hf_lecture_models.tasks.metrics import compute
from hf_lecture_models.tokenization.templates import require_template
from hf_lecture_models.trainer.batches import Batch, Batches

_EVALUATION_BATCH = 64


@dataclass(kw_only=True)
class ChoiceSettings(Settings, Benchmarked):
    """The settings of a multiple-choice model."""

    saved = ("max_length",)

    task: str | None = setting(
        None,
        "a benchmark, whose columns the data have, and whose data on the Hub are read where neither files nor rows are "
        "named (all but balanced_copa); null: rows of context, choices and label",
        choices=benchmarks_of("multiple_choice"),
    )
    max_length: int | None = setting(
        None,
        "tokens of a context with a choice; longer contexts are cut; null: what is too long for the model is an error",
        least=1,
    )

    @property
    def form(self) -> ChoiceForm:
        """The form of its rows."""
        return FORMS["own" if self.benchmark is None else self.benchmark.form]


@dataclass(kw_only=True)
class MultipleChoiceRecipe(ChoiceSettings, HeadRecipe, BenchmarkRecipe):
    """The recipe of a multiple-choice model; its data have `context`, `choices`, `label`, or a benchmark's."""

    model: dict[str, Any] = setting(
        SMALL_BERT,
        "model_type and the fields of its config; with from_pretrained, fields to change: {classifier_dropout: 0.2}",
    )

    def column_aliases(self, column: str) -> Sequence[str]:
        """Return the names of a column in files; the number of a row has the Hub's name."""
        own = super().column_aliases(column)
        return ("idx", "id") if column == "id" and list(own) == [column] else own


class ChoiceLines(LineForm):
    """Lines of a context and its choices."""

    def check(self, fields: Mapping[str, Any]) -> None:
        """Raise a ValueError unless the choices are two texts at least."""
        check_choices(fields["choices"])


class MultipleChoice(Task[MultipleChoiceRecipe]):
    """The task of choosing; its data are the `Rows` of `read_choices`."""

    name = "multiple_choice"
    auto_class = AutoModelForMultipleChoice
    pipeline_tag = "multiple-choice"
    items = "examples"
    script = "finetune_multiple_choice.py"
    recipe_class: ClassVar[type[MultipleChoiceRecipe]] = MultipleChoiceRecipe
    settings_class = ChoiceSettings
    next_command = "hf-lecture predict {} choices.jsonl"
    line_form = ChoiceLines(
        'JSON objects {"context": ..., "choices": [...]}', {"context": str, "choices": list}, needs_json=True
    )
    baseline = MostFrequentPlace()

    def measures(self, settings: ChoiceSettings) -> tuple[Measure, ...]:
        """Return the accuracy."""
        return (Measure("accuracy", "accuracy", lower_is_better=False),)

    def read(self, recipe: MultipleChoiceRecipe, part: str) -> Rows | None:
        """The rows of the part."""
        return read_choices(recipe.form, recipe, part)

    def split_keys(self, recipe: MultipleChoiceRecipe, data: Rows) -> SplitKeys:
        """Keep rows of the same context on one side, or those of the same choices if they have no context."""
        contexts, choices = data.columns["context"], data.columns["choices"]
        equal = [context.strip() or own for context, own in zip(contexts, choices, strict=True)]
        return keys_of_rows(data, {"context": equal}, data.columns["label"], "label")

    def processor(self, recipe: MultipleChoiceRecipe, data: Rows) -> Any:
        """Return the tokenizer, with the template that the model needs."""
        texts = [*data.columns["context"], *chain.from_iterable(data.columns["choices"])]
        return templated_tokenizer(self.auto_class, recipe, texts)

    def model(self, recipe: MultipleChoiceRecipe, processor: Any, data: Rows) -> Any:
        """Return the multiple-choice model; its head gives a score for each choice of any number."""
        if not recipe.from_pretrained:
            log_once(
                "a new model knows nothing of the world, and seldom learns to choose better than by guessing from some "
                "hundred rows; name a published model by `from_pretrained`"
            )
        return make_head(self.auto_class, recipe, processor, {})

    def batches(self, model: Any, processor: Any, data: Rows, recipe: MultipleChoiceRecipe) -> Batches:
        """Return batches of rows in a new order each epoch; those with different numbers of choices are split."""
        encoded = self.encode(model, processor, data, recipe)
        labels = {"labels": torch.tensor(encoded.labels)}
        collate = RowCollator(encoded.inputs, labels, partial(pad_choices, processor))
        return ChoiceBatches(collate, recipe.batch_size, recipe.seed)

    def encode(self, model: Any, processor: Any, data: Rows, settings: ChoiceSettings) -> Encoded:
        """Tokenize each row's context with each of its choices."""
        return Encoded(data, encode_choices(model, processor, data, settings.max_length), data.columns.get("label"))

    def predict(
        self, model: Any, processor: Any, encoded: Encoded, batch_size: int = _EVALUATION_BATCH
    ) -> list[torch.Tensor]:
        """Return the scores of each row's choices, (choices,) each, float32 on the CPU.

        Args:
            batch_size: the number of texts, one for each choice, in a batch.
        """

        def predict_batch(rows: list[list[Example]]) -> torch.Tensor:
            batch = pad_choices(processor, rows)
            return model(**{name: tensor.to(model.device) for name, tensor in batch.items()}).logits.float().cpu()

        scores: dict[int, torch.Tensor] = {}
        for choices in {len(row) for row in encoded.inputs}:  # a batch has rows of one number of choices
            rows = [index for index, row in enumerate(encoded.inputs) if len(row) == choices]
            size, inputs = max(1, batch_size // choices), [encoded.inputs[row] for row in rows]
            scores |= zip(rows, predict_by_length(model, inputs, predict_batch, size, longest), strict=True)
        return [scores[row] for row in range(len(encoded.inputs))]

    def answers(self, model: Any, processor: Any, encoded: Encoded, settings: ChoiceSettings) -> list[int]:
        """Return the number of each row's best choice."""
        return [int(scores.argmax()) for scores in self.predict(model, processor, encoded)]

    def measure_answers(
        self, model: Any, processor: Any, encoded: Encoded, answers: Sequence[int], settings: ChoiceSettings
    ) -> dict[str, Any]:
        """Return the accuracy, that of guessing (`chance`), and the number of examples."""
        chance = float(np.mean([1 / len(choices) for choices in encoded.inputs]))
        accuracy = compute("accuracy", answers, encoded.labels)
        return {"accuracy": accuracy, "chance": chance, "examples": len(encoded.inputs)}

    def predictions(
        self, model: Any, processor: Any, data: Rows, settings: ChoiceSettings, options: PredictionOptions
    ) -> list[list[dict[str, Any]]]:
        """Return the numbers of the best choices of each row, with their probabilities and texts."""
        scores = self.predict(model, processor, self.encode(model, processor, data, settings), options.batch_size)
        return [
            [
                found | {"text": choices[found["label"]]}
                for found in best_classes(own.softmax(-1), range(len(own)), options.top_k or 1)
            ]
            for choices, own in zip(data.columns["choices"], scores, strict=True)
        ]

    def errors(self, model: Any, processor: Any, data: Rows, settings: ChoiceSettings) -> Errors:
        """Return the rows with a wrong choice, with the texts of the right one and of the predicted one."""
        encoded = self.encode(model, processor, data, settings)
        items = []
        for row, scores in enumerate(self.predict(model, processor, encoded)):
            context, choices = data.columns["context"][row], data.columns["choices"][row]
            score, own = scores.softmax(-1).max(0)
            answer = {"gold": choices[encoded.labels[row]], "predicted": choices[int(own)], "score": score.item()}
            items.append({"context": context, "choices": choices, **answer, "where": data.where(row)})
        return replace(errors_of_classes(items), pairs=None)

    def write_predictions(self, model: Any, processor: Any, data: Rows, settings: ChoiceSettings, folder: Path) -> Path:
        """Write lines {"idx", "label"} for COPA and other data, or the table of SWAG's or ARC's leaderboard."""
        scores = self.predict(model, processor, self.encode(model, processor, data, settings))
        path = folder / ("predictions.jsonl" if settings.benchmark is None else settings.benchmark.file)
        settings.form.write(data, [int(row.argmax()) for row in scores], path)
        return path


def longest(choices: Sequence[Example]) -> int:
    """Return the number of tokens of a row's longest text."""
    return max(len(choice["input_ids"]) for choice in choices)


def pad_choices(tokenizer: Any, examples: Sequence[Sequence[Example]]) -> dict[str, torch.Tensor]:
    """Return the model's inputs for rows of one number of choices, padded tensors of (rows, choices, seq).

    >>> from hf_lecture_models.tasks.core.factories import make_tokenizer
    >>> tokenizer = make_tokenizer({"type": "word"}, ["a cat", "a dog"])
    >>> row = [dict(tokenizer("a", choice)) for choice in ("cat", "a dog")]
    >>> pad_choices(tokenizer, [row, row, row])["input_ids"].shape
    torch.Size([3, 2, 5])
    """
    batch = tokenizer.pad(list(chain.from_iterable(examples)), return_tensors="pt")
    return {name: tensor.unflatten(0, (len(examples), -1)) for name, tensor in batch.items()}


class ChoiceBatches(ShuffledBatches):
    """Batches of all rows in a new order each epoch.

    Each micro-batch is split into one for each number of choices in the whole step, so that every process has equally
    many micro-batches. Each row still has the same weight in the loss.
    """

    def __init__(self, collate: RowCollator, batch_size: int, seed: int) -> None:
        super().__init__(len(collate.examples), collate, batch_size, seed)
        self.counts = np.array([len(choices) for choices in collate.examples])

    def _micro_batches(self, step: np.ndarray) -> list[Batch]:
        counts = np.where(step < 0, 0, self.counts[step])
        kinds = np.unique(counts[counts > 0])
        parts = [(step[part], counts[part]) for part in self.shard.micro_batches]
        return [self.collate(rows[own == choices]) for rows, own in parts for choices in kinds]

    def _kinds(self) -> list[np.ndarray]:
        return [np.flatnonzero(self.counts == choices) for choices in np.unique(self.counts)]


class _Choices(Rows):
    """The choices of all rows, one after the other; messages name their rows."""

    def __init__(self, data: Rows) -> None:
        super().__init__(data.columns, data.sources, data.lines)
        self.ends = list(accumulate(map(len, data.columns["choices"])))

    def where(self, index: int, word: int | None = None) -> str:
        """Return the row, and the number of the choice in it, counted from 0 like labels."""
        row = int(np.searchsorted(self.ends, index, side="right"))
        number = index - (self.ends[row - 1] if row else 0)
        return f"{super().where(row)}, choice {number}"


def encode_choices(model: Any, tokenizer: Any, data: Rows, max_length: int | None = None) -> list[list[Example]]:
    """Return the model's inputs for each choice of each row, together with its context.

    Args:
        max_length: the most tokens of a text; of longer texts the context is cut.

    Raises:
        ValueError: a row is too long for the model and `max_length` is None; `max_length` is too long for the model, or
            leaves no token of a context; or the tokenizer belongs to another model, or lacks a padding token or the
            template that the model needs.
    """
    if trait(model, "extract_token_id") is not None:
        require_template(tokenizer, model.text_template)
    flat = _Choices(data)
    rows = list(zip(data.columns["context"], data.columns["choices"], strict=True))
    contexts = [context for context, choices in rows for _ in choices]
    choices = list(chain.from_iterable(data.columns["choices"]))
    options = {} if max_length is None else {"truncation": "only_first"}
    if max_length is not None:
        _refuse_long_choices(tokenizer, flat, contexts, choices, max_length)
    encoded = model_inputs(model, encode_inputs(model, tokenizer, flat, contexts, choices, max_length, **options))
    return [encoded[end - len(own) : end] for (_, own), end in zip(rows, flat.ends, strict=True)]


def _refuse_long_choices(
    tokenizer: Any, flat: _Choices, contexts: Sequence[str], choices: Sequence[str], max_length: int
) -> None:
    """Raise a ValueError that names the row of a choice which leaves no token for its context."""
    special = tokenizer.num_special_tokens_to_add(pair=True)
    options = {"add_special_tokens": False, "verbose": False, "return_attention_mask": False}
    lengths = [[len(ids) for ids in tokenizer(texts, **options)["input_ids"]] for texts in (contexts, choices)]
    for index, (context, choice) in enumerate(zip(*lengths, strict=True)):
        if special + choice + min(context, 1) > max_length:
            raise ValueError(
                f"{flat.where(index)} is too long for max_length {max_length}: its own tokens ({choice}) and the "
                f"special ones ({special}) leave none to its context; `max_length` {special + choice + 1} at least"
            )
