# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The adaptive softmax: a short list of frequent words, and clusters of rarer words with one slot each in that list.

Grave, Joulin, Cissé, Grangier & Jégou, "Efficient softmax approximation for GPUs", ICML 2017; slides Y:278 and Y:435
name the cost that it saves. Words are ranked by frequency and cut into a short list S and clusters C_1, C_2, ...

    P(w | h) = softmax(W h + b)[w]                                        w in S
    P(w | h) = softmax(W h + b)[slot of C_i] softmax(U_i P_i h)[w]        w in C_i

P_i projects h down to hidden / 4^i. Most targets lie in S, so most clusters are computed for few positions.

Deviations: the first softmax has a bias, as the plain output layer has; the clusters have none
(`torch.nn.AdaptiveLogSoftmaxWithLoss` with `head_bias=True`). Where the cuts are is not optimised for the machine.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.execution import at_least_float32
from hf_lecture_models.layers.linear_cross_entropy import linear_cross_entropy
from hf_lecture_models.layers.word_scores import Layer, target_log_probs

_FACTOR = 4
MOST_CLUSTERS = 64
"""The most clusters of an adaptive softmax; published models have two to four."""


def default_cutoffs(vocab_size: int) -> list[int]:
    """Return the cutoffs used when none are given: a sixteenth and five sixteenths of the words.

    >>> default_cutoffs(33_278), default_cutoffs(2)
    ([2079, 10399], [1])
    """
    return sorted({max(1, vocab_size // 16), max(1, vocab_size * 5 // 16)} - {vocab_size})


class ClusteredSoftmax(nn.Module):
    """Log-probabilities of words that are ranked by frequency and cut into a short list and clusters.

    A subclass sets `bounds` and defines `cluster`; where the ids are not the ranks, it defines `ranks_of` too.
    """

    bounds: list[int]
    """The rank at which each of S, C_1, C_2, ... ends; the last one is the number of words."""

    def __getattr__(self, name: str) -> Any:
        if name in ("weight", "bias"):  # which programs ask every output layer for
            raise AttributeError(
                f"{type(self).__name__} has no {name}: its words are in clusters, each with a matrix of its own; call "
                "the layer, or the model's forward"
            )
        return super().__getattr__(name)

    def cluster(self, number: int, hidden: Tensor) -> tuple[Tensor, Layer]:
        """Return P_i h, (..., size), and the layer from it to the logits of C_i; with 0, of the first softmax."""
        raise NotImplementedError(f"{type(self).__name__} must define cluster")

    def ranks_of(self, ids: Tensor) -> Tensor:
        """Return the rank of each word, of any shape: its id."""
        return ids

    def forward(self, hidden: Tensor) -> Tensor:
        """ln P(w | h) of every word: (..., hidden) -> (..., vocab_size) by rank, float32 or wider."""
        projected, words = self.cluster(0, hidden)
        head = _log_softmax(words(projected))
        pieces = [head[..., : self.bounds[0]]]
        for number in range(1, len(self.bounds)):
            projected, words = self.cluster(number, hidden)
            slot = self.bounds[0] + number - 1
            pieces.append(head[..., slot, None] + _log_softmax(words(projected)))
        return torch.cat(pieces, -1)

    def loss(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Return the sum of -ln P(target | h) in nats: (positions, hidden), (positions,) -> a scalar.

        A cluster is computed only where the target lies in it.
        """
        slots, ranks = self._places(targets)
        projected, words = self.cluster(0, hidden)
        total = linear_cross_entropy(projected, words, slots)
        # A cluster without targets adds zero: processes that train together expect a gradient for every parameter.
        for _, projected, words, inside in self._clusters(hidden, slots, ranks):
            total = total + linear_cross_entropy(projected, words, inside)
        return total

    def target_log_probs(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """ln P(target | h), for scoring: (positions, hidden) and (positions,) -> (positions,), float32 or wider."""
        slots, ranks = self._places(targets)
        projected, words = self.cluster(0, hidden)
        scores = target_log_probs(projected, words, slots, self.bounds[0] + len(self.bounds) - 1)
        for rows, projected, words, inside in self._clusters(hidden, slots, ranks):
            scores[rows] += target_log_probs(projected, words, inside, self.bounds[-1])
        return scores

    def _places(self, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return each target's slot in the first softmax, its own or its cluster's, and its rank: (positions,) both."""
        ranks = self.ranks_of(targets)
        slots = ranks
        for slot, (first, end) in enumerate(pairwise(self.bounds), self.bounds[0]):
            slots = slots.masked_fill((first <= ranks) & (ranks < end), slot)
        return slots, ranks

    def _clusters(self, hidden: Tensor, slots: Tensor, ranks: Tensor) -> Iterator[tuple[Tensor, Tensor, Layer, Tensor]]:
        """Yield, for each cluster, the rows whose target lies in it, their P h, U, and the targets' places in it."""
        for number, first in enumerate(self.bounds[:-1]):
            rows = (slots == self.bounds[0] + number).nonzero().squeeze(1)
            projected, words = self.cluster(number + 1, hidden.index_select(0, rows))
            yield rows, projected, words, ranks[rows] - first


class AdaptiveSoftmax(ClusteredSoftmax):
    """An output layer to log-probabilities, which ranks the words by their counts.

    Args:
        hidden_size: width of h.
        vocab_size: number of words.
        cutoffs: the ranks at which clusters begin, ascending, from 1 to vocab_size - 1; default: `default_cutoffs`.
    """

    token_counts: Tensor
    ranks: Tensor

    def __init__(self, hidden_size: int, vocab_size: int, cutoffs: list[int] | None = None):
        super().__init__()
        cutoffs = cutoffs or default_cutoffs(vocab_size)
        self.bounds = [*cutoffs, vocab_size]
        self.head = nn.Linear(hidden_size, cutoffs[0] + len(cutoffs))
        self.tails = nn.ModuleList(
            Tail(hidden_size, max(1, hidden_size // _FACTOR**number), end - first)
            for number, (first, end) in enumerate(pairwise(self.bounds), 1)
        )
        self.register_buffer("token_counts", torch.zeros(vocab_size, dtype=torch.long))
        self.register_buffer("ranks", torch.arange(vocab_size))  # of each id; 0 is the most frequent

    def draw_weights(self) -> None:
        """Start without counts, and with the ids as ranks."""
        init.zeros_(self.token_counts)
        init.copy_(self.ranks, torch.arange(len(self.ranks)))

    @torch.no_grad()
    def set_token_counts(self, counts: Tensor) -> None:
        """Rank the words by how often they occur, (vocab_size,), equally frequent ones and all without counts by id."""
        self.token_counts.copy_(counts)
        order = self.token_counts.argsort(descending=True, stable=True)
        self.ranks[order] = torch.arange(len(order), device=order.device)

    def cluster(self, number: int, hidden: Tensor) -> tuple[Tensor, Layer]:
        """Return P_i h, (..., size), and the layer from it to the logits of C_i; with 0, of the first softmax."""
        if number == 0:
            return hidden, self.head
        tail = self.tails[number - 1]
        assert isinstance(tail, Tail)
        return tail.projection(hidden), tail.words

    def ranks_of(self, ids: Tensor) -> Tensor:
        """Return the rank of each word by frequency, (positions,)."""
        return self.ranks.index_select(0, ids)  # unlike [ids], this refuses negative ones

    def forward(self, hidden: Tensor) -> Tensor:
        """ln P(w | h) of every word: (..., hidden) -> (..., vocab_size) by id, float32 or wider."""
        return super().forward(hidden).index_select(-1, self.ranks)


class Tail(nn.Module):
    """The matrices of one cluster, P and U."""

    def __init__(self, hidden_size: int, projection_size: int, num_words: int):
        super().__init__()
        self.projection = nn.Linear(hidden_size, projection_size, bias=False)
        self.words = nn.Linear(projection_size, num_words, bias=False)


def _log_softmax(logits: Tensor) -> Tensor:
    return at_least_float32(logits).log_softmax(-1)
