# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Synthetic recall: a model predicts words whose right continuation stands earlier in the text, or follows from it.

Texts are drawn by `synthetic_texts.py`. A causal language model reads `<s>` and the text, and predicts each answer from
all words before it; a masked one reads the text with a mask in the place of each answer. Only answers have a loss.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.base.limits import check_tokenizer, input_limit
from hf_lecture_models.base.traits import trait
from hf_lecture_models.data.holdout import HeldOut, SplitKeys
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.evaluation.by_length import predict_by_length
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.io.task_file import task_file_of
from hf_lecture_models.tasks.classification.classes import best_classes
from hf_lecture_models.tasks.core.factories import load_checkpoint, make_model, tokenizer_for
from hf_lecture_models.tasks.core.hold_out import keys_of_rows
from hf_lecture_models.tasks.core.lines import LineForm, PredictionOptions
from hf_lecture_models.tasks.core.settings import Settings
from hf_lecture_models.tasks.core.shuffled import ShuffledBatches
from hf_lecture_models.tasks.core.task import Encoded, Measure, Task, TaskRecipe
from hf_lecture_models.tasks.language_models.blocks import make_labels
from hf_lecture_models.tasks.language_models.recall_rows import RecallRowsRecipe, check_recall, read_recall
from hf_lecture_models.tasks.translation.translate import pad_rows
from hf_lecture_models.trainer.batches import Batch, Batches

_EVALUATION_BATCH = 64


class RecallText(NamedTuple):
    """A text in the form that a model reads.

    Attributes:
        ids: (tokens,), for a causal model `<s>` and the words before its last answer, so that the output at a word's
            place in the text predicts it; for a masked one the words, with masks.
        places: the places of the answers.
        answers: the ids of the answers, one for each place; [] if they are not known.
    """

    ids: list[int]
    places: list[int]
    answers: list[int]


@dataclass(kw_only=True)
class RecallSettings(Settings):
    """The settings of a language model that learns synthetic recall."""

    saved = ("masked",)

    masked: bool = setting(False, "train a masked language model, which reads both sides of an answer")

    def auto_class(self) -> Any:
        """Return the Auto class of masked or of causal language models."""
        return AutoModelForMaskedLM if self.masked else AutoModelForCausalLM


_EPOCHS_OF_DRAWN = 2.0


