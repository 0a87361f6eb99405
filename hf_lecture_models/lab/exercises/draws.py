# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Random inputs of exercises, drawn from one generator."""

from collections.abc import Sequence

import torch
from torch import Tensor


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    """Return standard normal numbers of this shape, float64.

    >>> normal(torch.Generator().manual_seed(0), 2, 3).shape
    torch.Size([2, 3])
    """
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def uniform(generator: torch.Generator, *shape: int) -> Tensor:
    """Return numbers from [0, 1) of this shape, float64.

    >>> bool((uniform(torch.Generator().manual_seed(0), 5) < 1).all())
    True
    """
    return torch.rand(shape, generator=generator, dtype=torch.float64)


def integers(generator: torch.Generator, low: int, high: int, *shape: int) -> Tensor:
    """Return whole numbers from low to high - 1 of this shape, int64.

    >>> integers(torch.Generator().manual_seed(0), 3, 4, 2).tolist()
    [3, 3]
    """
    return torch.randint(low, high, shape, generator=generator)


def string(generator: torch.Generator, letters: Sequence[str], length: int) -> str:
    """Return a string of so many of the letters.

    >>> string(torch.Generator().manual_seed(0), "a", 3)
    'aaa'
    """
    return "".join(letters[number] for number in integers(generator, 0, len(letters), length).tolist())
