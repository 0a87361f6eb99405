# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pearson's correlation of predicted and right numbers."""

import datasets
import evaluate
import numpy as np


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
        x, y = np.subtract(predictions, np.mean(predictions)), np.subtract(references, np.mean(references))
        scale = np.sqrt(np.sum(x**2) * np.sum(y**2))
        return {"pearson": float(np.sum(x * y) / scale) if scale else 0.0}
