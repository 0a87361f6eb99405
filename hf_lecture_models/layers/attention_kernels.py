# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The choice of the function that computes attention in a call, and the mask in the form that this function reads.

`causal_attention` and `bidirectional_attention` take

    implementation: "eager", "sdpa", "flex_attention", ...: a name that transformers knows.
    hidden: (batch, seq, hidden), the positions that attend; for shape, type and device only.
    position_bias: (batch or 1, heads, seq, keys), added to the scores.
    attention_mask: (batch, keys), 1 = real token of what is attended to; None where all are; or as `layers.masks` takes
        it.
    dropout: dropout probability of the weights in this call, 0 where the model is not training.
"""

from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.cache_utils import Cache

from hf_lecture_models.io.compat import ALL_ATTENTION_FUNCTIONS
from hf_lecture_models.layers.attention import AttentionKernel
from hf_lecture_models.layers.inputs import is_prepared
from hf_lecture_models.layers.masks import bidirectional_mask, causal_mask

ATTENTION_INSTANCES = "attention_instances"
"""The keyword by which a server gives its attention of each layer (`base/guards`); it keeps texts apart itself."""
_TEXT_BOUNDS = ("cu_seq_lens_q", "seq_idx")
_PAGED_EAGER = "paged|eager"
# Up to so many positions, all scores of a layer are small beside the rest of what training keeps.
_SHORT = 1024


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
        implementation = _PAGED_EAGER  # of the two, the one that reads a paged cache
    if ATTENTION_INSTANCES in options:
        return _kernel(implementation, hidden, None, True, position_bias, options)
    mask = causal_mask(implementation, hidden, attention_mask, cache, position_ids)
    return _kernel(implementation, hidden, mask, True, position_bias, options)


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

    >>> bidirectional_attention("eager", torch.zeros(1, 2, 8), attention_mask=torch.tensor([[1, 0]])).mask[0, 0] == 0
    tensor([[ True, False],
            [ True, False]])
    """
    implementation = select_attention_kernel(implementation, hidden, position_bias, dropout)
    if options and ATTENTION_INSTANCES in options:
        return _kernel(implementation, hidden, None, False, position_bias, options)
    mask = bidirectional_mask(implementation, hidden, attention_mask, source, position_ids)
    return _kernel(implementation, hidden, mask, False, position_bias, options)


def _kernel(
    implementation: str,
    hidden: Tensor,
    mask: Any,
    is_causal: bool,
    position_bias: Tensor | None,
    options: dict[str, Any] | None = None,
) -> AttentionKernel:
    function = ALL_ATTENTION_FUNCTIONS.get_interface(implementation, eager_attention)
    if position_bias is not None:
        if implementation == "flex_attention":
            # It reads the bias row by row, and one row serves all only where the others broadcast.
            position_bias = position_bias.expand(hidden.shape[0], -1, -1, -1)
        elif implementation == _PAGED_EAGER:
            mask, position_bias = mask + position_bias, None  # it adds nothing but the mask
        elif implementation not in ("eager", "sdpa") and "position_bias" not in signature(function).parameters:
            raise ValueError(
                f"{implementation!r} attention has no parameter position_bias, which relative and ALiBi positions add "
                "to the scores; set attn_implementation to 'sdpa', 'eager' or 'flex_attention'"
            )
    return AttentionKernel(function, mask, is_causal, position_bias, options)


def select_attention_kernel(
    implementation: str, hidden: Tensor, position_bias: Tensor | None = None, dropout: float = 0.0
) -> str:
    """Return the name to take in place of "sdpa" where torch's kernel is slow or cannot be exported; others stay.

    On the CPU "sdpa" is fused only without dropout and without a trained bias; else it lays out every score, as eager
    does, with more steps. Its backward pass in half precision took 5 times as long as eager's, at 128 positions. Under
    `torch.export` its output's layout depends on a kernel that each later step may choose differently: ONNX failed.
    """
    if implementation == "sdpa" and torch.compiler.is_exporting():
        return "eager"
    if implementation != "sdpa" or hidden.device.type != "cpu" or not torch.is_grad_enabled():
        return implementation
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else hidden.dtype
    # Long inputs keep the kernel, whose memory does not grow with the square of the length.
    slow = dtype.itemsize == 2 and hidden.shape[1] <= _SHORT
    trained_bias = position_bias is not None and position_bias.requires_grad
    return "eager" if dropout > 0 or trained_bias or slow else implementation


def eager_attention(
    module: nn.Module,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float = 1.0,
    position_bias: Tensor | None = None,
    **kwargs: Any,
) -> tuple[Tensor, Tensor]:
    """Return the outputs (batch, seq, heads, head_dim) and weights of the equations, with every score in memory.

    `q` is (batch, heads, seq, head_dim), `k` and `v` (batch, heads, keys, head_dim); `mask` is added to the scores.
    """
    scores = (q * scaling) @ k.transpose(2, 3)  # (batch, heads, seq, keys)
    # These two are added first: they are small as a rule, the same for all rows or all heads.
    if position_bias is not None and mask is not None:
        mask = position_bias + mask
    elif mask is None:
        mask = position_bias
    if mask is not None:
        scores = scores + mask
    weights = F.dropout(torch.softmax(scores, dim=-1), dropout, training=module.training)
    return (weights @ v).transpose(1, 2), weights
