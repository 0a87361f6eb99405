# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Whether a call is recorded for later ones, whose values are not known yet."""

import torch


def is_traced() -> bool:
    """Return whether `torch.compile`, `torch.export` or `torch.jit.trace` records what the model computes.

    What is recorded holds for other inputs: a step may then not depend on the values of this one's.

    >>> is_traced()
    False
    """
    return torch.compiler.is_compiling() or torch.jit.is_tracing()
