# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Causal self-attention: its matrices, the function that computes it in a call, and its mask.

`layers/attention.py` has the equations, `layers/attention_kernels.py` and `layers/masks.py` the arguments.
"""

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from hf_lecture_models.io.compat import LAYERS_FILL_PAGES, create_causal_mask, has_mask_function
from hf_lecture_models.layers.attention import AttentionKernel, SelfAttention
from hf_lecture_models.layers.attention_kernels import (
    ATTENTION_INSTANCES,
    PAGED_EAGER,
    make_kernel,
    select_attention_kernel,
)
from hf_lecture_models.layers.inputs import is_prepared
from hf_lecture_models.layers.masks import MaskConfig, holds_nothing, like_scores, prepared_mask, read_by

_TEXT_BOUNDS = ("cu_seq_lens_q", "seq_idx")


class CausalSelfAttention(SelfAttention):
    """Attention to the position itself and those before it: o_t = Σ_{s ≤ t} a_t[s] v_s."""

    is_causal = True

    def forward(
        self, hidden: Tensor, attention: AttentionKernel, cache: Cache | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the outputs, (batch, seq, hidden), and the weights (batch, heads, seq, seen + seq) if shown.

        Args:
            hidden: (batch, seq, hidden).
            attention: from `causal_attention`.
            cache: keys and values of the tokens before; those of this call are added to it.
        """
        q, k, v = self.split_heads(self.qkv_proj(hidden), 3)
        if cache is not None:
            k, v = cache.update(k, v, self.layer_idx)
        if LAYERS_FILL_PAGES and (pages := (attention.options or {}).get("cache")) is not None:
            options = dict(attention.options or {})
            k, v = pages.update(k, v, self.layer_idx, kwargs=options)  # it changes the options of this layer
            attention = attention._replace(options=options)
        return self.attend(q, k, v, attention)


def causal_attention(
    implementation: str,
    hidden: Tensor,
    position_bias: Tensor | None = None,
    attention_mask: Any = None,
    cache: Cache | None = None,
    dropout: float = 0.0,
    position_ids: Tensor | None = None,
    options: dict[str, Any] | None = None,
) -> AttentionKernel:
    """For `CausalSelfAttention`: a position attends to itself and to the real ones before it, also those in the cache.

    Args:
        position_ids: (batch or 1, seq), as the caller gave them; they keep packed texts apart (`layers.masks`).
        options: further arguments for the attention function.

    Raises:
        ValueError: a mask that cannot be read; bounds of packed texts without their positions; `is_causal` of False; a
            position bias for a function that reads none.

    >>> causal_attention("eager", torch.zeros(1, 2, 8)).mask[0, 0] == 0
    tensor([[ True, False],
            [ True,  True]])
    """
    options = options or {}
    bounds = [name for name in _TEXT_BOUNDS if name in options]
    if position_ids is None and not is_prepared(attention_mask) and bounds:
        raise ValueError(
            f"{', '.join(bounds)} say that rows hold several texts; give their position_ids too "
            "(return_position_ids=True), by which they are kept apart"
        )
    if not options.get("is_causal", True) and not is_prepared(attention_mask):
        raise ValueError("is_causal=False: this attention is causal; give an attention_mask of four axes for another")
    implementation = select_attention_kernel(implementation, hidden, position_bias, dropout)
    if options.get("cache") is not None and implementation == "eager":
        implementation = PAGED_EAGER  # of the two, the one that reads a paged cache
    if ATTENTION_INSTANCES in options:
        return make_kernel(implementation, hidden, None, True, position_bias, options)
    mask = causal_mask(implementation, hidden, attention_mask, cache, position_ids)
    return make_kernel(implementation, hidden, mask, True, position_bias, options)


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
    like = like_scores(hidden)
    if is_prepared(attention_mask):
        return prepared_mask(implementation, like, attention_mask)
    if position_ids is not None and attention_mask is None and holds_nothing(cache):
        cache = None  # with a cache, transformers does not look for texts
    if torch.jit.is_tracing() and attention_mask is None and position_ids is None and holds_nothing(cache):
        attention_mask = hidden.new_ones(hidden.shape[:2], dtype=torch.bool)  # else one token has no mask, ever after
    config: Any = MaskConfig(implementation if has_mask_function(implementation) else "sdpa")
    return read_by(implementation, create_causal_mask(config, like, attention_mask, cache, position_ids))
