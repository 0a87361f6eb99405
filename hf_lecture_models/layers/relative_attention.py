# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Causal attention with relative positions over a memory of earlier states (Transformer-XL).

Dai et al., "Transformer-XL: attentive language models beyond a fixed-length context", ACL 2019, section 3.3. With the
states h_i of a segment, h~ = [m; h] after its memory m, and the distance i - j in tokens, of each head

    q_i = W_q h_i,  k_j = W_k h~_j,  v_j = W_v h~_j,  r_p = W_r R_p
    score[i, j] = ((q_i + u) · k_j + (q_i + v) · r_{i-j}) / √head_dim          j ≤ i
    o_i = W_o Σ_j softmax_j(score[i, j]) v_j

u and v say how much a key, and how much a distance, counts for any query. R_p is a vector of sines and cosines.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from hf_lecture_models.layers.attention import AttentionKernel, MultiHeadAttention


class ScoreBiases(nn.Module):
    """u and v, (heads, head_dim) each; some models have one pair in all layers."""

    def __init__(self, num_heads: int, head_dim: int):
        super().__init__()
        self.content = nn.Parameter(torch.empty(num_heads, head_dim))
        self.position = nn.Parameter(torch.empty(num_heads, head_dim))

    def forward(self) -> tuple[Tensor, Tensor]:
        """u and v."""
        return self.content, self.position


class Distances(NamedTuple):
    """How far the keys of a call are from its queries, the same for all layers."""

    vectors: Tensor
    """(keys, hidden), R_p of the distances p = 0, 1, ..., keys - 1."""
    rows: Tensor
    """(batch or 1, seq, keys), the distance of each key from each query; 0 for later keys, which are masked."""


class RelativeSelfAttention(MultiHeadAttention):
    """o_i of each position, from its segment and the memory.

    Args:
        hidden_size: width of input and output.
        num_heads, head_dim: heads, and their width.
        dropout: dropout probability of the attention weights.
    """

    is_causal = True

    def __init__(self, hidden_size: int, num_heads: int, head_dim: int, dropout: float = 0.0):
        width = num_heads * head_dim
        super().__init__(width, num_heads, dropout)
        self.q_proj = nn.Linear(hidden_size, width, bias=False)
        self.k_proj = nn.Linear(hidden_size, width, bias=False)
        self.v_proj = nn.Linear(hidden_size, width, bias=False)
        self.r_proj = nn.Linear(hidden_size, width, bias=False)
        self.o_proj = nn.Linear(width, hidden_size, bias=False)

    def forward(
        self,
        hidden: Tensor,
        memory: Tensor | None,
        u: Tensor,
        v: Tensor,
        distances: Distances,
        attention: AttentionKernel,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the outputs, (batch, seq, hidden), and the weights (batch, heads, seq, memory + seq) if shown.

        Args:
            hidden: (batch, seq, hidden).
            memory: (batch, memory, hidden), the states before; None for none.
            u, v: (heads, head_dim).
            distances: of the memory + seq keys.
            attention: from `causal_attention`; its position bias is replaced by this layer's.
        """
        extended = hidden if memory is None else torch.cat((memory, hidden), 1)
        q, r = self._heads(self.q_proj(hidden)), self._heads(self.r_proj(distances.vectors))
        keys, values = self._heads(self.k_proj(extended)), self._heads(self.v_proj(extended))
        scores = ((q + v[:, None]) * self.scaling) @ r.transpose(1, 2)  # (batch, heads, seq, distances)
        # By distance so far, for each query; now each key gets the score of its own distance.
        scores = scores.gather(3, distances.rows[:, None].expand(scores.shape))
        return self.attend(q + u[:, None], keys, values, attention._replace(position_bias=scores))

    def _heads(self, projected: Tensor) -> Tensor:
        """(..., seq, heads * head_dim) -> (..., heads, seq, head_dim)."""
        return projected.unflatten(-1, (self.num_heads, self.head_dim)).transpose(-2, -3)
