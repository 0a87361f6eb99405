# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Low-rank attention: n keys and values are mixed into k of them before anything is compared (slide Y:601).

Wang et al., "Linformer: self-attention with linear complexity", 2020, section 4. With trained E, F of k x n,

    o_i = Σ_{r = 1 ... k} softmax_r(q_i · (E K)_r / √head_dim) (F V)_r

Each row of E K is a mixture of keys from the whole text, so there is no causal form; and E and F have a column for each
place, so texts have at most n tokens. T tokens cost O(T k). E and F are shared by the heads, not by the layers.
"""

import torch
from torch import Tensor, nn

from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.efficient_attention import EfficientAttention, Rows
from hf_lecture_models.layers.recurrent_cache import State


class LowRankAttention(EfficientAttention):
    """softmax(Q (E K)ᵀ / √head_dim) (F V), all tokens attending to all.

    Args:
        hidden_size: width of input and output; `num_heads` must divide it.
        num_heads: heads.
        projected_length: k.
        longest: n, the most tokens of a text.
    """

    is_causal = False

    def __init__(self, hidden_size: int, num_heads: int, projected_length: int, longest: int):
        super().__init__(hidden_size, num_heads)
        self.key_mix = nn.Parameter(torch.empty(projected_length, longest))
        self.value_mix = nn.Parameter(torch.empty(projected_length, longest))
        self.draw_weights()

    def draw_weights(self) -> None:
        """Draw E and F, so that mixtures of n keys are about as large as one."""
        for mix in (self.key_mix, self.value_mix):
            init.normal_(mix, std=mix.shape[1] ** -0.5)

    def attend_heads(self, hidden: Tensor, rows: Rows, state: State | None) -> tuple[Tensor, None]:
        """Return o_i of each head, (batch, heads, seq, head_dim)."""
        q, k, v = self.split_heads(self.qkv_proj(hidden), 3)
        length = min(k.shape[2], self.key_mix.shape[1])  # a batch may be wider than its longest text
        real = rows.real[:, None, :length, None]
        keys, values = (
            mix[:, :length] @ x[:, :, :length].masked_fill(~real, 0.0)
            for mix, x in ((self.key_mix, k), (self.value_mix, v))
        )
        return (q @ keys.transpose(-1, -2) * self.scaling).softmax(-1) @ values, None
