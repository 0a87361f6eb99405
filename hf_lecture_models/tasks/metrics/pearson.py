# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pearson's correlation of predicted and right numbers."""

import evaluate
from scipy.stats import pearsonr

from hf_lecture_models.tasks.metrics import pair_info


class Pearson(evaluate.Metric):
    """r = cov(predictions, references) / (σ(predictions) σ(references)); 0 where one of them does not vary."""

    def _info(self) -> evaluate.MetricInfo:
        return pair_info("The correlation of predicted and right numbers.", "numbers.", "float64")

    def _compute(self, predictions: list[float], references: list[float]) -> dict[str, float]:
        varies = len(set(predictions)) > 1 and len(set(references)) > 1
        return {"pearson": float(pearsonr(predictions, references).statistic) if varies else 0.0}
