# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A model without dropout for the time of a measurement or a prediction. This file travels with exported models."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def evaluation_mode(model: Any) -> Iterator[None]:
    """Put a model into eval mode within the block; afterwards each of its modules has the mode that it had before.

    This holds also where the block raises an error. Gradients are not touched.

    >>> from torch.nn import Dropout, Sequential
    >>> model = Sequential(Dropout(), Dropout().eval())
    >>> with evaluation_mode(model):
    ...     print([layer.training for layer in model])
    [False, False]
    >>> [layer.training for layer in model]
    [True, False]

    Args:
        model: any `torch.nn.Module`.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
