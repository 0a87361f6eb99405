# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
# ruff: noqa: RUF009  (setting() makes fields of a dataclass)
"""The part of a text that answers a question, or that there is none: SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018).

Long texts are read in overlapping windows. In a window without the whole answer the right first and last token are
[CLS] (Devlin et al. 2019), or what stands first where the tokenizer has none; so a text without an answer is learned.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from transformers import AutoModelForQuestionAnswering

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.batches.shuffled import ShuffledBatches
from hf_lecture_models.data.benchmarks import HubData
from hf_lecture_models.data.question_rows import has_unanswerable, read_questions
from hf_lecture_models.data.recipe import RowsRecipe
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.evaluation.answer_spans import (
    Window,
    answer_tokens,
    batch_windows,
    cut_windows,
    input_names,
    log_softmax,
)
from hf_lecture_models.evaluation.answers import AnswerSettings, Prediction, find_prediction
from hf_lecture_models.io.files import staged_file
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.factories import SMALL_BERT, tell, templated_tokenizer
from hf_lecture_models.tasks.inputs import longest_input
from hf_lecture_models.tasks.labels import make_head
from hf_lecture_models.tasks.metrics import compute_all
from hf_lecture_models.tasks.task import HeadRecipe, Measure, Task
from hf_lecture_models.tokenization.templates import require_template
from hf_lecture_models.trainer.batches import Batch, Batches

if TYPE_CHECKING:
    from hf_lecture_models.trainer.loop import Evaluation

_EVALUATION_BATCH = 32
# What `AnswerSettings` has and a recipe does not: they are transformers 4's.
_OF_PIPELINES = ("align_to_words", "by_window")


@dataclass(frozen=True)
class NamedTask:
    """What follows from a benchmark's name.

    Attributes:
        hub: where its data are on the Hub.
        has_unanswerable: whether texts may hold no answer; None: the data show it.
    """

    hub: HubData
    has_unanswerable: bool | None = None


TASKS: dict[str, NamedTask] = {
    "squad": NamedTask(HubData("rajpurkar/squad", "7b6d24c440a36b6815f21b70d25016731768db1f")),
    "squad_v2": NamedTask(
        HubData("rajpurkar/squad_v2", "3ffb306f725f7d2ce8394bc1873b24868140c412"), has_unanswerable=True
    ),
}


@dataclass(kw_only=True)
class QuestionAnsweringRecipe(HeadRecipe, RowsRecipe):
    """The recipe of an answerer; its data are SQuAD's files, or have their columns (see `read_questions`)."""

    task: str | None = setting(
        None,
        "a benchmark, whose data are those of the Hub where train_files and train_rows name none",
        choices=tuple(TASKS),
    )
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
    model: dict[str, Any] = setting(
        SMALL_BERT,
        "model_type and the fields of its config; with from_pretrained, fields to change: {dropout: 0.2}",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task is not None:
            named = TASKS[self.task]
            named.hub.fill(self)
            if self.version_2_with_negative is None:
                self.version_2_with_negative = named.has_unanswerable


class QuestionAnswering(Task[QuestionAnsweringRecipe]):
    """The task of finding answers in texts; its data are `Rows` as `read_questions` gives them."""

    name = "question_answering"
    auto_class = AutoModelForQuestionAnswering
    pipeline_tag = "question-answering"
    items = "windows"
    script = "finetune_squad.py"
    recipe_class: ClassVar[type[QuestionAnsweringRecipe]] = QuestionAnsweringRecipe

    def measures(self, recipe: QuestionAnsweringRecipe) -> tuple[Measure, ...]:
        """F1 and exact match; where texts may hold no answer, also of the questions with and without one."""
        labels = {"f1": "F1", "exact_match": "exact match"}
        if recipe.version_2_with_negative is not False:
            labels |= {
                "HasAns_f1": "F1 of questions with an answer",
                "HasAns_exact": "exact match of questions with an answer",
                "NoAns_f1": "questions without an answer found so",
                "best_f1": "F1 with the best threshold for no answer",
                "best_exact": "exact match with the best threshold for no answer",
            }
        return tuple(Measure(key, label, lower_is_better=False) for key, label in labels.items())

    def read(self, recipe: QuestionAnsweringRecipe, part: str) -> Rows | None:
        """The questions of the part; those for training tell a recipe that leaves it open whether some have no answer.

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

    def processor(self, recipe: QuestionAnsweringRecipe, data: Rows) -> Any:
        """The tokenizer; the template that the model needs is added where it is missing."""
        texts = [*dict.fromkeys(data.columns["context"]), *data.columns["question"]]
        return templated_tokenizer(self.auto_class, recipe, texts)

    def model(self, recipe: QuestionAnsweringRecipe, processor: Any, data: Rows) -> Any:
        """The answerer, whose head has two numbers for each token, whatever classes a checkpoint told apart."""
        return make_head(self.auto_class, recipe, processor, {"num_labels": 2})

    def batches(self, model: Any, processor: Any, data: Rows, recipe: QuestionAnsweringRecipe) -> Batches:
        """Windows in a new order each epoch; each micro-batch is padded to its longest one.

        Of several right answers the first is learned.

        Raises:
            ValueError: as `cut_questions`; or the model cannot read a token of any answer.
        """
        cut = cut_questions(model, processor, data, recipe)
        windows, tokens, unread = [], [], 0
        for own, answers in zip(cut, data.columns["answers"], strict=True):
            places = _answer_places(own, answers)
            unread += bool(answers["text"]) and all(places[i][0] == own[i].no_answer for i in range(len(own)))
            windows += [window.inputs for window in own]
            tokens += places
        if unread == len(cut) and not has_unanswerable(data):
            raise ValueError("no answer fits into a window; raise max_length, or check the tokenizer")
        if unread:
            tell(f"{unread:,} of {len(cut):,} questions are learned as if without an answer: it fits into no window")
        collate = WindowCollator(windows, tokens, input_names(model), processor)
        return ShuffledBatches(len(windows), collate, recipe.batch_size, recipe.seed)

    def evaluate(self, model: Any, processor: Any, data: Rows, recipe: QuestionAnsweringRecipe) -> dict[str, Any]:
        """The measures, the thresholds of the best ones, and how many questions and windows there are."""
        return self._measured(model, processor, cut_questions(model, processor, data, recipe), data, recipe)

    def evaluation(
        self, model: Any, processor: Any, data: Rows | None, recipe: QuestionAnsweringRecipe
    ) -> "Evaluation | None":
        """As of any task; the windows are cut once."""
        evaluation = super().evaluation(model, processor, data, recipe)
        if data is None or evaluation is None:
            return None
        windows = cut_questions(model, processor, data, recipe)
        measure = partial(self._measured, processor=processor, windows=windows, data=data, recipe=recipe)
        return replace(evaluation, measure=measure)

    def settings(self, recipe: QuestionAnsweringRecipe, data: Rows | None = None) -> dict[str, Any]:
        """The fields of `AnswerSettings`; the threshold is None until one is measured, or the recipe gives one."""
        found = asdict(answer_settings(recipe, _may_be_none(data, recipe)))
        return {name: value for name, value in found.items() if name not in _OF_PIPELINES}

    def measured_settings(self, measured: Mapping[str, Any]) -> dict[str, Any]:
        """Return the threshold for no answer with the best F1, where there were questions without an answer."""
        found = measured.get("best_f1_thresh")
        # It is the score of a question that is answered, and stays so where another batch rounds otherwise.
        threshold = None if found is None else found + 1e-5 * max(1.0, abs(found))
        return {} if threshold is None else {"no_answer": True, "no_answer_threshold": threshold}

    def recipe_fields(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the saved settings as fields of a recipe, by its names."""
        names = {"no_answer": "version_2_with_negative", "no_answer_threshold": "null_score_diff_threshold"}
        return super().recipe_fields({names.get(n, n): value for n, value in settings.items() if value is not False})

    def _measured(
        self,
        model: Any,
        processor: Any,
        windows: Sequence[Sequence[Window]],
        data: Rows,
        recipe: QuestionAnsweringRecipe,
    ) -> dict[str, Any]:
        may_be_none = _may_be_none(data, recipe)
        texts = data.columns["context"]
        predictions = [
            {
                "text": text[found.best.start : found.best.end],
                "no_answer_score": found.odds - recipe.null_score_diff_threshold if may_be_none else 0.0,
            }
            for text, found in zip(texts, predict(model, processor, windows, texts, recipe), strict=True)
        ]
        measured = compute_all("squad", predictions, [answers["text"] for answers in data.columns["answers"]])
        for name in ("best_f1_thresh", "best_exact_thresh"):
            if name in measured:
                measured[name] += recipe.null_score_diff_threshold
        return {**measured, "questions": len(data), "windows": sum(map(len, windows))}

    def check_predict_data(self, model: Any, processor: Any, data: Rows, recipe: QuestionAnsweringRecipe) -> None:
        """Cut the windows.

        Raises:
            ValueError: as `cut_questions`.
        """
        cut_questions(model, processor, data, recipe)

    def write_predictions(
        self, model: Any, processor: Any, data: Rows, recipe: QuestionAnsweringRecipe, folder: Path
    ) -> Path:
        """Write `predictions.json`, the answers by the questions' ids, as SQuAD's own script takes them.

        Beside it stand `nbest_predictions.json`, the best answers with their probabilities among each other, and, where
        texts may hold no answer, `null_odds.json`, by how much the score of none is greater than that of the best one.
        """
        may_be_none = _may_be_none(data, recipe)
        windows = cut_questions(model, processor, data, recipe)
        ids, texts = data.columns["id"], data.columns["context"]
        found = dict(zip(ids, predict(model, processor, windows, texts, recipe, may_be_none), strict=True))
        contexts = dict(zip(ids, texts, strict=True))
        files: dict[str, dict[str, Any]] = {
            "predictions": {own: contexts[own][one.answer.start : one.answer.end] for own, one in found.items()},
            "nbest_predictions": {own: _nbest(one, contexts[own], may_be_none) for own, one in found.items()},
        }
        if may_be_none:
            files["null_odds"] = {own: one.odds for own, one in found.items()}
        for name, content in files.items():
            with staged_file(folder / f"{name}.json") as path:
                path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return folder

    def describe(self, model: Any, recipe: QuestionAnsweringRecipe, data: Rows | None = None) -> dict[str, Any]:
        """As of any task, and whether the model may find no answer."""
        return super().describe(model, recipe, data) | {"no_answer": _may_be_none(data, recipe)}


def cut_questions(model: Any, tokenizer: Any, data: Rows, recipe: QuestionAnsweringRecipe) -> list[list[Window]]:
    """The windows of each question.

    Raises:
        ValueError: the tokenizer belongs to another model, lacks the template that it needs, pads nothing or does not
            say where its tokens stand; or `max_length` leaves no room.
    """
    check_tokenizer(model, tokenizer)
    if tokenizer.pad_token is None:
        raise ValueError("the tokenizer has no pad_token, so windows of several lengths make no batch; set one")
    if getattr(model, "text_template", None):
        require_template(tokenizer, model.text_template)
    length = int(min(recipe.max_length, longest_input(model, tokenizer)))
    columns = data.columns["question"], data.columns["context"]
    return cut_windows(tokenizer, *columns, length, recipe.doc_stride, recipe.max_question_length)


def answer_settings(recipe: QuestionAnsweringRecipe, may_be_none: bool) -> AnswerSettings:
    """The recipe's settings; 0, the default of its threshold, leaves the threshold open.

    >>> answer_settings(QuestionAnsweringRecipe(max_answer_length=9), may_be_none=True).no_answer_threshold is None
    True
    """
    return AnswerSettings(
        max_length=recipe.max_length,
        doc_stride=recipe.doc_stride,
        max_question_length=recipe.max_question_length,
        max_answer_length=recipe.max_answer_length,
        n_best_size=recipe.n_best_size,
        no_answer=may_be_none,
        no_answer_threshold=recipe.null_score_diff_threshold or None,
    )


@torch.no_grad()
def predict(
    model: Any,
    tokenizer: Any,
    windows: Sequence[Sequence[Window]],
    texts: Sequence[str],
    recipe: QuestionAnsweringRecipe,
    may_be_none: bool = False,
    batch_size: int = _EVALUATION_BATCH,
) -> list[Prediction]:
    """The best answers to each question, over all of its windows.

    Windows of like length go through the model together.

    Args:
        may_be_none: a question may be left without an answer.
    """
    settings = answer_settings(recipe, may_be_none)
    flat = [window for own in windows for window in own]
    scores = list(_scores(model, tokenizer, flat, batch_size))
    found, place = [], 0
    for own, text in zip(windows, texts, strict=True):
        found.append(find_prediction(own, scores[place : place + len(own)], text, settings))
        place += len(own)
    return found


def _scores(
    model: Any, tokenizer: Any, windows: Sequence[Window], batch_size: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The scores of each window's tokens as the first and the last one of the answer, in the order of the windows."""
    order = sorted(range(len(windows)), key=lambda row: len(windows[row]))
    found: list[tuple[np.ndarray, np.ndarray]] = [(np.empty(0), np.empty(0))] * len(windows)
    names = input_names(model)
    with evaluation_mode(model):
        for first in range(0, len(order), batch_size):
            rows = order[first : first + batch_size]
            batch = batch_windows([windows[row].inputs for row in rows], names, tokenizer)
            outputs = model(**{name: ids.to(model.device) for name, ids in batch.items()})
            both = torch.stack([outputs.start_logits, outputs.end_logits]).float().cpu().numpy()
            for place, row in enumerate(rows):
                start, end = both[:, place, : len(windows[row])]
                found[row] = start, end
    return iter(found)


class WindowCollator:
    """The collator of windows, each of which is an item.

    Args:
        windows: what the tokenizer gives for each.
        tokens: the first and the last token of its answer.
        names: what the model takes.
    """

    def __init__(
        self,
        windows: Sequence[dict[str, np.ndarray]],
        tokens: Sequence[tuple[int, int]],
        names: set[str],
        tokenizer: Any,
    ) -> None:
        self.windows, self.tokens, self.names, self.tokenizer = windows, torch.tensor(tokens), names, tokenizer

    def __call__(self, rows: np.ndarray) -> Batch:
        """The windows, padded on the right; empty places (-1) are left out, but for one where all are."""
        real = [int(row) for row in rows if row >= 0]
        batch = batch_windows([self.windows[row] for row in real or [0]], self.names, self.tokenizer)
        places = self.tokens[real] if real else torch.full((1, 2), NOT_COUNTED)
        return Batch({**batch, "start_positions": places[:, 0], "end_positions": places[:, 1]}, len(real))


def _may_be_none(data: Rows | None, recipe: QuestionAnsweringRecipe) -> bool:
    return has_unanswerable(data) if recipe.version_2_with_negative is None else recipe.version_2_with_negative


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
