# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Masks: which position may attend to which, in the form that an attention function of transformers reads.

A mask M is added to the scores before the softmax (slides R:1017-1070, N s40-43): with n positions it is n × n,

    M[t, s] = 0 if t may attend to s, else -∞;  a_t = softmax_s(q_t · k_s / √head_dim + M[t, s])

so that a weight is exp(-∞) = 0 where s may not be seen. A causal mask is 0 for s ≤ t. The slides' n × d_m (N s41) does
not fit the scores. For -∞ the eager function has the lowest finite number of its type.

A caller says it in one of three ways: by an attention mask (batch, keys), 1 = real token; by a prepared mask of four
axes, which says it for each position by itself; or, where a row holds several texts ("packed"), by position ids that
start from 0 with each text.

`causal_mask` of layers/causal_attention.py and `bidirectional_mask` of layers/bidirectional_attention.py take an
`implementation` ("eager", "sdpa", "flex_attention", ...) and the positions that attend, `hidden` (batch, seq, hidden),
for shape, type and device only. They return (batch or 1, 1, seq, keys): numbers to add for eager (0 = may attend), True
= may attend for sdpa, or None where sdpa needs no mask; a block mask for flex_attention. Here is what both share.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, StaticCache

from hf_lecture_models.io.compat import has_mask_function


def read_by(implementation: str, mask: Any) -> Any:
    """Return the mask, which is None where sdpa needs none.

    Raises:
        ValueError: `implementation` is an attention function without a mask function, for which transformers makes no
            masks: it would attend to padding.
    """
    if mask is not None and not has_mask_function(implementation):
        raise ValueError(
            f"{implementation!r} attention has no mask function, and this call needs a mask: for padding, packed "
            "texts, or several tokens after cached ones; register one, transformers.AttentionMaskInterface.register("
            f"{implementation!r}, sdpa_mask) if it reads masks as sdpa does, or set attn_implementation='sdpa'"
        )
    return mask


def holds_nothing(cache: Cache | None) -> bool:
    """Return whether the cache is empty and will hold only the tokens of this call."""
    return cache is None or (not isinstance(cache, StaticCache) and int(cache.get_seq_length()) == 0)


def check_prepared(hidden: Tensor, mask: Any) -> None:
    """Refuse a prepared mask that does not fit the positions `hidden` (batch, seq, hidden).

    Raises:
        ValueError: it has another shape, or is neither bool nor float.
    """
    if not isinstance(mask, Tensor):
        return  # a block mask
    batch, seq, _ = hidden.shape
    typed = mask.dtype == torch.bool or mask.is_floating_point()
    if mask.shape[0] not in (1, batch) or mask.shape[2] != seq or mask.shape[3] < seq or not typed:
        raise ValueError(
            f"attention_mask has shape {tuple(mask.shape)} and type {mask.dtype}; a mask of four axes must be (batch "
            f"or 1, heads or 1, seq, keys) with batch={batch} and seq={seq}, and bool (True = may attend) or numbers "
            "to add to the scores"
        )


def prepared_mask(implementation: str, like: Tensor, mask: Any) -> Any:
    """Return a mask of four axes, or a block mask, in the form that `implementation` reads."""
    check_prepared(like, mask)
    flex, lowest = implementation == "flex_attention", torch.finfo(like.dtype).min
    if not isinstance(mask, Tensor):
        if not flex:
            raise ValueError(
                f"attention_mask is a {type(mask).__name__}, which {implementation!r} attention cannot read"
            )
        return mask
    if flex and mask.shape[1] != 1:
        raise ValueError(
            f"attention_mask has {mask.shape[1]} heads; flex attention reads one mask for all: take 'sdpa'"
        )
    if mask.dtype != torch.bool:
        mask = mask.to(like.dtype).clamp(min=lowest)
    elif implementation != "sdpa":
        mask = torch.zeros_like(mask, dtype=like.dtype).masked_fill(~mask, lowest)
    return mask.expand(like.shape[0], -1, -1, -1) if flex else mask


@dataclass
class MaskConfig:
    """The one field that transformers' functions read from a configuration."""

    _attn_implementation: str


def like_scores(hidden: Tensor) -> Tensor:
    """An empty tensor like `hidden`, in the type of the scores: under autocast, a wider mask would widen them all."""
    device = hidden.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
    return torch.empty((), dtype=dtype, device=hidden.device).expand(hidden.shape)
