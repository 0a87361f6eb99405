# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Turn a classifier's logits into classes with probabilities, for texts, images and choices."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor


def class_scores(logits: Tensor, config: Any) -> Tensor:
    """Return the probabilities of classes, or the numbers of a regression.

    >>> import torch
    >>> from transformers import BertConfig
    >>> class_scores(torch.zeros(1, 2), BertConfig()).tolist(), class_scores(torch.zeros(1, 1), BertConfig()).tolist()
    ([[0.5, 0.5]], [[0.5]])

    Args:
        logits: (rows, classes).
        config: the model's. Its `problem_type` determines the function, as in transformers' own pipeline: "regression"
            leaves the logits as they are, "multi_label_classification" takes the sigmoid, and so does a single class;
            others take the softmax.
    """
    kind = config.problem_type
    if kind == "regression":
        return logits
    return logits.sigmoid() if kind == "multi_label_classification" or logits.shape[-1] == 1 else logits.softmax(-1)


def best_classes(scores: Tensor, names: Sequence[Any], top_k: int) -> list[dict[str, Any]]:
    """Return the `top_k` best classes of one row, best first, as dicts with `label` and `score`.

    >>> import torch
    >>> best_classes(torch.tensor([0.25, 0.75]), ["bad", "good"], top_k=1)
    [{'label': 'good', 'score': 0.75}]

    Args:
        scores: (classes,).
        names: the class names.
    """
    order = scores.argsort(descending=True, stable=True)[:top_k].tolist()
    return [{"label": names[index], "score": scores[index].item()} for index in order]
