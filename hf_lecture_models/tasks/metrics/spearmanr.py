# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Spearman's correlation of predicted and right numbers: Pearson's, of their ranks."""

import datasets
import evaluate
from scipy.stats import spearmanr


class Spearman(evaluate.Metric):
    """Pearson's correlation of the ranks, where equal numbers share their mean rank; 0 where one side does not vary."""

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features(
            {"predictions": datasets.Value("float64"), "references": datasets.Value("float64")}
        )
        return evaluate.MetricInfo(
            description="The correlation of the ranks of predicted and right numbers.",
            citation="",
            inputs_description="predictions, references: numbers.",
            features=features,
        )

    def _compute(self, predictions: list[float], references: list[float]) -> dict[str, float]:
        varies = len(set(predictions)) > 1 and len(set(references)) > 1
        return {"spearmanr": float(spearmanr(predictions, references).statistic) if varies else 0.0}
