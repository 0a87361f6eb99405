# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which position may attend to which, in the form that an attention function of transformers wants."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache
from transformers.masking_utils import create_causal_mask


def causal_mask(implementation: str, hidden: Tensor, attention_mask: Tensor | None, cache: Cache | None) -> Any:
    """The mask of causal self-attention: a position attends to itself and to the real positions before it.

    Args:
        implementation: "eager", "sdpa", "flex_attention", ...: a name that transformers knows.
        hidden: (batch, seq, hidden), the positions that attend; for shape, type and device only.
        attention_mask: (batch, seen + seq), 1 = real token; None where all are.
        cache: keys and values of the positions seen before; None at the start.

    Returns:
        (batch or 1, 1, seq, seen + seq): numbers to add for eager (0 = may attend), True = may attend for sdpa, or None
        where sdpa needs no mask; a block mask for flex_attention.
    """
    config: Any = SimpleNamespace(_attn_implementation=implementation)
    device = hidden.device.type
    # Under autocast the scores have its type, and a mask of a wider one would widen them all.
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
    like = torch.empty((), dtype=dtype, device=hidden.device).expand(hidden.shape)
    return create_causal_mask(config, like, attention_mask, cache)


def token_positions(hidden: Tensor, attention_mask: Tensor | None, seen_tokens: int) -> Tensor:
    """(batch or 1, seen_tokens + seq): each token's place among the real tokens of its row, counted from 0.

    Padding takes no place, so that a row has the same positions whatever stands beside it in a batch. One row serves
    the whole batch where no padding stands before a real token.

    Args:
        hidden: (batch, seq, hidden), the tokens of this call.
        attention_mask: (batch, seen_tokens + seq), 1 = real token; None where all are.
        seen_tokens: how many tokens, padding included, the cache holds.

    Raises:
        ValueError: no tokens, or a mask of another shape.

    >>> token_positions(torch.zeros(1, 2, 4), torch.tensor([[0, 1, 1, 0, 1]]), seen_tokens=3).tolist()
    [[0, 0, 1, 1, 2]]
    """
    batch, seq, _ = hidden.shape
    if batch == 0 or seq == 0:
        raise ValueError(f"the input has shape {(batch, seq)}: it needs at least one row, and one token per row")
    if attention_mask is None:
        return torch.arange(seen_tokens + seq, device=hidden.device)[None]
    if attention_mask.shape != (batch, seen_tokens + seq):
        raise ValueError(
            f"attention_mask has shape {tuple(attention_mask.shape)}; with {seen_tokens} tokens in the cache and {seq} "
            f"new ones in each of {batch} rows it must be {(batch, seen_tokens + seq)}"
        )
    positions = (attention_mask.long().cumsum(1) - 1).clamp(min=0)
    shared = positions.amax(0, keepdim=True)
    at_the_end = (attention_mask[:, 1:] <= attention_mask[:, :-1]).all()
    # Tracing cannot ask for values; there every row gets positions of its own, which are the same ones.
    if torch.compiler.is_compiling() or torch.compiler.is_exporting():
        return torch.where(at_the_end, shared, positions)
    return shared if bool(at_the_end) else positions
