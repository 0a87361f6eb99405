# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Spearman's correlation of predicted and right numbers: Pearson's, of their ranks."""

import evaluate
from scipy.stats import spearmanr

from hf_lecture_models.tasks.metrics import pair_info


class Spearman(evaluate.Metric):
    """Pearson's correlation of the ranks, where equal numbers share their mean rank; 0 where one side does not vary."""

    def _info(self) -> evaluate.MetricInfo:
        return pair_info("The correlation of the ranks of predicted and right numbers.", "numbers.", "float64")

    def _compute(self, predictions: list[float], references: list[float]) -> dict[str, float]:
        varies = len(set(predictions)) > 1 and len(set(references)) > 1
        return {"spearmanr": float(spearmanr(predictions, references).statistic) if varies else 0.0}
