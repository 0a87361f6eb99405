# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The type in which losses and long sums are computed: float32 for half precision, and for float64 itself."""

import torch
from torch import Tensor


def at_least_float32(tensor: Tensor) -> Tensor:
    """Return the tensor in float32; one of float64 as it is.

    >>> [at_least_float32(torch.ones(1, dtype=dtype)).dtype for dtype in (torch.bfloat16, torch.float64)]
    [torch.float32, torch.float64]
    """
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
