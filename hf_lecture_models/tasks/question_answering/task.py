# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Questions answered by a part of a text, or left without an answer: SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018).

Long texts are read in overlapping windows. In a window without the whole answer, the first and the last token of the
answer are [CLS] (Devlin et al. 2019), or the first token if the tokenizer has no [CLS]. In this way the model learns
which texts hold no answer.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from transformers import AutoModelForQuestionAnswering

from hf_lecture_models.base.limits import check_tokenizer, longest_input
from hf_lecture_models.base.traits import trait
from hf_lecture_models.data.benchmarks import BenchmarkRecipe, benchmarks_of
from hf_lecture_models.data.holdout import SplitKeys
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.evaluation.by_length import predict_by_length
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.io.runs import best_validation, is_main_process
from hf_lecture_models.tasks.core.errors import Errors
from hf_lecture_models.tasks.core.factories import SMALL_BERT, log_once, templated_tokenizer
from hf_lecture_models.tasks.core.heads import HeadRecipe
from hf_lecture_models.tasks.core.hold_out import keys_of_rows
from hf_lecture_models.tasks.core.labels import make_head
from hf_lecture_models.tasks.core.lines import LineForm, PredictionOptions
from hf_lecture_models.tasks.core.settings import Settings, store_settings
from hf_lecture_models.tasks.core.shuffled import RowCollator, ShuffledBatches
from hf_lecture_models.tasks.core.task import Encoded, Measure, Task
from hf_lecture_models.tasks.question_answering.answers import AnswerSettings, Prediction, find_prediction
from hf_lecture_models.tasks.question_answering.baseline import NoAnswer
from hf_lecture_models.tasks.question_answering.measures import best_scores, squad
from hf_lecture_models.tasks.question_answering.rows import has_unanswerable, read_questions
from hf_lecture_models.tasks.question_answering.spans import (
    Window,
    answer_tokens,
    batch_windows,
    cut_windows,
    input_names,
    log_softmax,
)
from hf_lecture_models.tokenization.templates import require_template
from hf_lecture_models.trainer.batches import Batches

_EVALUATION_BATCH = 32
# Fields of `AnswerSettings` that recipes do not have; they are options of transformers 4.
_OF_PIPELINES = ("align_to_words", "by_window")


