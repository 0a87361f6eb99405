# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""F1 of one class: the harmonic mean of its precision and its recall."""

import evaluate
from sklearn.metrics import f1_score

from hf_lecture_models.tasks.metrics import pair_info


class F1(evaluate.Metric):
    """f1 = 2 · found / (predicted + there), counted for class 1; 0 where neither is predicted nor there."""

    def _info(self) -> evaluate.MetricInfo:
        return pair_info(
            "The harmonic mean of precision and recall of class 1.",
            "1 for the class that is to be found, 0 for the other one.",
            "int64",
        )

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        return {"f1": float(f1_score(references, predictions, zero_division=0))}
