# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The baseline of classes that are written: always the name of the most frequent one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.classification.baseline import most_frequent
from hf_lecture_models.tasks.core.baselines import Baseline
from hf_lecture_models.tasks.metrics import sums
from hf_lecture_models.tasks.metrics.sums import Sums


class MostFrequentTarget(Baseline):
    """The target that most rows of the training data have."""

    def learn(self, processor: Any, data: Rows, settings: Any) -> dict[str, Any]:
        """Return the target."""
        return {"name": "most frequent class", "class": most_frequent(Counter(data.columns["target"]))}

    def answers(
        self, facts: Mapping[str, Any], model: Any, processor: Any, encoded: Any, settings: Any
    ) -> list[str] | None:
        """Return the target for each row."""
        return [facts["class"]] * len(encoded.labels) if "class" in facts else None

    def sums(self, model: Any, processor: Any, encoded: Any, answers: Any, settings: Any) -> dict[str, Sums]:
        """Return the accuracy and the share of outputs that do not name a class."""
        none = sums.ratio([answer is None for answer in answers], [1] * len(answers))
        return {"accuracy": sums.accuracy(answers, encoded.labels), "no_class": none}

    def only_answer(self, model: Any, encoded: Any, answers: Sequence[str | None]) -> str:
        """Return the only class that is written, though there are others."""
        if len(set(encoded.labels)) < 2 or len(set(answers)) > 1:
            return ""
        return "no class" if answers[0] is None else f"the class {answers[0]!r}"
