# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Logarithms stored as the numbers of bins, in 8 or 16 bits each; a bin represents the mean of its values.

The bins of a table hold equally many values (binning, in M. Federico and N. Bertoldi, How Many Bits Are Needed To Store
Probabilities for Phrase-Based Translation?, 2006).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hf_lecture_models.layers.ngram_trie import CODE_TYPES


def quantise(values: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    """Put values into at most 2^bits bins.

    Equal values share a bin. -inf and 0, which mean "never" and "no weight of its own", have bins of their own; so has
    every value if there are at most as many different values as bins.

    >>> centres, codes = quantise(torch.tensor([-3.0, -1, -1, 0, -5]), 8)
    >>> centres[codes.long()].tolist()
    [-3.0, -1.0, -1.0, 0.0, -5.0]

    Args:
        values: (values,) float32, none NaN.
        bits: 8 or 16.

    Returns:
        The value of each bin, (2^bits,) float32, increasing, the last one repeated if there are fewer bins; and the
        number of each value's bin, (values,) uint8 or int16.
    """
    distinct, inverse, counts = np.unique(values.numpy(), return_inverse=True, return_counts=True)
    alone = (np.isinf(distinct) | (distinct == 0)) if len(distinct) > 2**bits else np.ones(len(distinct), bool)
    means = distinct.astype(float)
    if not alone.all():
        sizes, bins = counts[~alone], 2**bits - int(alone.sum())
        # Equal values all go into the bin of the middle one of them.
        bin_of = (np.cumsum(sizes) - (sizes + 1) // 2) * bins // sizes.sum()
        sums = np.bincount(bin_of, sizes * means[~alone])
        means[~alone] = (sums / np.bincount(bin_of, sizes).clip(1))[bin_of]
    found, numbers = np.unique(means.astype(np.float32), return_inverse=True)
    centres = np.full(2**bits, found[-1] if len(found) else 0, np.float32)
    centres[: len(found)] = found
    return torch.from_numpy(centres), torch.from_numpy(numbers[inverse]).to(CODE_TYPES[bits])