@dataclass(kw_only=True)
class QuestionSettings(Settings):
    """The settings of a question-answering model; `task.json` holds them as `AnswerSettings`, with its names."""

    max_length: int = setting(384, "tokens of a window, the model's longest input if that is less", least=1)
    doc_stride: int = setting(
        128,
        "tokens that neighbouring windows share; at most half of those that a question leaves for the text",
        least=0,
    )
    max_question_length: int = setting(64, "tokens of a question, longer ones are cut; at most half a window", least=1)
    max_answer_length: int = setting(30, "tokens of a predicted answer", least=1)
    n_best_size: int = setting(20, "answers to a question in nbest_predictions.json", least=1, free=True)
    version_2_with_negative: bool | None = setting(
        None, "whether a question may be left without an answer; null: if one has none in the data"
    )
    null_score_diff_threshold: float = setting(
        0.0,
        "a question has no answer if the score of none is greater by more than this than that of the best one; 0: for "
        "the test data, predictions and the saved model, the threshold that is best on the validation data",
    )

    @classmethod
    def fields_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a `task.json` under their names here."""
        names = {"no_answer": "version_2_with_negative", "no_answer_threshold": "null_score_diff_threshold"}
        return super().fields_of({names.get(n, n): value for n, value in saved.items() if value is not False})

    def to_save(self, data: Rows | None = None) -> dict[str, Any]:
        """Return the fields of `AnswerSettings`; the threshold is None until it is measured, or set in the recipe."""
        found = asdict(answer_settings(self, _may_be_none(data, self)))
        return {name: value for name, value in found.items() if name not in _OF_PIPELINES}

    @classmethod
    def measured(cls, measures: Mapping[str, Any]) -> dict[str, Any]:
        """Return the threshold for no answer with the best F1, if there were questions without an answer."""
        found = measures.get("best_f1_thresh")
        # The threshold is the score of an answered question; the margin keeps it answered after rounding errors.
        threshold = None if found is None else found + 1e-5 * max(1.0, abs(found))
        return {} if threshold is None else {"no_answer": True, "no_answer_threshold": threshold}


@dataclass(kw_only=True)
class QuestionAnsweringRecipe(QuestionSettings, HeadRecipe, BenchmarkRecipe):
    """The recipe of a question-answering model; its data have SQuAD's columns (see `read_questions`)."""

    task: str | None = setting(
        None,
        "a benchmark, whose data are those of the Hub where train_files and train_rows name none",
        choices=benchmarks_of("question_answering"),
    )
    model: dict[str, Any] = setting(
        SMALL_BERT,
        "model_type and the fields of its config; with from_pretrained, fields to change: {dropout: 0.2}",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.benchmark is not None and self.version_2_with_negative is None:
            self.version_2_with_negative = self.benchmark.has_unanswerable


class QuestionLines(LineForm):
    """Lines of a question and the text that may hold its answer."""

    def check(self, fields: Mapping[str, Any]) -> None:
        """Raise a ValueError if the question or the context is empty."""
        if empty := [name for name, text in fields.items() if not text.strip()]:
            raise ValueError(f"{empty[0]} is empty")

    def line_of(self, fields: Mapping[str, Any], prediction: Mapping[str, Any]) -> str:
        """Return the question."""
        return str(fields["question"])


class QuestionAnswering(Task[QuestionAnsweringRecipe]):
    """The task of finding answers in texts; its data are the `Rows` of `read_questions`."""

    name = "question_answering"
    auto_class = AutoModelForQuestionAnswering
    pipeline_tag = "question-answering"
    items = "windows"
    script = "finetune_squad.py"
    recipe_class: ClassVar[type[QuestionAnsweringRecipe]] = QuestionAnsweringRecipe
    settings_class = QuestionSettings
    next_command = "hf-lecture predict {} questions.jsonl"
    line_form = QuestionLines(
        'JSON objects {"question": ..., "context": ...}', {"question": str, "context": str}, needs_json=True
    )
    baseline = NoAnswer()

    def measures(self, settings: QuestionSettings) -> tuple[Measure, ...]:
        """Return F1 and exact match; if texts may hold no answer, also those of the questions with and without one."""
        labels = {"f1": "F1", "exact_match": "exact match"}
        if settings.version_2_with_negative is not False:
            labels |= {
                "HasAns_f1": "F1 of questions with an answer",
                "HasAns_exact": "exact match of questions with an answer",
                "NoAns_f1": "questions without an answer found so",
                "best_f1": "F1 with the best threshold for no answer",
                "best_exact": "exact match with the best threshold for no answer",
            }
        return tuple(Measure(key, label, lower_is_better=False) for key, label in labels.items())

    def read(self, recipe: QuestionAnsweringRecipe, part: str) -> Rows | None:
        """Read the questions of the part; training data with unanswerable questions set `version_2_with_negative`.

        Raises:
            ValueError, OSError: as `read_questions`; or a question has no answer, and the recipe says that all have.
        """
        data = read_questions(recipe, part)
        unanswerable = has_unanswerable(data)
        if data is not None and unanswerable and recipe.version_2_with_negative is False:
            index = next(index for index, answers in enumerate(data.columns["answers"]) if not answers["text"])
            raise ValueError(
                f"{data.where(index)} (question {data.columns['id'][index]}) has no answer, but "
                "version_2_with_negative is false; make it true, or leave such questions out"
            )
        if part == "train" and unanswerable:
            recipe.version_2_with_negative = True
        return data

    def split_keys(self, recipe: QuestionAnsweringRecipe, data: Rows) -> SplitKeys:
        """Keep all questions on a text on one side."""
        return keys_of_rows(data, {"context": data.columns["context"]})

    def processor(self, recipe: QuestionAnsweringRecipe, data: Rows) -> Any:
        """Return the tokenizer, with the template that the model needs."""
        texts = [*dict.fromkeys(data.columns["context"]), *data.columns["question"]]
        return templated_tokenizer(self.auto_class, recipe, texts)

    def model(self, recipe: QuestionAnsweringRecipe, processor: Any, data: Rows) -> Any:
        """Return the question-answering model; its head gives two numbers for each token."""
        if not recipe.from_pretrained:
            log_once(
                "a new model does not learn to find answers from some thousand questions: on SQuAD the F1 of a small "
                "BERT is 6 %, that of a published MiniLM named by `from_pretrained` 51 %"
            )
        return make_head(self.auto_class, recipe, processor, {"num_labels": 2})

    def batches(self, model: Any, processor: Any, data: Rows, recipe: QuestionAnsweringRecipe) -> Batches:
        """Return batches of windows in a new order each epoch; each micro-batch is padded to its longest window.

        The model learns the first of several right answers.

        Raises:
            ValueError: as `cut_questions`; or no answer fits into a window.
        """
        cut = self.encode(model, processor, data, recipe).inputs
        windows, tokens, unread = [], [], 0
        for own, answers in zip(cut, data.columns["answers"], strict=True):
            places = _answer_places(own, answers)
            unread += bool(answers["text"]) and all(places[i][0] == own[i].no_answer for i in range(len(own)))
            windows += [window.inputs for window in own]
            tokens += places
        if unread == len(cut) and not has_unanswerable(data):
            raise ValueError("no answer fits into a window; raise max_length, or check the tokenizer")
        if unread:
            log_once(
                f"{unread:,} of {len(cut):,} questions are learned as if without an answer: it fits into no window"
            )
        first, last = torch.tensor(tokens).unbind(1)
        pad = partial(batch_windows, names=input_names(model), tokenizer=processor)
        collate = RowCollator(windows, {"start_positions": first, "end_positions": last}, pad)
        return ShuffledBatches(len(windows), collate, recipe.batch_size, recipe.seed)

    def encode(self, model: Any, processor: Any, data: Rows, settings: QuestionSettings) -> Encoded:
        """Cut each text into the windows that the model reads, each with its question."""
        return Encoded(data, cut_questions(model, processor, data, settings), data.columns.get("answers"))

    def train(self, model: Any, processor: Any, data: Any, validation_data: Any, recipe: Any, **options: Any) -> Any:
        """Train as all tasks do; then store the threshold that the validation of the kept weights found."""
        result = super().train(model, processor, data, validation_data, recipe, **options)
        if is_main_process():
            record = {"metric": result.metric_name, "best_metric": result.best_metric, "history": result.history}
            store_settings(result.folder, recipe.measured(best_validation(record)))
        return result

    def predict(
        self,
        model: Any,
        processor: Any,
        encoded: Encoded,
        settings: QuestionSettings,
        batch_size: int = _EVALUATION_BATCH,
    ) -> list[Prediction]:
        """Return the best answers to each question, over all of its windows."""
        names = input_names(model)

        def predict_batch(windows: list[Window]) -> list[tuple[np.ndarray, np.ndarray]]:
            batch = batch_windows([window.inputs for window in windows], names, processor)
            outputs = model(**{name: ids.to(model.device) for name, ids in batch.items()})
            both = torch.stack([outputs.start_logits, outputs.end_logits], dim=1).float().cpu().numpy()
            return [tuple(own[:, : len(window)]) for own, window in zip(both, windows, strict=True)]

        scores = predict_by_length(model, list(chain.from_iterable(encoded.inputs)), predict_batch, batch_size)
        answering, remaining = answer_settings(settings, _may_be_none(encoded.data, settings)), iter(scores)
        return [
            find_prediction(windows, list(islice(remaining, len(windows))), text, answering)
            for windows, text in zip(encoded.inputs, encoded.data.columns["context"], strict=True)
        ]

    def answers(self, model: Any, processor: Any, encoded: Encoded, settings: QuestionSettings) -> list[dict[str, Any]]:
        """Return the best answer to each question, and how much speaks for there being none, above the threshold."""
        may_be_none, threshold = _may_be_none(encoded.data, settings), settings.null_score_diff_threshold
        found = self.predict(model, processor, encoded, settings)
        return [
            {
                "text": text[one.best.start : one.best.end],
                "no_answer_score": one.odds - threshold if may_be_none else 0.0,
            }
            for text, one in zip(encoded.data.columns["context"], found, strict=True)
        ]

    def measure_answers(
        self,
        model: Any,
        processor: Any,
        encoded: Encoded,
        answers: Sequence[Mapping[str, Any]],
        settings: QuestionSettings,
    ) -> dict[str, Any]:
        """Return the measures, the thresholds of the best ones, and the numbers of questions and windows."""
        threshold = settings.null_score_diff_threshold
        measured = squad(answers, [right["text"] for right in encoded.labels])
        for name in ("best_f1_thresh", "best_exact_thresh"):
            if name in measured:
                measured[name] += threshold
        return {**measured, "questions": len(encoded.data), "windows": sum(map(len, encoded.inputs))}

    def predictions(
        self, model: Any, processor: Any, data: Rows, settings: QuestionSettings, options: PredictionOptions
    ) -> list[list[dict[str, Any]]]:
        """Return the most probable answers to each question, pieces of its context; "" stands for no answer."""
        top_k = options.top_k or 1
        settings = replace(settings, n_best_size=max(settings.n_best_size, top_k))
        found = self.predict(
            model, processor, self.encode(model, processor, data, settings), settings, options.batch_size
        )
        return [
            [
                {"label": text[one.start : one.end], "score": score, "start": one.start, "end": one.end}
                for one, score in own.choices()[:top_k]
            ]
            for text, own in zip(data.texts("context"), found, strict=True)
        ]

    def errors(self, model: Any, processor: Any, data: Rows, settings: QuestionSettings) -> Errors:
        """Return the questions whose answer is not an exact match, with their texts and all right answers."""
        found = self.predict(model, processor, self.encode(model, processor, data, settings), settings)
        rows = []
        for row, (text, one) in enumerate(zip(data.columns["context"], found, strict=True)):
            right, own = data.columns["answers"][row]["text"], text[one.answer.start : one.answer.end]
            f1, exact = best_scores(own, right)
            answer = {"gold": right, "predicted": own, "score": one.choices()[0][1], "f1": f1}
            if not exact:
                question = data.columns["question"][row]
                rows.append({"question": question, "context": text, **answer, "where": data.where(row)})
        return Errors(sorted(rows, key=lambda row: -row["score"]), len(data))

    def write_predictions(
        self, model: Any, processor: Any, data: Rows, settings: QuestionSettings, folder: Path
    ) -> Path:
        """Write `predictions.json`, the answers by the questions' ids, for SQuAD's own script.

        Two more files are `nbest_predictions.json`, the best answers with probabilities that sum to one, and, if texts
        may hold no answer, `null_odds.json`, the score of no answer minus that of the best answer.
        """
        may_be_none = _may_be_none(data, settings)
        ids, texts = data.columns["id"], data.columns["context"]
        predictions = self.predict(model, processor, self.encode(model, processor, data, settings), settings)
        found = dict(zip(ids, predictions, strict=True))
        contexts = dict(zip(ids, texts, strict=True))
        files: dict[str, dict[str, Any]] = {
            "predictions": {own: contexts[own][one.answer.start : one.answer.end] for own, one in found.items()},
            "nbest_predictions": {own: _nbest(one, contexts[own], may_be_none) for own, one in found.items()},
        }
        if may_be_none:
            files["null_odds"] = {own: one.odds for own, one in found.items()}
        for name, content in files.items():
            write_file(folder / f"{name}.json", json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        return folder

    def describe(self, model: Any, settings: QuestionSettings, data: Rows | None = None) -> dict[str, Any]:
        """Describe the task; add whether a question may be left without an answer."""
        return super().describe(model, settings, data) | {"no_answer": _may_be_none(data, settings)}


def cut_questions(model: Any, tokenizer: Any, data: Rows, settings: QuestionSettings) -> list[list[Window]]:
    """Return the windows of each question.

    Raises:
        ValueError: the tokenizer belongs to another model, or lacks the template that the model needs, a padding token
            or the offsets of tokens; or `max_length` is too small for the question and a part of the text.
    """
    check_tokenizer(model, tokenizer)
    if tokenizer.pad_token is None:
        raise ValueError("the tokenizer has no pad_token, so windows of several lengths make no batch; set one")
    if trait(model, "text_template"):
        require_template(tokenizer, model.text_template)
    length = min(settings.max_length, longest_input(model, tokenizer))
    columns = data.columns["question"], data.columns["context"]
    return cut_windows(tokenizer, *columns, length, settings.doc_stride, settings.max_question_length)


def answer_settings(settings: QuestionSettings, may_be_none: bool) -> AnswerSettings:
    """Return the recipe's settings; its default threshold, 0, means that none is set.

    >>> answer_settings(QuestionSettings(max_answer_length=9), may_be_none=True).no_answer_threshold is None
    True
    """
    return AnswerSettings(
        max_length=settings.max_length,
        doc_stride=settings.doc_stride,
        max_question_length=settings.max_question_length,
        max_answer_length=settings.max_answer_length,
        n_best_size=settings.n_best_size,
        no_answer=may_be_none,
        no_answer_threshold=settings.null_score_diff_threshold or None,
    )


def _may_be_none(data: Rows | None, settings: QuestionSettings) -> bool:
    return has_unanswerable(data) if settings.version_2_with_negative is None else settings.version_2_with_negative


def _answer_places(windows: Sequence[Window], answers: dict[str, Any]) -> list[tuple[int, int]]:
    if not answers["text"]:
        return [(window.no_answer,) * 2 for window in windows]
    text, start = answers["text"][0], answers["answer_start"][0]
    blanks = len(text) - len(text.lstrip())
    return answer_tokens(windows, start + blanks, start + len(text.rstrip()))


def _nbest(found: Prediction, text: str, may_be_none: bool) -> list[dict[str, Any]]:
    answers = sorted([*found.answers, *([found.none] if may_be_none else [])], key=lambda answer: -answer.score)
    probabilities = np.exp(log_softmax(np.array([answer.score for answer in answers]))).tolist() if answers else []
    return [
        {
            "text": text[answer.start : answer.end],
            "probability": probability,
            "start_logit": answer.start_score,
            "end_logit": answer.end_score,
        }
        for answer, probability in zip(answers, probabilities, strict=True)
    ]
