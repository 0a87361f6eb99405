# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Matthews' correlation of predicted and right classes."""

import evaluate
from sklearn.metrics import matthews_corrcoef

from hf_lecture_models.tasks.metrics import pair_info


class MatthewsCorrelation(evaluate.Metric):
    """The correlation of two indicators (tp · tn - fp · fn) / √((tp + fp)(tp + fn)(tn + fp)(tn + fn)).

    It is 0 if either side has only one class. More than two classes are counted by Gorodkin's generalization.
    """

    def _info(self) -> evaluate.MetricInfo:
        return pair_info("The correlation of predicted and right classes.", "ids of classes.", "int64")

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        varies = len(set(predictions)) > 1 and len(set(references)) > 1
        return {"matthews_correlation": float(matthews_corrcoef(references, predictions)) if varies else 0.0}