@dataclass(kw_only=True)
class SyntheticRecallRecipe(RecallSettings, TaskRecipe, RecallRowsRecipe):
    """The recipe of a language model that learns synthetic recall; its data are drawn, or have `text` and `answers`."""

    batch_size: int = setting(64, "texts per optimizer step", least=1)
    learning_rate: float = setting(3e-3, "learning rate after warm-up", least=0)
    model: dict[str, Any] = setting(
        {
            "model_type": "transfo-xl",
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "mem_len": 0,
            "initializer_range": 0.1,
            "dropout": 0.0,
        },
        "model_type and the fields of its config",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_drawn:
            self.data = {"name": f"texts drawn for {self.texts}"} | self.data

    def usual_epochs(self) -> float | None:
        """Return 2 epochs for the texts that are drawn; else as any task."""
        return _EPOCHS_OF_DRAWN if self.is_drawn else super().usual_epochs()


class RecallLines(LineForm):
    """Lines of a text whose next word is asked for, or the words at places of it."""

    def check(self, fields: Mapping[str, Any]) -> None:
        """Check that a row has words, and places of them if it names any."""
        check_recall(fields, fields.get("answers") is not None)

    def line_of(self, fields: Mapping[str, Any], prediction: Mapping[str, Any]) -> str:
        """Return the place and the text that it belongs to."""
        return f"word {prediction['place']} of: {fields['text']}"


class SyntheticRecall(Task[SyntheticRecallRecipe]):
    """The task of predicting the answers in texts; its data are `Rows` of `text` and `answers`.

    >>> [measure.key for measure in SyntheticRecall().measures(SyntheticRecallRecipe())]
    ['accuracy', 'text_accuracy']
    """

    name = "synthetic_recall"
    auto_class = AutoModelForCausalLM
    pipeline_tag = "text-generation"
    items = "answers"
    script = "train_recall.py"
    next_command = "hf-lecture predict {} < texts.txt"
    recipe_class: ClassVar[type[SyntheticRecallRecipe]] = SyntheticRecallRecipe
    settings_class = RecallSettings
    line_form = RecallLines("texts whose next word is asked for", optional=("answers",))

    def is_for(self, model: Any) -> bool:
        """Return whether the model was trained for this task: it is a language model like any other."""
        return task_file_of(model.config).get("name") == self.name

    def measures(self, settings: RecallSettings) -> tuple[Measure, ...]:
        """Return the accuracy of answers, and of texts."""
        return (
            Measure("accuracy", "accuracy of answers", lower_is_better=False),
            Measure("text_accuracy", "texts with right answers alone", lower_is_better=False, variant_of="accuracy"),
        )

    def read(self, recipe: SyntheticRecallRecipe, part: str) -> Rows | None:
        """Read or draw the rows of the part."""
        return read_recall(recipe, part)

    def hold_out(self, data: Rows, recipe: SyntheticRecallRecipe) -> tuple[Rows, Rows | None, HeldOut | None]:
        """Split texts as all tasks do; where they are drawn, those to validate on are drawn, too."""
        return (data, None, None) if recipe.is_drawn else super().hold_out(data, recipe)

    def split_keys(self, recipe: SyntheticRecallRecipe, data: Rows) -> SplitKeys:
        """Keep equal texts on one side."""
        return keys_of_rows(data, {"text": data.columns["text"]})

    def processor(self, recipe: SyntheticRecallRecipe, data: Rows) -> Any:
        """Return the tokenizer, for each of whose tokens there is one word."""
        return tokenizer_for(recipe, data.columns["text"])

    def model(self, recipe: SyntheticRecallRecipe, processor: Any, data: Rows) -> Any:
        """Return the language model; a checkpoint must have all of its weights."""
        auto_class = recipe.auto_class()
        if not recipe.from_pretrained:
            return make_model(auto_class, recipe.model, processor, recipe.seed)
        model, new = load_checkpoint(auto_class, recipe.from_pretrained, recipe.seed)
        if new:
            raise ValueError(f"{recipe.from_pretrained} lacks weights of {type(model).__name__}: {', '.join(new[:5])}")
        return model

    def batches(self, model: Any, processor: Any, data: Rows, recipe: SyntheticRecallRecipe) -> Batches:
        """Return batches of texts in a new order each epoch."""
        texts = self.encode(model, processor, data, recipe).inputs
        collate = RecallCollator(texts, _padding(processor), recipe.masked)
        return ShuffledBatches(len(texts), collate, recipe.batch_size, recipe.seed)

    def training_options(self, model: Any, recipe: SyntheticRecallRecipe) -> dict[str, Any]:
        """Turn off the cache, and logits that the loss does not need."""
        options: dict[str, Any] = {} if recipe.masked else {"use_cache": False}
        if trait(model, "loss_without_logits") and not recipe.masked:
            options["logits_to_keep"] = 1
        return {"forward_options": options}

    def encode(self, model: Any, processor: Any, data: Rows, settings: RecallSettings) -> Encoded:
        """Encode the texts; without answers, the word after each text is the one to predict.

        Raises:
            ValueError: the tokenizer belongs to another model, lacks `<s>` or a mask, or has not one token for each
                word; it does not know an answer; or a text is too long for the model.
        """
        check_tokenizer(model, processor)
        texts = encode_recall(processor, data, settings.masked)
        longest, limit = max(range(len(texts)), key=lambda row: len(texts[row].ids)), input_limit(model)
        if limit is not None and len(texts[longest].ids) > limit:
            raise ValueError(
                f"{data.where(longest)} has {len(texts[longest].ids)} tokens, and the model reads at most {limit}: "
                "take shorter texts, or raise model.max_position_embeddings"
            )
        return Encoded(data, texts, [text.answers for text in texts] if "answers" in data.columns else None)

    def predict(
        self, model: Any, processor: Any, encoded: Encoded, batch_size: int = _EVALUATION_BATCH
    ) -> list[torch.Tensor]:
        """Return the probabilities of all tokens at each place of each text, (places, vocab) each, float32, CPU."""

        def predict_batch(texts: list[RecallText]) -> list[torch.Tensor]:
            ids, mask = pad_rows([text.ids for text in texts], _padding(processor))
            given = {"input_ids": ids.to(model.device)}
            if not mask.all():
                given["attention_mask"] = mask.to(model.device)
            logits = model(**given).logits
            return [logits[row, text.places].float().softmax(-1).cpu() for row, text in enumerate(texts)]

        return predict_by_length(model, encoded.inputs, predict_batch, batch_size, lambda text: len(text.ids))

    def measure(self, model: Any, processor: Any, encoded: Encoded, settings: RecallSettings) -> dict[str, Any]:
        """Return the share of right answers and of texts with right answers alone, and the numbers of both."""
        right = self.right_answers(model, processor, encoded)
        answers = list(chain.from_iterable(right))
        return {
            "accuracy": sum(answers) / len(answers),
            "text_accuracy": sum(map(all, right)) / len(right),
            "answers": len(answers),
            "texts": len(right),
        }

    def right_answers(self, model: Any, processor: Any, encoded: Encoded) -> list[list[bool]]:
        """Return for each answer of each text whether it is the most probable token of all."""
        found = self.predict(model, processor, encoded)
        return [
            (own.argmax(-1) == torch.tensor(text.answers)).tolist()
            for own, text in zip(found, encoded.inputs, strict=True)
        ]

    def predictions(
        self, model: Any, processor: Any, data: Rows, settings: RecallSettings, options: PredictionOptions
    ) -> list[list[dict[str, Any]]]:
        """Return the most probable words at the first place of each text, then at the next, with their places."""
        encoded = self.encode(model, processor, data, settings)
        names = processor.convert_ids_to_tokens(range(model.config.vocab_size))
        return [
            [
                {"place": place, **word}
                for place, own in zip(text.places, found, strict=True)
                for word in best_classes(own, names, options.top_k or 1)
            ]
            for text, found in zip(
                encoded.inputs, self.predict(model, processor, encoded, options.batch_size), strict=True
            )
        ]

    def describe(self, model: Any, settings: RecallSettings, data: Any = None) -> dict[str, Any]:
        """Describe the task; Auto class and pipeline are those of masked or of causal language models."""
        tag = "fill-mask" if settings.masked else self.pipeline_tag
        own = {"auto_class": settings.auto_class().__name__, "pipeline_tag": tag}
        return super().describe(model, settings, data) | own

    def write_predictions(self, model: Any, processor: Any, data: Rows, settings: RecallSettings, folder: Path) -> Path:
        """Write lines {"idx", "answers"}: the number of a row, and the predicted words at its places."""
        found = self.predictions(model, processor, data, settings, PredictionOptions())
        lines = [{"idx": row, "answers": [word["label"] for word in own]} for row, own in enumerate(found)]
        return write_file(folder / "predictions.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))


class RecallCollator:
    """Collate texts; each answer is an item.

    Args:
        padding: the id of padding.
        masked: the model is a masked one, whose outputs predict the words at their own places.
    """

    def __init__(self, texts: Sequence[RecallText], padding: int, masked: bool) -> None:
        self.texts, self.padding, self.masked = texts, padding, masked

    def __call__(self, rows: np.ndarray) -> Batch:
        """Return the texts, padded on the right; an empty place (-1) is a text without answers."""
        texts = [self.texts[max(row, 0)] for row in rows.tolist()]
        ids, mask = pad_rows([text.ids for text in texts], self.padding)
        labels = torch.full_like(ids, NOT_COUNTED)
        for index, (row, text) in enumerate(zip(rows.tolist(), texts, strict=True)):
            if row >= 0:
                labels[index, text.places] = torch.tensor(text.answers)
        inputs = {"input_ids": ids, **({"labels": labels} if self.masked else make_labels(labels))}
        if not mask.all():
            inputs["attention_mask"] = mask
        return Batch(inputs, int((labels != NOT_COUNTED).sum()))


def encode_recall(tokenizer: Any, data: Rows, masked: bool) -> list[RecallText]:
    """Encode texts with the places of their answers, or else of the word after them.

    Raises:
        ValueError: the tokenizer lacks `<s>` or a mask, has not one token for each word, or does not know an answer.
    """
    first = tokenizer.mask_token_id if masked else tokenizer.bos_token_id
    if first is None:
        needs = "a mask (tokenizer.template roberta)" if masked else "a token to begin a text with"
        raise ValueError(f"{type(tokenizer).__name__} has no token that the model needs: {needs}")
    texts = data.texts("text")
    encoded = tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)["input_ids"]
    places = data.columns.get("answers") or [None] * len(texts)
    found = []
    for index, (text, ids, own) in enumerate(zip(texts, encoded, places, strict=True)):
        words = text.split()
        if len(ids) != len(words):
            raise ValueError(
                f"{data.where(index)} has {len(words)} words and {len(ids)} tokens: recall needs one token for each "
                "word; tokenizer.type word has it"
            )
        answers = [] if own is None else [ids[place] for place in own]
        if tokenizer.unk_token_id in answers:
            unknown = words[own[answers.index(tokenizer.unk_token_id)]]
            raise ValueError(f"{data.where(index)}: the tokenizer does not know the answer {unknown!r}")
        asked = [len(ids)] if own is None else own
        if masked:
            read = [first if place in {*asked} else id_ for place, id_ in enumerate([*ids, *[first] * (own is None)])]
        else:
            read = [first, *ids[: asked[-1]]]
        found.append(RecallText(read, list(asked), answers))
    return found


def _padding(tokenizer: Any) -> int:
    return tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
