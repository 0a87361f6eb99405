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

from hf_lecture_models.io.compat import ALL_ATTENTION_FUNCTIONS
from hf_lecture_models.layers.attention import AttentionKernel

ATTENTION_INSTANCES = "attention_instances"
"""The keyword by which a server gives its attention of each layer (`base/guards`); it keeps texts apart itself."""
PAGED_EAGER = "paged|eager"
# Up to so many positions, all scores of a layer are small beside the rest of what training keeps.
_SHORT = 1024


def make_kernel(
    implementation: str,
    hidden: Tensor,
    mask: Any,
    is_causal: bool,
    position_bias: Tensor | None,
    options: dict[str, Any] | None = None,
) -> AttentionKernel:
    """Return what every layer needs in a call; a ValueError for a position bias that the function does not read."""
    function = ALL_ATTENTION_FUNCTIONS.get_interface(implementation, eager_attention)
    if position_bias is not None:
        if implementation == "flex_attention":
            # It reads the bias row by row, and one row serves all only where the others broadcast.
            position_bias = position_bias.expand(hidden.shape[0], -1, -1, -1)
        elif implementation == PAGED_EAGER:
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
    does, with more steps. In half precision its backward pass took 5 times as long as eager's (128 tokens), one token
    of 80 rows 3 to 8 times. Under `torch.export` its layout depends on a kernel that each step may choose: ONNX failed.
    """
    if implementation == "sdpa" and torch.compiler.is_exporting():
        return "eager"
    if implementation != "sdpa" or hidden.device.type != "cpu":
        return implementation
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else hidden.dtype
    if not torch.is_grad_enabled():
        return "eager" if dtype == torch.bfloat16 and hidden.shape[1] == 1 and len(hidden) >= 16 else implementation
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
