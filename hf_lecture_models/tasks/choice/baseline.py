# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The baseline of multiple choice: always the place at which the right choice stands most often."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.core.baselines import Baseline
from hf_lecture_models.tasks.metrics import sums
from hf_lecture_models.tasks.metrics.sums import Sums


class MostFrequentPlace(Baseline):
    """The place, counted from 0, that the right choice has most often; the last choice of a row with fewer."""

    def learn(self, processor: Any, data: Rows, settings: Any) -> dict[str, Any]:
        """Return the place; of several, the first one."""
        counts = Counter(data.columns["label"])
        return {"name": "most frequent place", "place": min(counts, key=lambda place: (-counts[place], place))}

    def answers(
        self, facts: Mapping[str, Any], model: Any, processor: Any, encoded: Any, settings: Any
    ) -> list[int] | None:
        """Return the place for each row."""
        place = facts.get("place")
        return None if place is None else [min(place, len(choices) - 1) for choices in encoded.inputs]

    def sums(self, model: Any, processor: Any, encoded: Any, answers: Any, settings: Any) -> dict[str, Sums]:
        """Return the accuracy."""
        return {"accuracy": sums.accuracy(answers, encoded.labels)}

    def only_answer(self, model: Any, encoded: Any, answers: Sequence[int]) -> str:
        """Return the only place that is chosen, though there are others."""
        return f"choice {answers[0]}" if len(set(encoded.labels)) > 1 and len(set(answers)) == 1 else ""
