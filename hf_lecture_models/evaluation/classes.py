# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Logits of a classifier to classes with probabilities, of texts, images and choices alike."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor


def class_scores(logits: Tensor, config: Any) -> Tensor:
    """Return the probabilities of a classifier's classes, or the numbers that a regression predicts.

    >>> import torch
    >>> from transformers import BertConfig
    >>> class_scores(torch.zeros(1, 2), BertConfig()).tolist(), class_scores(torch.zeros(1, 1), BertConfig()).tolist()
    ([[0.5, 0.5]], [[0.5]])

    Args:
        logits: (rows, classes).
        config: the model's; its `problem_type` tells whether classes exclude each other (softmax), or not (sigmoid,
            also of a single class), or are numbers (unchanged), as in transformers' own pipeline.
    """
    kind = getattr(config, "problem_type", None)
    if kind == "regression":
        return logits
    return logits.sigmoid() if kind == "multi_label_classification" or logits.shape[-1] == 1 else logits.softmax(-1)


def best_classes(scores: Tensor, names: Sequence[Any], top_k: int) -> list[dict[str, Any]]:
    """Return the `top_k` best classes of one row, the best one first, as objects with `label` and `score`.

    >>> import torch
    >>> best_classes(torch.tensor([0.25, 0.75]), ["bad", "good"], top_k=1)
    [{'label': 'good', 'score': 0.75}]

    Args:
        scores: (classes,).
        names: of the classes.
    """
    order = scores.argsort(descending=True, stable=True)[:top_k].tolist()
    return [{"label": names[index], "score": scores[index].item()} for index in order]
