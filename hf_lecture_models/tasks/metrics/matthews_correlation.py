# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Matthews' correlation of predicted and right classes."""

import datasets
import evaluate
from sklearn.metrics import matthews_corrcoef


class MatthewsCorrelation(evaluate.Metric):
    """The correlation of two indicators (tp · tn - fp · fn) / √((tp + fp)(tp + fn)(tn + fp)(tn + fn)).

    It is 0 if either side has only one class. More than two classes are counted by Gorodkin's generalization.
    """

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features({"predictions": datasets.Value("int64"), "references": datasets.Value("int64")})
        return evaluate.MetricInfo(
            description="The correlation of predicted and right classes.",
            citation="",
            inputs_description="predictions, references: ids of classes.",
            features=features,
        )

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        varies = len(set(predictions)) > 1 and len(set(references)) > 1
        return {"matthews_correlation": float(matthews_corrcoef(references, predictions)) if varies else 0.0}
