# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What `hf-lecture predict` does with each kind of head: what it reads in a line, and what it prints.

Every result is a JSON object: the input, and `predictions`, a list of objects. Shown to people, a prediction is
label<TAB>score<TAB>text.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageClassification,
    AutoModelForMaskedLM,
    AutoModelForMultipleChoice,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)
from transformers import pipeline as make_pipeline

from hf_lecture_models.batches.pixels import Normalization
from hf_lecture_models.data.choice_rows import check_choices
from hf_lecture_models.data.files import is_table
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.evaluation.entities import OUTSIDE, UNREAD, find_entities
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.io.auto_classes import learns_next_sentences, model_classes
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.io.task_file import saved_settings, task_file_of
from hf_lecture_models.loading import check_location, load_model
from hf_lecture_models.tasks.image_classification import predict as predict_images
from hf_lecture_models.tasks.images import pixels_for
from hf_lecture_models.tasks.inputs import encode_inputs
from hf_lecture_models.tasks.labels import classes_of
from hf_lecture_models.tasks.multiple_choice import encode_choices
from hf_lecture_models.tasks.multiple_choice import predict as predict_choices
from hf_lecture_models.tasks.question_answering import QuestionAnsweringRecipe, cut_questions
from hf_lecture_models.tasks.question_answering import predict as predict_answers
from hf_lecture_models.tasks.registry import TASKS
from hf_lecture_models.tasks.tagged_sentences import encode_sentences, predict_words
from hf_lecture_models.tasks.text_classification import TextClassificationRecipe, encode_examples
from hf_lecture_models.tasks.text_classification import predict as predict_classes

Result = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """A line of a file.

    Attributes:
        file: its name, or "standard input".
        number: from 1.
    """

    file: str
    number: int
    text: str

    @property
    def where(self) -> str:
        """File and number, for messages."""
        return f"{self.file}, line {self.number}"


@dataclass(frozen=True)
class Options:
    """What the command line says, as `cli.predict.run` explains it."""

    name: str
    batch_size: int
    jsonl: bool
    top_k: int | None
    aggregate: bool
    max_length: int | None
    fields: Mapping[str, str]


