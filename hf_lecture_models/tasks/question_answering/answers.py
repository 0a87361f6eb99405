# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Turn the scores of tokens into the answer to a question, with the same settings for evaluation and prediction.

`tasks.question_answering`, `hf-lecture predict` and `pipeline("extractive-question-answering")` call
`find_prediction`. This file travels with exported models.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from hf_lecture_models.tasks.question_answering.spans import Answer, Window, distinct, find_answers, log_softmax

NO_ANSWER = Answer(0, 0, 0.0, 0.0)


@dataclass(frozen=True)
class AnswerSettings:
    """How to cut texts into windows, and how to turn scores of tokens into answers.

    Attributes:
        max_length: the most tokens of a window, unless the model's longest input is less.
        doc_stride: the tokens that neighbouring windows share.
        max_question_length: the most tokens of a question.
        max_answer_length: the most tokens of an answer.
        n_best_size: how many answers are compared; None for all.
        no_answer: a question may have no answer.
        no_answer_threshold: a question is left without an answer if the score of no answer is greater than that of
            the best answer by more than this; None means 0.
        align_to_words: answers begin and end where words do.
        by_window: compare the probabilities of answers in their windows, as in transformers 4, and not their scores.
    """

    max_length: int = 384
    doc_stride: int = 128
    max_question_length: int = 64
    max_answer_length: int = 30
    n_best_size: int | None = 20
    no_answer: bool = False
    no_answer_threshold: float | None = None
    align_to_words: bool = False
    by_window: bool = False

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> AnswerSettings:
        """Read the settings from the fields of a `task.json`, which may have other fields too.

        >>> AnswerSettings.of({"max_answer_length": 9, "no_answer": True}).max_answer_length
        9

        Raises:
            ValueError: one has a value that it cannot have.
        """
        known = {field.name: saved[field.name] for field in fields(cls) if field.name in saved}
        for name, value in known.items():
            default = vars(cls).get(name)
            kinds = bool if isinstance(default, bool) else int | float if name == "no_answer_threshold" else int
            is_number = isinstance(value, kinds) and isinstance(value, bool) == (kinds is bool)
            if not is_number and not (value is None and name in ("n_best_size", "no_answer_threshold")):
                raise ValueError(f"task.json: {name} cannot be {value!r}; correct it, or measure the model again")
        return cls(**known)


@dataclass(frozen=True)
class Prediction:
    """A question's predicted answers.

    Attributes:
        answers: the best ones, best first.
        none: the scores of no answer, in the window where they are smallest.
        settings: those with which the answers were found.
    """

    answers: list[Answer]
    none: Answer
    settings: AnswerSettings = AnswerSettings()

    @property
    def best(self) -> Answer:
        """The best answer; an empty one if the model finds nothing."""
        return self.answers[0] if self.answers else NO_ANSWER

    @property
    def odds(self) -> float:
        """The score of no answer minus the score of the best one."""
        return self.none.score - self.best.score

    @property
    def answer(self) -> Answer:
        """The final answer: the best one, or an empty one if the question is left without an answer."""
        is_none = self.settings.no_answer and self.odds > (self.settings.no_answer_threshold or 0.0)
        return NO_ANSWER if is_none else self.best

    def choices(self) -> list[tuple[Answer, float]]:
        """Return the answers with their probabilities, `answer` first; the empty answer has `end` 0.

        The probabilities of these answers sum to one; with `settings.by_window` they are those in the windows.

        >>> found = Prediction([Answer(2, 5, 1.0, 1.0)], Answer(0, 0, 2.0, 1.0), AnswerSettings(no_answer=True))
        >>> [(one.end, round(probability, 2)) for one, probability in found.choices()]
        [(0, 0.73), (5, 0.27)]
        """
        with_none = self.settings.no_answer or not self.answers
        found = [*self.answers, *([self.none] if with_none else [])]
        scores = np.array([one.score for one in found])
        probabilities = np.exp(scores if self.settings.by_window else log_softmax(scores)).tolist()
        threshold = self.settings.no_answer_threshold or 0.0
        order = sorted(range(len(found)), key=lambda i: -found[i].score + (threshold if found[i] is self.none else 0.0))
        return [(found[index], probabilities[index]) for index in order]


def find_prediction(
    windows: Sequence[Window], scores: Sequence[tuple[np.ndarray, np.ndarray]], text: str, settings: AnswerSettings
) -> Prediction:
    """Find the best answers to a question in all windows of its text.

    >>> window = Window({"input_ids": np.arange(4)}, 1, np.array([[0, 1], [2, 5], [6, 9]]), np.arange(3), 0)
    >>> start, end = np.array([3.0, 0.0, 2.0, 1.0]), np.array([3.0, 0.0, 2.0, 2.5])
    >>> found = find_prediction([window], [(start, end)], "a cat sat", AnswerSettings(no_answer=True))
    >>> found.best.start, found.best.end, found.odds, found.answer.end
    (2, 9, 1.5, 0)

    Args:
        scores: for each window, the scores (tokens,) of a first token, and those of a last token.
    """
    answers, nones = [], []
    for window, (start, end) in zip(windows, scores, strict=True):
        if settings.by_window:
            start, end = _log_probabilities(window, start), _log_probabilities(window, end)
        answers += find_answers(
            window, text, start, end, settings.max_answer_length, settings.n_best_size, settings.align_to_words
        )
        nones.append(Answer(0, 0, float(start[window.no_answer]), float(end[window.no_answer])))
    best = distinct(answers)[: settings.n_best_size]
    return Prediction(best, min(nones, key=lambda one: one.score, default=NO_ANSWER), settings)


def _log_probabilities(window: Window, scores: np.ndarray) -> np.ndarray:
    """Return ln P (tokens of the window,) of the text's tokens and of the one for no answer; others have -inf."""
    places = np.unique([*range(window.first, window.first + len(window.offsets)), window.no_answer])
    found = np.full(len(window), -math.inf)
    found[places] = log_softmax(scores[places].astype(np.float64))
    return found
