# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The loop of all predictions: rows of like length together, the model in evaluation mode."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import torch

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.io.progress import ProgressBar

Row = TypeVar("Row")
Prediction = TypeVar("Prediction")


@torch.no_grad()
def predict_by_length(
    model: Any,
    rows: Sequence[Row],
    predict: Callable[[list[Row]], Iterable[Prediction]],
    batch_size: int,
    length: Callable[[Row], int] = len,  # type: ignore[assignment]
) -> list[Prediction]:
    """Predict rows in batches of like length, with little padding, and return a prediction for each row.

    The model is in evaluation mode meanwhile, and then returns to its own mode, also after an error.

    >>> from torch import nn
    >>> predict_by_length(nn.Identity(), ["the cat", "a", "cat"], lambda batch: [len(batch)] * len(batch), batch_size=2)
    [1, 2, 2]

    Args:
        predict: runs the model on a batch of rows, and returns one prediction for each.
        length: returns the length of a row.
    """
    order = sorted(range(len(rows)), key=list(map(length, rows)).__getitem__)
    found: list[Any] = [None] * len(rows)
    with evaluation_mode(model):
        for start in ProgressBar(range(0, len(order), batch_size), desc="predicting", unit="batch"):
            batch = order[start : start + batch_size]
            for place, prediction in zip(batch, predict([rows[place] for place in batch]), strict=True):
                found[place] = prediction
    return found