class Head(ABC):
    """A kind of head.

    Attributes:
        auto_class: what loads its models.
        task: the name of the task that measures its models; its settings are saved with them, and it reads tables.
        form: what its lines hold, in words.
        fields: of the JSON object that a line may be, with their types.
        optional: texts that it may have, too.
        pipeline_tag: the pipeline that serves, where one does.
        needs_json: whether its lines are JSON objects in any case.
        usual: how many predictions are printed where the command line does not say it; 0: there is no such choice.
    """

    auto_class: ClassVar[Any]
    task: ClassVar[str]
    form: ClassVar[str] = "texts"
    fields: ClassVar[dict[str, type]] = {"text": str}
    optional: ClassVar[tuple[str, ...]] = ()
    needs_json: ClassVar[bool] = False
    usual: ClassVar[int] = 1
    pipeline_tag: ClassVar[str] = ""

    def __init__(self, model: Any, tokenizer: Any, options: Options) -> None:
        self.model, self.tokenizer, self.options = model, tokenizer, options
        self.is_json = options.jsonl or self.needs_json
        if options.top_k is not None and not self.usual:
            raise ValueError(f"{type(model).__name__} gives one tag for each word: leave --top-k out")
        if options.aggregate and self.usual:
            raise ValueError(f"{type(model).__name__} finds no entities: leave --aggregate out")
        self.top_k = options.top_k or self.usual
        self.settings = saved_settings(model.config, self.task)
        self.max_length = self.settings.get("max_length") if options.max_length is None else options.max_length

    def reads_table(self, file: str) -> bool:
        """Return whether a file is a table by its name; it is then not read line by line."""
        is_lines = self.is_json and file.removesuffix(".gz").lower().endswith(".jsonl")
        return file != "-" and is_table(file) and not is_lines and not self.options.jsonl

    def predict_table(self, file: str) -> list[Result]:
        """The results for the rows of a table, whose columns are those by which the model was trained and measured.

        Raises:
            ValueError, OSError: as reading the data of the task.
        """
        task, name = TASKS[self.task], self.options.name
        is_folder = Path(name).is_dir()
        facts = facts_of(name, self.model, self.tokenizer) if is_folder else {"task": task_file_of(self.model.config)}
        recipe = replace(task.recipe_of(facts), predict_files=[file], predict_split="", dataset_name="")
        recipe = load_recipe(None, vars(recipe) | dict(self.options.fields), recipe_class=type(recipe))
        rows = self.as_rows(task.read(recipe, "predict"), file)
        predictions = self.predict_rows(rows) if len(rows) else []
        return [self.shown(row) | {"predictions": own} for row, own in zip(rows[:], predictions, strict=True)]

    def as_rows(self, data: Any, file: str) -> Rows:
        """Return the rows that the task has read."""
        return data if isinstance(data, Rows) else Rows({"text": list(data)}, [(file, len(data))])

    def shown(self, row: Result) -> Result:
        """The input in a result, of a row of a table."""
        return {name: row[name] for name in ("id", *self.fields, *self.optional) if row.get(name) is not None}

    def predict(self, lines: Sequence[Line]) -> list[Result]:
        """The results of lines; blank ones between JSON objects have none.

        Raises:
            ValueError: one cannot be read; the message says which.
        """
        lines = [line for line in lines if line.text.strip() or not self.is_json]
        inputs = [self.read_json(line) if self.is_json else self.read_text(line) for line in lines]
        results = [given | {"predictions": []} for given in inputs]
        filled = {index: tuple(given) for index, given in enumerate(inputs) if not self.is_empty(given)}
        for columns in dict.fromkeys(filled.values()):  # a pair of texts is encoded unlike a text
            chosen = [index for index, own in filled.items() if own == columns]
            rows = Rows(
                {name: [inputs[index][name] for index in chosen] for name in columns},
                [(lines[index].file, 1) for index in chosen],
                [[lines[index].number] for index in chosen],
            )
            for index, predictions in zip(chosen, self.predict_rows(rows), strict=True):
                results[index]["predictions"] = predictions
        return results

    def is_empty(self, given: Result) -> bool:
        """Whether there is nothing to predict for a line, and the model need not read it."""
        return False

    def read_text(self, line: Line) -> Result:
        """The fields of a line of text."""
        return {"text": line.text}

    def read_json(self, line: Line) -> Result:
        """The fields of a line that is a JSON object; others that it has are not read.

        Raises:
            ValueError: it is none, or a field is missing or of another type.
        """
        try:
            given = json.loads(line.text)
        except ValueError as error:
            raise ValueError(f"{line.where} is no JSON: {error}") from None
        if not isinstance(given, dict):
            raise ValueError(f"{line.where} is no JSON object, which has the fields {', '.join(self.fields)}")
        known = self.fields | {name: str for name in self.optional if given.get(name) is not None}
        for name, kind in known.items():
            if name not in given:
                raise ValueError(f"{line.where} has no field {name}, only {', '.join(given) or 'none'}")
            if not isinstance(given[name], kind):
                raise ValueError(f"{line.where}: {name} is {given[name]!r}, no {'text' if kind is str else 'list'}")
        return {name: given[name] for name in known}

    @cached_property
    def pipeline(self) -> Any:
        """The pipeline `pipeline_tag`."""
        tokenizer = self.tokenizer
        if self.max_length is not None:
            tokenizer = copy(tokenizer)
            tokenizer.model_max_length = self.max_length  # where some pipelines cut what is longer
        tag: Any = self.pipeline_tag  # transformers' annotation knows its own ones alone
        return make_pipeline(tag, model=self.model, tokenizer=tokenizer, device=self.model.device)

    @abstractmethod
    def predict_rows(self, rows: Rows) -> list[list[Result]]:
        """The predictions for each row, objects with `label`, `score` and perhaps others."""

    def show(self, result: Result) -> str:
        """A result as people read it: a line of label, score and text for each prediction."""
        lines = (
            f"{found['label']}\t{found['score']:.4f}\t{self.text_of(result, found)}" for found in result["predictions"]
        )
        return "\n".join(" ".join(line.split("\n")) for line in lines)

    def text_of(self, result: Result, prediction: Result) -> str:
        """What stands behind a prediction's score."""
        return str(prediction["text"])


class TextClassification(Head):
    """Classes of texts and pairs, with the probabilities of transformers' pipeline; numbers, with no label."""

    auto_class = AutoModelForSequenceClassification
    task = "text_classification"
    form = "texts, or pairs with a tab between them"
    optional = ("text_pair",)

    def read_text(self, line: Line) -> Result:
        """A text, or a pair of them."""
        text, tab, pair = line.text.partition("\t")
        return {"text": text, **({"text_pair": pair} if tab else {})}

    def predict_rows(self, rows: Rows) -> list[list[Result]]:
        """The most probable classes."""
        recipe = TextClassificationRecipe(max_length=self.max_length)
        examples = encode_examples(self.model, self.tokenizer, rows, recipe)
        logits = predict_classes(self.model, self.tokenizer, examples, self.options.batch_size)
        return [_best(scores, classes_of(self.model.config), self.top_k) for scores in self._scores(logits)]

    def _scores(self, logits: torch.Tensor) -> torch.Tensor:
        kind, classes = self.model.config.problem_type, logits.shape[-1]
        if kind == "regression":
            return logits
        return logits.sigmoid() if kind == "multi_label_classification" or classes == 1 else logits.softmax(-1)

    def text_of(self, result: Result, prediction: Result) -> str:
        """The line."""
        return "\t".join(result[name] for name in ("text", "text_pair") if name in result)


