# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The baseline of questions: no question has an answer."""

from collections.abc import Mapping
from typing import Any

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.core.baselines import Baseline
from hf_lecture_models.tasks.metrics import sums
from hf_lecture_models.tasks.metrics.sums import Sums
from hf_lecture_models.tasks.question_answering.measures import scores_of_questions


class NoAnswer(Baseline):
    """The empty answer to every question, which is right where the text holds none; nothing is learned."""

    def learn(self, processor: Any, data: Rows, settings: Any) -> dict[str, Any]:
        """Return the name alone."""
        return {"name": "no answer"}

    def answers(
        self, facts: Mapping[str, Any], model: Any, processor: Any, encoded: Any, settings: Any
    ) -> list[dict[str, Any]] | None:
        """Return empty texts, with a score that is not above the threshold: an empty text means no answer anyway."""
        return [{"text": "", "no_answer_score": 0.0}] * len(encoded.labels)

    def sums(self, model: Any, processor: Any, encoded: Any, answers: Any, settings: Any) -> dict[str, Sums]:
        """Return F1 and exact match, also of the questions with and without an answer; not those of best thresholds."""
        right = [own["text"] for own in encoded.labels]
        scores, has_answer = scores_of_questions(answers, right), [bool(own) for own in right]
        found = {}
        for place, (name, of_kind) in enumerate((("f1", "f1"), ("exact_match", "exact"))):
            column = [score[place] for score in scores]
            found[name] = sums.ratio(column, [1] * len(column))
            for kind, wanted in (("HasAns", True), ("NoAns", False)):
                counted = [own == wanted for own in has_answer]
                if not all(has_answer) and any(counted):
                    masked = [value * counts for value, counts in zip(column, counted, strict=True)]
                    found[f"{kind}_{of_kind}"] = sums.ratio(masked, counted)
        return found

    def only_answer(self, model: Any, encoded: Any, answers: Any) -> str:
        """Return the message that no question is answered, though some have answers; else ""."""
        if any(own["text"] for own in answers) or not any(own["text"] for own in encoded.labels):
            return ""
        return "no answer"
