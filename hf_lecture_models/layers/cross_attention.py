# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Attention from one sequence to another (Vaswani et al., "Attention is all you need", 2017, 3.2.3)."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers.cache_utils import EncoderDecoderCache

from hf_lecture_models.layers.attention import AttentionKernel, MultiHeadAttention


class CrossAttention(MultiHeadAttention):
    """Attention to another sequence: o_t = Σ_s a_t[s] v_s with q_t of the target, k_s and v_s of the source."""

    is_causal = False

    def __init__(self, hidden_size: int, num_heads: int, dropout: float = 0.0, layer_index: int = 0):
        super().__init__(hidden_size, num_heads, dropout, layer_index)
        self.q_proj = nn.Linear(hidden_size, hidden_size)
        self.kv_proj = nn.Linear(hidden_size, 2 * hidden_size)
        self.o_proj = nn.Linear(hidden_size, hidden_size)

    def forward(
        self, hidden: Tensor, source: Tensor, attention: AttentionKernel, cache: EncoderDecoderCache | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Multi-head cross-attention.

        Args:
            hidden: (batch, seq, hidden), the target.
            source: (batch, source, hidden).
            attention: from `bidirectional_attention`, given the source.
            cache: keeps keys and values of the source: computed in the first call, read in all later ones.

        Returns:
            (batch, seq, hidden), and the weights (batch, heads, seq, source) if the kernel shows them.
        """
        (q,) = self.split_heads(self.q_proj(hidden), 1)
        if cache is not None and cache.is_updated.get(self.layer_idx):
            layer: Any = cache.cross_attention_cache.layers[self.layer_idx]
            return self.attend(q, layer.keys, layer.values, attention)
        k, v = self.split_heads(self.kv_proj(source), 2)
        if cache is not None:
            k, v = cache.cross_attention_cache.update(k, v, self.layer_idx)
            cache.is_updated[self.layer_idx] = True
        return self.attend(q, k, v, attention)