class TokenClassification(Head):
    """Tags of words, or entities."""

    auto_class = AutoModelForTokenClassification
    task = "token_classification"
    form = "sentences, with blanks between the words"
    usual = 0

    def is_empty(self, given: Result) -> bool:
        """Whether a sentence has no word."""
        return not given["text"].strip()

    def shown(self, row: Result) -> Result:
        """The words of a sentence as one text."""
        return {"text": " ".join(row["tokens"])}

    def predict_rows(self, rows: Rows) -> list[list[Result]]:
        """Each word with its tag, None where no token of it is read; or the entities of each text."""
        sentences = rows.columns.get("tokens") or [text.split() for text in rows.texts("text")]
        texts = rows.columns.get("text") or [" ".join(words) for words in sentences]
        words = Rows({"tokens": sentences}, rows.sources, rows.lines)
        encoded = encode_sentences(self.model, self.tokenizer, words, self.max_length)
        found = predict_words(self.model, self.tokenizer, encoded, self.options.batch_size)
        names = {UNREAD: None, **dict(enumerate(classes_of(self.model.config)))}
        tagged = [
            [{"word": word, "label": names[tag], "score": score} for word, (tag, score) in zip(*pair, strict=True)]
            for pair in zip(sentences, found, strict=True)
        ]
        if self.options.aggregate:
            return [_entities(text, own) for text, own in zip(texts, tagged, strict=True)]
        return [[{"word": one["word"], "label": one["label"]} for one in own] for own in tagged]

    def show(self, result: Result) -> str:
        """A line for each word or entity, and a blank one behind them."""
        if self.options.aggregate:
            return f"{super().show(result)}\n".lstrip("\n")
        return "".join(f"{found['word']}\t{found['label'] or '-'}\n" for found in result["predictions"])


class MaskedLM(Head):
    """Words in the place of masks."""

    auto_class = AutoModelForMaskedLM
    task = "masked_lm"
    usual = 5
    pipeline_tag = "fill-mask"

    def predict_rows(self, rows: Rows) -> list[list[Result]]:
        """The most probable tokens of the first mask, then of the next."""
        texts, length = rows.texts("text"), self.max_length
        encoded = encode_inputs(self.model, self.tokenizer, rows, texts, max_length=length)
        for index, ids in enumerate(encoded["input_ids"]):
            if self.tokenizer.mask_token_id not in ids:
                where, mask = rows.where(index), self.tokenizer.mask_token
                raise ValueError(f"{where} has no mask that is read: write {mask} for the word that is asked for")
        cut = {} if length is None else {"truncation": True, "max_length": length}
        found = self.pipeline(texts, top_k=self.top_k, tokenizer_kwargs=cut, batch_size=self.options.batch_size)
        found = [found] if len(texts) == 1 else found  # as this pipeline has it
        return [
            [
                {"mask": number, "label": token["token_str"], "score": token["score"], "text": token["sequence"]}
                for number, tokens in enumerate(masks if isinstance(masks[0], list) else [masks])
                for token in tokens
            ]
            for masks in found
        ]


class MultipleChoice(Head):
    """Which of several choices goes with a context."""

    auto_class = AutoModelForMultipleChoice
    task = "multiple_choice"
    form = 'JSON objects {"context": ..., "choices": [...]}'
    fields: ClassVar[dict[str, type]] = {"context": str, "choices": list}
    needs_json = True

    def read_json(self, line: Line) -> Result:
        """A context with its choices."""
        given = super().read_json(line)
        try:
            check_choices(given["choices"])
        except ValueError as error:
            raise ValueError(f"{line.where}: {error}") from None
        return given

    def predict_rows(self, rows: Rows) -> list[list[Result]]:
        """The numbers of the best choices, with their probabilities."""
        examples = encode_choices(self.model, self.tokenizer, rows, self.max_length)
        scores = predict_choices(self.model, self.tokenizer, examples, self.options.batch_size)
        return [
            [found | {"text": choices[found["label"]]} for found in _best(own.softmax(-1), range(len(own)), self.top_k)]
            for choices, own in zip(rows.columns["choices"], scores, strict=True)
        ]


