# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Precision, recall and F1 of entities, counted as the CoNLL shared tasks count them."""

import datasets
import evaluate
from seqeval.metrics import f1_score, precision_score, recall_score


class Entities(evaluate.Metric):
    """An entity is found if its first word, its last word and its kind are right.

    precision = found / predicted, recall = found / there, f1 = 2 · found / (predicted + there), all kinds together; 0
    where they would divide by 0.

    Entities are counted in seqeval's default mode, as the script conlleval does: B and S begin an entity, E and S end
    it, and a change of kind does both. I or E after O also begins an entity, so that a wrong first tag alone does not
    lose it. seqeval's mode "strict" would not count such entities.
    """

    def _info(self) -> evaluate.MetricInfo:
        tags = datasets.List(datasets.Value("string"))
        return evaluate.MetricInfo(
            description="Precision, recall and F1 of entities.",
            citation="",
            inputs_description="predictions, references: the tags of each sentence's words, O or B-X, I-X, E-X, S-X.",
            features=datasets.Features({"predictions": tags, "references": tags}),
        )

    def _compute(self, predictions: list[list[str]], references: list[list[str]]) -> dict[str, float]:
        scores = {"f1": f1_score, "precision": precision_score, "recall": recall_score}
        return {name: float(score(references, predictions, zero_division=0)) for name, score in scores.items()}
