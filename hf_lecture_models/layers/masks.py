# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which position may attend to which, in the form that an attention function of transformers wants.

Of an `implementation` ("eager", "sdpa", "flex_attention", ...) and the positions `hidden` (batch, seq, hidden) that
attend, of which only shape, type and device count: (batch or 1, 1, seq, keys), numbers to add for eager (0 = may
attend), True = may attend for sdpa, or None where sdpa needs no mask; a block mask for flex_attention.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask


def causal_mask(
    implementation: str, hidden: Tensor, attention_mask: Tensor | None = None, cache: Cache | None = None
) -> Any:
    """Each position attends to itself and to the real positions before it.

    Args:
        attention_mask: (batch, seen + seq), 1 = real token; None where all are.
        cache: keys and values of the positions seen before; None at the start.
    """
    config: Any = _MaskConfig(implementation)
    return create_causal_mask(config, _like_scores(hidden), attention_mask, cache)


def bidirectional_mask(
    implementation: str, hidden: Tensor, attention_mask: Tensor | None = None, source: Tensor | None = None
) -> Any:
    """Each position attends to all real positions: of its own row, or of the source.

    Args:
        attention_mask: (batch, keys), 1 = real token of what is attended to; None where all are.
        source: (batch, keys, hidden), what is attended to; None for `hidden` itself.
    """
    config: Any = _MaskConfig(implementation)
    like = None if source is None else _like_scores(source)
    return create_bidirectional_mask(config, _like_scores(hidden), attention_mask, like)


class _MaskConfig:
    """All that transformers' functions read off a configuration."""

    def __init__(self, implementation: str):
        self._attn_implementation = implementation


def _like_scores(hidden: Tensor) -> Tensor:
    """`hidden` in shape and device, in the type of the scores: under autocast a wider mask would widen them all."""
    device = hidden.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
    return torch.empty((), dtype=dtype, device=hidden.device).expand(hidden.shape)
