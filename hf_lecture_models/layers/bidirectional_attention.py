# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Attention to all positions, or to a source: its matrices, the function that computes it in a call, and its mask.

`layers/attention.py` has the equations, `layers/attention_kernels.py` and `layers/masks.py` the arguments.
"""

from typing import Any

from torch import Tensor

from hf_lecture_models.io.compat import create_bidirectional_mask, has_mask_function
from hf_lecture_models.layers.attention import AttentionKernel, SelfAttention
from hf_lecture_models.layers.attention_kernels import ATTENTION_INSTANCES, make_kernel, select_attention_kernel
from hf_lecture_models.layers.execution import is_traced
from hf_lecture_models.layers.inputs import is_prepared
from hf_lecture_models.layers.masks import MaskConfig, like_scores, prepared_mask, read_by


class BidirectionalSelfAttention(SelfAttention):
    """Attention to all positions: o_t = Σ_s a_t[s] v_s."""

    is_causal = False

    def forward(
        self, hidden: Tensor, attention: AttentionKernel, num_queries: int | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the outputs, (batch, queries, hidden), and the weights (batch, heads, queries, seq) if shown.

        Args:
            hidden: (batch, seq, hidden).
            attention: from `bidirectional_attention`.
            num_queries: the number of first positions that attend, without a mask; None: all.
        """
        q, k, v = self.split_heads(self.qkv_proj(hidden), 3)
        return self.attend(q[:, :, :num_queries], k, v, attention)


def bidirectional_attention(
    implementation: str,
    hidden: Tensor,
    position_bias: Tensor | None = None,
    attention_mask: Any = None,
    source: Tensor | None = None,
    dropout: float = 0.0,
    position_ids: Tensor | None = None,
    options: dict[str, Any] | None = None,
) -> AttentionKernel:
    """For `BidirectionalSelfAttention`: to all real positions; or `CrossAttention`: to a source (batch, keys, hidden).

    Args:
        position_ids: (batch or 1, seq), as the caller gave them; they keep packed texts apart (`layers.masks`).
        options: further arguments for the attention function.

    Raises:
        ValueError: a mask that cannot be read; a position bias for a function that reads none.

    >>> import torch
    >>> bidirectional_attention("eager", torch.zeros(1, 2, 8), attention_mask=torch.tensor([[1, 0]])).mask[0, 0] == 0
    tensor([[ True, False],
            [ True, False]])
    """
    implementation = select_attention_kernel(implementation, hidden, position_bias, dropout)
    if options and ATTENTION_INSTANCES in options:
        return make_kernel(implementation, hidden, None, False, position_bias, options)
    mask = bidirectional_mask(implementation, hidden, attention_mask, source, position_ids)
    return make_kernel(implementation, hidden, mask, False, position_bias, options)


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
    like, keys = like_scores(hidden), hidden if source is None else source
    if is_prepared(attention_mask):
        return prepared_mask(implementation, like, attention_mask)
    if attention_mask is not None and attention_mask.shape != keys.shape[:2]:
        raise ValueError(
            f"attention_mask has shape {tuple(attention_mask.shape)}; for what is attended to, {tuple(keys.shape[:2])} "
            "is needed"
        )
    if position_ids is not None and (texts := _same_text(position_ids)) is not None:
        if attention_mask is not None:
            texts = texts & attention_mask.bool()[:, None, None]
        return read_by(implementation, prepared_mask(implementation, like, texts))
    config: Any = MaskConfig(implementation if has_mask_function(implementation) else "sdpa")
    source = None if source is None else like_scores(source)
    return read_by(implementation, create_bidirectional_mask(config, like, attention_mask, source))


def _same_text(position_ids: Tensor) -> Tensor | None:
    """(batch or 1, 1, seq, seq) bool, whether two positions are of one text; None where every row is one text."""
    begins = position_ids == 0
    # Tracing cannot read values.
    if not is_traced() and not bool(begins[:, 1:].any()):
        return None
    text = begins.cumsum(1)
    return (text[:, :, None] == text[:, None])[:, None]
