# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""F1 of one class: the harmonic mean of its precision and its recall."""

import datasets
import evaluate
from sklearn.metrics import f1_score


class F1(evaluate.Metric):
    """f1 = 2 · found / (predicted + there), counted for class 1; 0 where neither is predicted nor there."""

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features({"predictions": datasets.Value("int64"), "references": datasets.Value("int64")})
        return evaluate.MetricInfo(
            description="The harmonic mean of precision and recall of class 1.",
            citation="",
            inputs_description="predictions, references: 1 for the class that is to be found, 0 for the other one.",
            features=features,
        )

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        return {"f1": float(f1_score(references, predictions, zero_division=0))}
