# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The initial weights of ELMo, as in the authors' code (bilm-tf) but for the LSTMs, which start by torch's rule."""

from __future__ import annotations

from typing import Any

from torch import nn

from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.highway import Gate
from hf_lecture_models.layers.recurrent_layer import init_kernel


def draw_initial_weights(module: Any) -> None:
    """Set the weights of one module; loaded tensors stay as they are."""
    if isinstance(module, nn.Embedding):
        init.uniform_(module.weight, -1.0, 1.0)
    elif isinstance(module, nn.Conv1d):
        init.uniform_(module.weight, -0.05, 0.05)
        init.zeros_(module.bias)  # type: ignore[arg-type]
    elif isinstance(module, nn.Linear):
        init.normal_(module.weight, std=module.in_features**-0.5)
        init.constant_(module.bias, -2.0 if isinstance(module, Gate) else 0.0)
    elif isinstance(module, nn.RNNBase):
        init_kernel(module)
    if hasattr(module, "draw_weights"):
        module.draw_weights()
