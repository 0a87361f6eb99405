# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Linear attention: the exponential of the softmax becomes a product of features (slide Y:601, "approximate dot
product").

Katharopoulos et al., "Transformers are RNNs: fast autoregressive transformers with linear attention", 2020, section 3.
With features φ(x) > 0, exp(q·k) is replaced by φ(q)·φ(k), and the sums no longer depend on the query:

    o_i = Sᵀ φ(q_i) / (z · φ(q_i)),   S = Σ_j φ(k_j) v_jᵀ,  z = Σ_j φ(k_j)

over all j, or causally over j ≤ i: S_i = S_{i-1} + φ(k_i) v_iᵀ, z_i = z_{i-1} + φ(k_i), which is a recurrent network
with the state (S, z). T tokens cost O(T), and generation needs the state only. In training, a chunk of tokens is
computed at once: those of the same chunk by scores, those before by the state at its beginning.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from hf_lecture_models.layers.efficient_attention import EfficientAttention, Rows
from hf_lecture_models.layers.execution import at_least_float32
from hf_lecture_models.layers.recurrent_cache import State

CHUNK = 64
"""Tokens of a chunk: larger ones need more memory, smaller ones more steps."""
_LOWEST = -1e30


class FeatureAttention(EfficientAttention):
    """The base of attentions by features: a subclass has `features`."""

    num_features: int

    def features(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """φ(x) of queries or keys (..., head_dim), as f and s with φ(x) = f exp(s): (..., num_features) and (...).

        Where φ is an exponential, s keeps f within what numbers can be.
        """
        raise NotImplementedError(f"{type(self).__name__} must define features")

    def terms(self, hidden: Tensor, rows: Rows) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return f of queries and of keys, s of keys, and [v; 1], of zero weight at padding."""
        q, k, v = self.split_heads(self.qkv_proj(hidden), 3)
        real = rows.real[:, None]
        # The factor exp(s) of a query is in numerator and denominator.
        q, k, v = map(at_least_float32, (q, k, v))
        (f_q, _), (f_k, s) = self.features(q), self.features(k)
        return f_q, f_k * real[..., None], s.masked_fill(~real, _LOWEST), F.pad(v, (0, 1), value=1.0)


class AllSums(FeatureAttention):
    """Attention to all tokens: S and z are sums over the text."""

    is_causal = False

    def attend_heads(self, hidden: Tensor, rows: Rows, state: State | None) -> tuple[Tensor, None]:
        """Return o_i of each head, (batch, heads, seq, head_dim)."""
        f_q, f_k, s, v = self.terms(hidden, rows)
        weighted = (s - s.amax(-1, keepdim=True)).exp()[..., None] * v
        return _divided(f_q @ (f_k.transpose(-1, -2) @ weighted)).to(hidden.dtype), None


class CausalSums(FeatureAttention):
    """Attention to the tokens up to i: S_i and z_i, chunk by chunk."""

    is_causal = True

    def state_shapes(self, batch: int) -> list[tuple[int, ...]]:
        """Return those of [S z] exp(-m), of m, the largest s so far, and of the count of tokens."""
        heads, size = self.num_heads, self.head_dim + 1
        return [(batch, heads, self.num_features, size), (batch, heads, 1), (batch,)]

    def attend_heads(self, hidden: Tensor, rows: Rows, state: State | None) -> tuple[Tensor, State]:
        """Return o_i of each head, (batch, heads, seq, head_dim), and the state after the call."""
        terms = self.terms(hidden, rows)
        f_q, v = terms[0], terms[3]
        sums, largest = v.new_zeros(*v.shape[:2], f_q.shape[3], v.shape[3]), v.new_full((*v.shape[:2], 1), _LOWEST)
        if state is not None:
            sums, largest = state[:2]
        outputs = []
        # An exported program has no loop over a number of chunks that depends on the text: it computes all scores.
        chunks = [terms] if torch.compiler.is_exporting() else zip(*(t.split(CHUNK, dim=2) for t in terms), strict=True)
        for f_q, f_k, s, v in chunks:
            output, sums, largest = chunk_sums(f_q, f_k, s, v, sums, largest)
            outputs.append(output)
        return torch.cat(outputs, dim=2).to(hidden.dtype), (sums, largest, rows.seen + rows.counts)


def chunk_sums(
    f_q: Tensor, f_k: Tensor, s: Tensor, v: Tensor, sums: Tensor, largest: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return o_i of a chunk, and the state after it. A chunk of one token is the recurrent step.

    Each o_i is computed with weights exp(s_j - m_i), where m_i is the largest s_j up to i, so no later key changes it:
    a maximum over all keys would cancel, but for rounding and underflow.

    Args:
        f_q: (batch, heads, chunk, features), of the queries.
        f_k: the same of the keys.
        s: (batch, heads, chunk), the logarithms of the keys' factors.
        v: (batch, heads, chunk, head_dim + 1), values and ones.
        sums: (batch, heads, features, head_dim + 1), [S z] exp(-m) before the chunk.
        largest: (batch, heads, 1), m before the chunk.
    """
    later = torch.ones(s.shape[-1], s.shape[-1], dtype=torch.bool, device=s.device).triu(1)
    if torch.compiler.is_exporting():  # ONNX does not have cummax
        running = s[..., None, :].masked_fill(later, _LOWEST).amax(-1)
    else:
        running = s.cummax(-1).values
    highest = torch.maximum(running, largest)  # m_i
    weights = (s[..., None, :] - highest[..., None]).masked_fill(later, _LOWEST).exp()
    output = ((f_q @ f_k.transpose(-1, -2)) * weights) @ v
    output = output + (largest - highest).exp()[..., None] * (f_q @ sums)
    last = highest[..., -1:]
    sums = (largest - last).exp()[..., None] * sums + f_k.transpose(-1, -2) @ ((s - last).exp()[..., None] * v)
    return _divided(output), sums, last


def _divided(sums: Tensor) -> Tensor:
    """Return numerators over their denominator, the last number; 0 where there was nothing to add up."""
    denominator = sums[..., -1:]
    return sums[..., :-1] / torch.where(denominator > 0, denominator, 1.0)


class LinearAttention(FeatureAttention):
    """φ(x) = elu(x) + 1, number by number."""

    def __init__(self, hidden_size: int, num_heads: int):
        super().__init__(hidden_size, num_heads)
        self.num_features = self.head_dim

    def features(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return elu(x) + 1, and zeros."""
        return F.elu(x) + 1, x.new_zeros(x.shape[:-1])


class BidirectionalLinearAttention(AllSums, LinearAttention):
    """Linear attention to all tokens."""


class CausalLinearAttention(CausalSums, LinearAttention):
    """Linear attention to the tokens up to i, with the state S and z; all s are 0, so m need not be kept."""

    def state_shapes(self, batch: int) -> list[tuple[int, ...]]:
        """Return those of [S z] and of the count of tokens."""
        sums, _, count = super().state_shapes(batch)
        return [sums, count]

    def attend_heads(self, hidden: Tensor, rows: Rows, state: State | None) -> tuple[Tensor, State]:
        """Return o_i of each head, (batch, heads, seq, head_dim), and the state after the call."""
        if state is not None:
            state = (state[0], state[0].new_zeros(*state[0].shape[:2], 1), state[1])
        heads, (sums, _, count) = super().attend_heads(hidden, rows, state)
        return heads, (sums, count)
