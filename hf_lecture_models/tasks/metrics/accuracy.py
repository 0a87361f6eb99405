# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Accuracy: the share of predictions that are right."""

import evaluate
from sklearn.metrics import accuracy_score

from hf_lecture_models.tasks.metrics import pair_info


class Accuracy(evaluate.Metric):
    """accuracy = |{i: prediction_i = reference_i}| / n."""

    def _info(self) -> evaluate.MetricInfo:
        return pair_info("The share of predictions that are right.", "ids of classes.", "int64")

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        return {"accuracy": float(accuracy_score(references, predictions))}