class QuestionAnswering(Head):
    """The piece of a context that answers a question, or "" where the model was measured on such that have no answer.

    The answers are those of `predictions.json`, by the settings that were saved with the model.
    """

    auto_class = AutoModelForQuestionAnswering
    task = "question_answering"
    form = 'JSON objects {"question": ..., "context": ...}'
    fields: ClassVar[dict[str, type]] = {"question": str, "context": str}
    needs_json = True

    def read_json(self, line: Line) -> Result:
        """A question with its context."""
        given = super().read_json(line)
        empty = next((name for name, text in given.items() if not text.strip()), None)
        if empty is not None:
            raise ValueError(f"{line.where}: {empty} is empty")
        return given

    def predict_rows(self, rows: Rows) -> list[list[Result]]:
        """The most probable answers, pieces of their contexts."""
        task = TASKS[self.task]
        fields = task.recipe_fields(self.settings)
        if self.max_length is not None:
            fields["max_length"] = self.max_length
        recipe = QuestionAnsweringRecipe(**fields)
        recipe.n_best_size = max(recipe.n_best_size, self.top_k)
        windows, texts = cut_questions(self.model, self.tokenizer, rows, recipe), rows.texts("context")
        may_be_none = bool(self.settings.get("no_answer"))
        batch_size = self.options.batch_size
        found = predict_answers(self.model, self.tokenizer, windows, texts, recipe, may_be_none, batch_size)
        return [
            [
                {"label": text[one.start : one.end], "score": score, "start": one.start, "end": one.end}
                for one, score in own.choices()[: self.top_k]
            ]
            for text, own in zip(texts, found, strict=True)
        ]

    def text_of(self, result: Result, prediction: Result) -> str:
        """The question."""
        return result["question"]


class ImageClassification(Head):
    """Classes of images, with their probabilities."""

    auto_class = AutoModelForImageClassification
    task = "image_classification"
    form = "paths of images"
    fields = {"image": str}

    def __init__(self, model: Any, processor: Any, options: Options) -> None:
        super().__init__(model, processor, options)
        if options.max_length is not None:
            raise ValueError(f"{type(model).__name__} reads no tokens: leave --max-length out")

    def read_text(self, line: Line) -> Result:
        """The path of a file."""
        return {"image": line.text.strip()}

    def shown(self, row: Result) -> Result:
        """The path of an image; of one that stands in the table itself, nothing."""
        return {"image": row["image"] if isinstance(row["image"], str) else ""}

    def predict_rows(self, rows: Rows) -> list[list[Result]]:
        """The most probable classes."""
        pixels = pixels_for(self.model, self.tokenizer, rows)
        logits = predict_images(self.model, Normalization(self.tokenizer), pixels, self.options.batch_size)
        return [_best(scores, classes_of(self.model.config), self.top_k) for scores in logits.softmax(-1)]

    def text_of(self, result: Result, prediction: Result) -> str:
        """The path."""
        return result["image"]


def _entities(text: str, words: Sequence[Result]) -> list[Result]:
    """The entities of a sentence, as they are measured; their score is the mean of their words' probabilities."""
    ends, end = [], 0
    for word in words:
        end = text.index(word["word"], end) + len(word["word"])
        ends.append(end)
    found = []
    for entity in find_entities([word["label"] or OUTSIDE for word in words]):
        start, end = ends[entity.first] - len(words[entity.first]["word"]), ends[entity.last]
        scores = [word["score"] for word in words[entity.first : entity.last + 1]]
        own: Result = {"label": entity.kind, "score": sum(scores) / len(scores), "text": text[start:end]}
        found.append(own | {"start": start, "end": end})
    return found


def _best(scores: torch.Tensor, labels: Sequence[Any], top_k: int) -> list[Result]:
    order = scores.argsort(descending=True, stable=True)[:top_k].tolist()
    return [{"label": labels[index], "score": scores[index].item()} for index in order]


HEADS: tuple[type[Head], ...] = (
    TextClassification,
    TokenClassification,
    MaskedLM,
    MultipleChoice,
    QuestionAnswering,
    ImageClassification,
)


def load_head(name: str, options: Options) -> Head:
    """The head of a saved model of the lectures or of transformers.

    Raises:
        ValueError: it has none of `HEADS`, or an option is not for it; or as `load_model`.
        OSError: as `load_model`.
    """
    model, tokenizer = load_model(name)
    if learns_next_sentences(model):
        model = AutoModelForMaskedLM.from_pretrained(name, local_files_only=check_location(name))
    for head in HEADS:
        if type(model) in model_classes(head.auto_class, type(model.config)):
            return head(model, tokenizer, options)
    kind = type(model).__name__
    if type(model) in model_classes(AutoModelForCausalLM, type(model.config)):
        raise ValueError(
            f"{name} holds {kind}, a language model: the verb generate continues texts, score and rank say how "
            "probable they are"
        )
    raise ValueError(
        f"{name} holds {kind}, whose outputs are no predictions of classes, tags, words, choices or answers"
    )
