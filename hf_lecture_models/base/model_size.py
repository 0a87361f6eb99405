# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A bound on the size of models, so that a mistyped number in a configuration is an error and not a full memory."""

from collections.abc import Callable
from typing import Any

import torch

LARGEST_MODEL = 2**35
"""The most numbers in a model: 137 GB in float32, a thousand times more than the lectures' models have."""


def check_model_size(build: Callable[[], Any]) -> None:
    """Check the size of a model, which is built without memory for it.

    Raises:
        ValueError: it holds more than `LARGEST_MODEL` numbers.
    """
    with torch.device("meta"):
        model = build()
    count = sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))
    if count > LARGEST_MODEL:
        config = model.config
        sizes = ", ".join(f"{name}={getattr(config, name)}" for name in config.positive_fields)
        raise ValueError(
            f"a {type(model).__name__} of this configuration holds {count:.1e} numbers, {4 * count / 1e9:.0f} GB in "
            f"float32; at most {LARGEST_MODEL:.1e} are allowed: correct its sizes, {sizes}"
        )
