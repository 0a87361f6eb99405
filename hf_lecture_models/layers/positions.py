# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Position encodings, which give attention the place of each token, or none (slides R:892-928, Y:531-537).

Each is a module with one call, `encoding(words, positions, key_positions)`:

    words: (batch, seq, hidden), the word vectors of this call.
    positions: (batch or 1, seq), each token's place among the real tokens of its row, counted from 0
        (`layers.token_positions`).
    key_positions: (batch or 1, seq or 1, keys), the places of the tokens attended to (`layers.token_positions`).

It returns the input of the first layer, (batch, seq, hidden), and the bias that every layer adds to its attention
scores, (batch or 1, heads, seq, keys), or None.
"""

import math

import torch
from torch import Tensor, nn

from hf_lecture_models.layers.sinusoids import sinusoids


class NoPositions(nn.Module):
    """w alone. Attention that sees all tokens is permutation-equivariant: f(P w) = P f(w) (slides R:892-894).

    Attention that sees earlier tokens only is not, from the second layer on: the first layer's output at t depends on
    the set of tokens up to t, so that later layers can tell their order (Haviv et al., "Transformer language models
    without positional encodings still learn positional information", 2022).

    >>> encoding, words = NoPositions(), torch.ones(1, 3, 4)
    >>> encoding(words, torch.arange(3)[None], torch.arange(3)[None, None])[0] is words
    True
    """

    def forward(self, words: Tensor, positions: Tensor, key_positions: Tensor) -> tuple[Tensor, None]:
        """The word vectors as they are, (batch, seq, hidden), and no bias."""
        return words, None


class SinusoidalPositions(nn.Module):
    """√hidden w + p_t, where p_t[2k] = sin(t / 10000^(2k/hidden)), p_t[2k+1] = cos(t / 10000^(2k/hidden)).

    Vaswani et al., "Attention is all you need", 2017, sections 3.4 and 3.5, with k = 0 ... hidden/2 - 1 (slide R:912
    counts from 1). The vectors are computed, so that every position has one.

    Args:
        hidden_size: width of the word vectors, even.
        factor: the factor of w; None: √hidden, as in the paper.
    """

    def __init__(self, hidden_size: int, factor: float | None = None):
        super().__init__()
        self.hidden_size = hidden_size
        self.factor = math.sqrt(hidden_size) if factor is None else factor

    def forward(self, words: Tensor, positions: Tensor, key_positions: Tensor) -> tuple[Tensor, None]:
        """√hidden w + p_t, (batch, seq, hidden), and no bias."""
        wide = torch.promote_types(words.dtype, torch.float32)
        vectors = self.arrange(*sinusoids(positions.to(wide), self.hidden_size))
        return words * self.factor + vectors.to(words.dtype), None

    def arrange(self, sines: Tensor, cosines: Tensor) -> Tensor:
        """Join two halves (..., hidden / 2) as sine, cosine, sine, cosine, ...: (..., hidden)."""
        return torch.stack((sines, cosines), dim=-1).flatten(-2)


class SinesFirstPositions(SinusoidalPositions):
    """√hidden w + p_t, where p_t[k] = sin(t / 10000^(2k/hidden)), p_t[hidden/2 + k] = cos(t / 10000^(2k/hidden)).

    The same numbers in the order of Marian and its checkpoints, all sines before all cosines (Junczys-Dowmunt et al.,
    "Marian: fast neural machine translation in C++", 2018).
    """

    def arrange(self, sines: Tensor, cosines: Tensor) -> Tensor:
        """Join two halves (..., hidden / 2), all sines before all cosines: (..., hidden)."""
        return torch.cat((sines, cosines), dim=-1)


class LearnedPositions(nn.Module):
    """w + p_t, a trained vector for each position (Gehring et al. 2017; Radford et al. 2018).

    Args:
        num_positions: number of positions; later ones have no vector.
        hidden_size: width of the word vectors.
    """

    def __init__(self, num_positions: int, hidden_size: int):
        super().__init__()
        self.embed_positions = nn.Embedding(num_positions, hidden_size)

    def forward(self, words: Tensor, positions: Tensor, key_positions: Tensor) -> tuple[Tensor, None]:
        """w + p_t, (batch, seq, hidden), and no bias; `bounded_positions` refuses positions that have no vector."""
        return words + self.embed_positions(positions), None


class RelativePositions(nn.Module):
    """A trained number per head and bucket of distances, added to the scores: score(t, s) + b[bucket(t - s)].

    Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text Transformer", 2020, section
    2.1: one table for all layers. Half of the buckets hold one distance each. The others hold ranges that widen
    logarithmically up to `max_distance`, and the last one all larger distances.

    Args:
        num_heads: heads per layer.
        num_buckets: buckets, at least 2.
        max_distance: from here on, distances share the last bucket; more than half of `num_buckets`.
    """

    def __init__(self, num_heads: int, num_buckets: int, max_distance: int):
        super().__init__()
        self.num_buckets, self.max_distance = num_buckets, max_distance
        self.bias = nn.Embedding(num_buckets, num_heads)

    def buckets(self, distances: Tensor) -> Tensor:
        """The bucket of each distance query - key, of any shape."""
        return causal_buckets(distances, self.num_buckets, self.max_distance)

    def forward(self, words: Tensor, positions: Tensor, key_positions: Tensor) -> tuple[Tensor, Tensor]:
        """The word vectors as they are, and b[bucket(t - s)] of each head: (batch or 1, heads, seq, keys)."""
        bias = self.bias(self.buckets(positions[:, :, None] - key_positions))
        return words, bias.permute(0, 3, 1, 2)  # (batch or 1, heads, seq, keys)


def causal_buckets(distances: Tensor, num_buckets: int, max_distance: int) -> Tensor:
    """The bucket of each distance query - key, of any shape; keys ahead, which are masked, share bucket 0.

    >>> causal_buckets(torch.tensor([-3, 0, 1, 3, 4, 6, 15, 16, 99]), num_buckets=8, max_distance=16).tolist()
    [0, 0, 1, 3, 4, 5, 7, 7, 7]
    """
    exact = num_buckets // 2
    distances = distances.clamp(min=0)
    # Below `exact` the logarithm is not used; the clamp keeps it from being that of 0.
    octaves = torch.log(distances.clamp(min=exact).float() / exact) / math.log(max_distance / exact)
    wide = exact + (octaves * (num_buckets - exact)).long()
    return torch.where(distances < exact, distances, wide.clamp(max=num_buckets - 1))


class BidirectionalRelativePositions(RelativePositions):
    """`RelativePositions` for attention to both sides: half of the buckets are for earlier keys, half for later ones.

    Args:
        num_heads: heads per layer.
        num_buckets: buckets of both sides together, even and at least 4.
        max_distance: from here on, distances share the last bucket of their side; more than a quarter of `num_buckets`.
    """

    def buckets(self, distances: Tensor) -> Tensor:
        """The bucket of each distance query - key, of any shape."""
        return bidirectional_buckets(distances, self.num_buckets, self.max_distance)


def bidirectional_buckets(distances: Tensor, num_buckets: int, max_distance: int) -> Tensor:
    """The bucket of each distance query - key, of any shape; keys ahead have the second half of the buckets.

    >>> bidirectional_buckets(torch.tensor([99, 3, 1, 0, -1, -3, -99]), num_buckets=8, max_distance=16).tolist()
    [3, 2, 1, 0, 5, 6, 7]
    """
    half = num_buckets // 2
    return causal_buckets(distances.abs(), half, max_distance) + half * (distances < 0)


class AlibiPositions(nn.Module):
    """A penalty that grows with distance, added to the scores: score(t, s) - m_head (t - s).

    Press, Smith & Lewis, "Train short, test long: attention with linear biases enables input length extrapolation",
    2022, section 3. The penalties are not trained.

    Args:
        num_heads: heads per layer.
    """

    def __init__(self, num_heads: int):
        super().__init__()
        self.slopes = alibi_slopes(num_heads)

    def forward(self, words: Tensor, positions: Tensor, key_positions: Tensor) -> tuple[Tensor, Tensor]:
        """The word vectors as they are, and -m_head (t - s): (batch or 1, heads, seq, keys)."""
        slopes = torch.tensor(self.slopes, device=words.device)
        distances = (positions[:, :, None] - key_positions)[:, None]
        return words, (-slopes[:, None, None] * distances).to(words.dtype)  # (batch or 1, heads, seq, keys)


def alibi_slopes(num_heads: int) -> list[float]:
    """The m of each head: for a power of two 2^(-8/heads), 2^(-16/heads), ..., 2^-8.

    For other numbers, as in Press et al.'s code, they are the slopes of the next smaller power of two, then every other
    slope of its double.

    >>> alibi_slopes(3)
    [0.0625, 0.00390625, 0.25]
    """
    power = 2 ** int(math.log2(num_heads))
    slopes = [2.0 ** (-8 * i / power) for i in range(1, power + 1)]
    return slopes + [2.0 ** (-4 * i / power) for i in range(1, 2 * (num_heads - power), 2)]
