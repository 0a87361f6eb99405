# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Two ways in which a target attends to a source.

`CrossAttention`: queries of the target, keys and values of the source (Vaswani et al., "Attention is all you need",
2017, 3.2.3). `SourceQueryKeyAttention`: queries and keys of the source, values of the target (Nguyen, slides N s44-46).
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import EncoderDecoderCache

from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.attention import AttentionKernel, MultiHeadAttention
from hf_lecture_models.layers.few_rows import FewRowsLinear


class CrossAttention(MultiHeadAttention):
    """Attention to another sequence: o_t = Σ_s a_t[s] v_s with q_t of the target, k_s and v_s of the source."""

    is_causal = False

    def __init__(self, hidden_size: int, num_heads: int, dropout: float = 0.0, layer_index: int = 0):
        super().__init__(hidden_size, num_heads, dropout, layer_index)
        self.q_proj = FewRowsLinear(hidden_size, hidden_size)
        self.kv_proj = FewRowsLinear(hidden_size, 2 * hidden_size)
        self.o_proj = FewRowsLinear(hidden_size, hidden_size)

    def forward(
        self, hidden: Tensor, source: Tensor, attention: AttentionKernel, cache: EncoderDecoderCache | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the target's outputs, (batch, seq, hidden), and the weights (batch, heads, seq, source) if shown.

        Args:
            hidden: (batch, seq, hidden), the target.
            source: (batch, source, hidden).
            attention: from `bidirectional_attention`, given the source.
            cache: keeps keys and values of the source: computed in the first call, read in all later ones.
        """
        (q,) = self.split_heads(self.q_proj(hidden), 1)
        if cache is not None and cache.is_updated.get(self.layer_idx):
            layer: Any = cache.cross_attention_cache.layers[self.layer_idx]
            return self.attend(q, layer.keys, layer.values, attention)
        k, v = self.split_heads(self.kv_proj(source), 2)
        if cache is not None:
            # Each later step reads them whole, which is faster where they lie together.
            k, v = cache.cross_attention_cache.update(k.contiguous(), v.contiguous(), self.layer_idx)
            cache.is_updated[self.layer_idx] = True
        return self.attend(q, k, v, attention)


class SourceQueryKeyAttention(MultiHeadAttention):
    """o_t = Σ_{s ≤ t} a_t[s] v_s with q_t = U_q x_t and k_s = U_k x_s of the source, v_s = U_v h_s of the target.

    x_t is the source brought to the length of the target (`LengthTransform`). The target attends to its own positions,
    and the source only decides how much. So the first position, which attends to itself alone, never sees the source.
    """

    is_causal = True

    def __init__(self, hidden_size: int, num_heads: int, dropout: float = 0.0, layer_index: int = 0):
        super().__init__(hidden_size, num_heads, dropout, layer_index)
        self.qk_proj = FewRowsLinear(hidden_size, 2 * hidden_size)
        # Not v_proj: in Marian's files that is a part of `CrossAttention.kv_proj`.
        self.value_proj = FewRowsLinear(hidden_size, hidden_size)
        self.o_proj = FewRowsLinear(hidden_size, hidden_size)

    def forward(
        self, hidden: Tensor, source: Tensor, attention: AttentionKernel, cache: EncoderDecoderCache | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the outputs, (batch, seq, hidden), and the weights (batch, heads, seq, seen + seq) if shown.

        Args:
            hidden: (batch, seq, hidden), the target.
            source: (batch, seq, hidden), from `LengthTransform`.
            attention: from `causal_attention`.
            cache: this call's keys and values are added to the target's part of it, at `layer_index`.
        """
        q, k = self.split_heads(self.qk_proj(source), 2)
        (v,) = self.split_heads(self.value_proj(hidden), 1)
        if cache is not None:
            k, v = cache.self_attention_cache.update(k, v, self.layer_idx)
        return self.attend(q, k, v, attention)


class LengthTransform(nn.Module):
    """x_t = Σ_s T[t, s] e_s: a source brought to the length of a target (Nguyen, slides N s44-45).

    T is trained. It starts as the identity, which leaves a source of the target's length as it is.

    Args:
        num_positions: the longest target and the longest source; T is their square, sliced for shorter ones.
    """

    def __init__(self, num_positions: int):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(num_positions))

    def draw_weights(self) -> None:
        """Set T to its initial value."""
        init.eye_(self.weight)

    def forward(self, source: Tensor, real: Tensor | None, source_positions: Tensor, positions: Tensor) -> Tensor:
        """(batch, seq, hidden).

        Args:
            source: (batch, source, hidden).
            real: (batch, source), 1 = real token; padding adds nothing. None: all are real.
            source_positions: (batch or 1, source), each token's position in its row.
            positions: (batch or 1, seq), those of the target.

        >>> states = torch.tensor([[[1.0], [2.0], [3.0]]])
        >>> LengthTransform(4)(states, None, torch.tensor([[0, 1, 2]]), torch.tensor([[0, 1]]))[0, :, 0]
        tensor([1., 2.], grad_fn=<SelectBackward0>)
        """
        rows = self.weight[positions[:, :, None], source_positions[:, None]]  # (batch or 1, seq, source)
        if real is not None:
            source = source * real[:, :, None].to(source.dtype)
        return rows.to(source.dtype) @ source
