# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Multi-head self-attention (Vaswani et al., "Attention is all you need", 2017, 3.2; slides R:780-860, Y:490-515).

With the rows h_1 ... h_T of an input, and for each head matrices of its own,

    q_t = W_q h_t + b_q,  k_t = W_k h_t + b_k,  v_t = W_v h_t + b_v
    a_t = softmax_s(q_t · k_s / √head_dim + bias[t, s]),  s over the positions that t may attend to
    o_t = Σ_s a_t[s] v_s

and the heads' o_t, side by side, go through W_o. Slide Y:495-514 scales by √d and takes the softmax over columns; right
is the width of the keys, and over the keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.cache_utils import Cache

# Up to so many positions, all scores of a layer are small beside the rest of what training keeps.
_SHORT = 1024

AttentionFunction = Callable[..., tuple[Tensor, Tensor | None]]


class SelfAttention(nn.Module):
    """Queries, keys and values by one matrix product, attention by a function that is handed in, and W_o.

    Args:
        hidden_size: width of input and output; `num_heads` must divide it.
        num_heads: heads, of head_dim = hidden_size / num_heads each.
        layer_index: this layer's place in the cache.
        dropout: share of the attention weights zeroed in training.
    """

    # What the attention functions of transformers read off the module.
    is_causal = True
    num_key_value_groups = 1

    def __init__(self, hidden_size: int, num_heads: int, layer_index: int, dropout: float = 0.0):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, hidden_size // num_heads
        self.scaling = self.head_dim**-0.5
        self.layer_idx = layer_index
        self.dropout = dropout
        self.qkv_proj = nn.Linear(hidden_size, 3 * hidden_size)
        self.o_proj = nn.Linear(hidden_size, hidden_size)

    def forward(
        self,
        hidden: Tensor,
        attention_function: AttentionFunction,
        mask: Any = None,
        cache: Cache | None = None,
        position_bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """AttentionFunction.

        Args:
            hidden: (batch, seq, hidden).
            attention_function: an attention function of transformers, or `eager_attention`.
            mask: what `layers.masks.causal_mask` gives for it.
            cache: keys and values of the tokens before; those of this call are added to it.
            position_bias: (batch or 1, heads, seq, seen + seq), added to the scores.

        Returns:
            (batch, seq, hidden), and the weights (batch, heads, seq, seen + seq) if `attention_function` gives them.
        """
        batch, seq, width = hidden.shape
        qkv = self.qkv_proj(hidden).view(batch, seq, 3, self.num_heads, self.head_dim)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # (batch, heads, seq, head_dim) each
        if cache is not None:
            k, v = cache.update(k, v, self.layer_idx)
        dropout = self.dropout if self.training else 0.0
        options = {} if position_bias is None else {"position_bias": position_bias}
        output, weights = attention_function(self, q, k, v, mask, dropout=dropout, scaling=self.scaling, **options)
        return self.o_proj(output.reshape(batch, seq, width)), weights


def select_attention_kernel(implementation: str, hidden: Tensor, materializes_scores: bool) -> str:
    """The name to take in place of "sdpa" where torch's kernel for it is slow or cannot be exported; others stay.

    On the CPU "sdpa" is fused only without dropout and without a trained bias; else it lays out every score, as eager
    does, with more steps. And its backward pass in half precision took 5 times as long as eager's, at 128 positions.
    Under `torch.export`, what it lays out depends on the kernel that is chosen, anew at each later step: ONNX failed.

    Args:
        implementation: a name that transformers knows.
        hidden: (batch, seq, hidden), what is attended to.
        materializes_scores: the weights are dropped out, or a bias among the scores is trained.
    """
    if implementation == "sdpa" and torch.compiler.is_exporting():
        return "eager"
    if implementation != "sdpa" or hidden.device.type != "cpu" or not torch.is_grad_enabled():
        return implementation
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else hidden.dtype
    # Long inputs keep the kernel, whose memory does not grow with the square of the length.
    slow = dtype.itemsize == 2 and hidden.shape[1] <= _SHORT
    return "eager" if materializes_scores or slow else implementation


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
    """The equations as they stand, every score laid out: (batch, seq, heads, head_dim) and the weights.

    `q` is (batch, heads, seq, head_dim), `k` and `v` (batch, heads, keys, head_dim); `mask` is added to the scores.
    """
    scores = (q * scaling) @ k.transpose(2, 3)  # (batch, heads, seq, keys)
    # Added up first: both are small as a rule, being the same for all rows or all heads.
    added = [given for given in (position_bias, mask) if given is not None]
    if added:
        scores = scores + sum(added)
    weights = F.dropout(torch.softmax(scores, dim=-1), dropout, training=module.training)
    return (weights @ v).transpose(1, 2), weights
