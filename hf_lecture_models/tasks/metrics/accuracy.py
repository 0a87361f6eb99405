# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Accuracy: the share of predictions that are right."""

import datasets
import evaluate
from sklearn.metrics import accuracy_score


class Accuracy(evaluate.Metric):
    """accuracy = |{i: prediction_i = reference_i}| / n."""

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features({"predictions": datasets.Value("int64"), "references": datasets.Value("int64")})
        return evaluate.MetricInfo(
            description="The share of predictions that are right.",
            citation="",
            inputs_description="predictions, references: ids of classes.",
            features=features,
        )

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        return {"accuracy": float(accuracy_score(references, predictions))}
