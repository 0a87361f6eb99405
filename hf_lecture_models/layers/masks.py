# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Masks: which position may attend to which, in the form that an attention function of transformers reads.

A mask M is added to the scores before the softmax (slides R:1017-1070, N s40-43): with n positions it is n × n,

    M[t, s] = 0 if t may attend to s, else -∞;  a_t = softmax_s(q_t · k_s / √head_dim + M[t, s])

so that a weight is exp(-∞) = 0 where s may not be seen. A causal mask is 0 for s ≤ t. The slides' n × d_m (N s41) does
not fit the scores. For -∞ the eager function has the lowest finite number of its type.

A caller says it in one of three ways: by an attention mask (batch, keys), 1 = real token; by a prepared mask of four
axes, which says it for each position by itself; or, where a row holds several texts ("packed"), by position ids that
start from 0 with each text.

The functions take an `implementation` ("eager", "sdpa", "flex_attention", ...) and the positions that attend, `hidden`
(batch, seq, hidden), for shape, type and device only. They return (batch or 1, 1, seq, keys): numbers to add for eager
(0 = may attend), True = may attend for sdpa, or None where sdpa needs no mask; a block mask for flex_attention.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, StaticCache

from hf_lecture_models.io.compat import create_bidirectional_mask, create_causal_mask, has_mask_function
from hf_lecture_models.layers.execution import is_traced
from hf_lecture_models.layers.inputs import is_prepared


def causal_mask(
    implementation: str,
    hidden: Tensor,
    attention_mask: Any = None,
    cache: Cache | None = None,
    position_ids: Tensor | None = None,
) -> Any:
    """Each position attends to itself and to the real positions of its text before it.

    Args:
        attention_mask: (batch, seen + seq), 1 = real token; None where all are. Or prepared: a block mask, or (batch or
            1, heads or 1, seq, keys), True = may attend, or numbers to add to the scores; then it alone counts.
        cache: keys and values of the positions seen before; None at the start.
        position_ids: (batch or 1, seq); without an attention mask and tokens seen before, a position that is not the
            next one begins another text.

    Raises:
        ValueError: a prepared mask of another shape or type, or of a kind that `implementation` cannot read; or a mask
            is needed, and no mask function is registered for `implementation`.
    """
    like = _like_scores(hidden)
    if is_prepared(attention_mask):
        return _prepared_mask(implementation, like, attention_mask)
    if position_ids is not None and attention_mask is None and holds_nothing(cache):
        cache = None  # with a cache, transformers does not look for texts
    if torch.jit.is_tracing() and attention_mask is None and position_ids is None and holds_nothing(cache):
        attention_mask = hidden.new_ones(hidden.shape[:2], dtype=torch.bool)  # else one token has no mask, ever after
    config: Any = _MaskConfig(implementation if has_mask_function(implementation) else "sdpa")
    return _read_by(implementation, create_causal_mask(config, like, attention_mask, cache, position_ids))


def bidirectional_mask(
    implementation: str,
    hidden: Tensor,
    attention_mask: Any = None,
    source: Tensor | None = None,
    position_ids: Tensor | None = None,
) -> Any:
    """Each position attends to all real positions of its text; with a source, to those of the source.

    Args:
        attention_mask: (batch, keys), 1 = real token of what is attended to; None where all are. Or prepared, as for
            `causal_mask`; then it alone counts.
        source: (batch, keys, hidden), what is attended to; None for `hidden` itself.
        position_ids: (batch or 1, seq); within a row, position 0 begins another text.

    Raises:
        ValueError: a mask of another shape or type, or of a kind that `implementation` cannot read; or one is needed,
            and no mask function is registered for `implementation`.
    """
    like, keys = _like_scores(hidden), hidden if source is None else source
    if is_prepared(attention_mask):
        return _prepared_mask(implementation, like, attention_mask)
    if attention_mask is not None and attention_mask.shape != keys.shape[:2]:
        raise ValueError(
            f"attention_mask has shape {tuple(attention_mask.shape)}; for what is attended to, {tuple(keys.shape[:2])} "
            "is needed"
        )
    if position_ids is not None and (texts := _same_text(position_ids)) is not None:
        if attention_mask is not None:
            texts = texts & attention_mask.bool()[:, None, None]
        return _read_by(implementation, _prepared_mask(implementation, like, texts))
    config: Any = _MaskConfig(implementation if has_mask_function(implementation) else "sdpa")
    source = None if source is None else _like_scores(source)
    return _read_by(implementation, create_bidirectional_mask(config, like, attention_mask, source))


def _read_by(implementation: str, mask: Any) -> Any:
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


def _same_text(position_ids: Tensor) -> Tensor | None:
    """(batch or 1, 1, seq, seq) bool, whether two positions are of one text; None where every row is one text."""
    begins = position_ids == 0
    # Tracing cannot read values.
    if not is_traced() and not bool(begins[:, 1:].any()):
        return None
    text = begins.cumsum(1)
    return (text[:, :, None] == text[:, None])[:, None]


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


def _prepared_mask(implementation: str, like: Tensor, mask: Any) -> Any:
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
class _MaskConfig:
    """The one field that transformers' functions read from a configuration."""

    _attn_implementation: str


def _like_scores(hidden: Tensor) -> Tensor:
    """An empty tensor like `hidden`, in the type of the scores: under autocast, a wider mask would widen them all."""
    device = hidden.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
    return torch.empty((), dtype=dtype, device=hidden.device).expand(hidden.shape)
