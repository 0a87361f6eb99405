# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pearson's correlation of predicted and right numbers."""

import datasets
import evaluate
from scipy.stats import pearsonr


class Pearson(evaluate.Metric):
    """r = cov(predictions, references) / (σ(predictions) σ(references)); 0 where one of them does not vary."""

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features(
            {"predictions": datasets.Value("float64"), "references": datasets.Value("float64")}
        )
        return evaluate.MetricInfo(
            description="The correlation of predicted and right numbers.",
            citation="",
            inputs_description="predictions, references: numbers.",
            features=features,
        )

    def _compute(self, predictions: list[float], references: list[float]) -> dict[str, float]:
        varies = len(set(predictions)) > 1 and len(set(references)) > 1
        return {"pearson": float(pearsonr(predictions, references).statistic) if varies else 0.0}
