# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Where the padding of a batch stands, for models that skip it."""

from __future__ import annotations

import torch
from torch import Tensor


def last_token_index(real: Tensor) -> Tensor:
    """(batch, seq): the last real position up to each, 0 where there is none.

    >>> last_token_index(torch.tensor([[False, True, False, True]])).tolist()
    [[0, 1, 1, 3]]
    """
    steps = torch.arange(real.shape[1], device=real.device).expand_as(real)
    return steps.where(real, 0).cummax(1).values


def padding_mask(attention_mask: Tensor | None, hidden: Tensor) -> Tensor | None:
    """(batch, seq) bool for the steps of this call; None where nothing is padded."""
    if attention_mask is None:
        return None
    batch, seq, _ = hidden.shape
    if attention_mask.dim() != 2 or attention_mask.shape[0] != batch or attention_mask.shape[1] < seq:
        raise ValueError(
            f"attention_mask has shape {tuple(attention_mask.shape)}; the input needs (batch, seq) = {(batch, seq)}, "
            "or a longer mask that also covers what the cache has seen"
        )
    mask = attention_mask[:, -seq:].bool()
    # Tracing cannot ask for values, and the layers handle a mask without padding all the same.
    if not torch.compiler.is_exporting() and bool(mask.all()):
        return None
    return mask
