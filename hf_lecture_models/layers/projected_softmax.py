# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The adaptive softmax whose words have the vectors of the input (`layers/adaptive_embedding.py`).

Dai et al., "Transformer-XL", ACL 2019, after Grave et al. 2017 and Baevski & Auli 2019. With a short list S = C_0 of
frequent words and clusters C_1, C_2, ... of rarer ones

    P(w | h) = softmax([E_0; V] P_0ᵀ h + [b_0; c])[w]                                  w in C_0
    P(w | h) = softmax([E_0; V] P_0ᵀ h + [b_0; c])[slot of C_i] softmax(E_i P_iᵀ h + b_i)[w]       w in C_i

V and c have one row for each cluster, whose slots come after the short list in the order of the clusters. Every word
has a bias, unlike in `layers/adaptive_softmax.py` and `torch.nn.AdaptiveLogSoftmaxWithLoss`.
"""

from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hf_lecture_models.layers.adaptive_embedding import WordProjection, cluster_widths
from hf_lecture_models.layers.adaptive_softmax import ClusteredSoftmax
from hf_lecture_models.layers.execution import with_weights
from hf_lecture_models.layers.word_scores import Layer, WordScores


class BackProjection(WordProjection):
    """Pᵀ h, from hidden states to the width of word vectors, by the matrix of a `WordProjection`."""

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., hidden) -> (..., size)."""
        return F.linear(hidden, self.weight.t())


class ProjectedSoftmax(ClusteredSoftmax):
    """An output layer to log-probabilities, whose matrices are those of an `AdaptiveEmbedding`.

    Args:
        hidden_size: width of h.
        vocab_size: number of words.
        embedding_size, cutoffs, div_val: as for `AdaptiveEmbedding`.

    >>> softmax = ProjectedSoftmax(8, 10, embedding_size=4, cutoffs=[3, 6], div_val=2)
    >>> softmax(torch.zeros(2, 8)).shape
    torch.Size([2, 10])
    """

    def __init__(self, hidden_size: int, vocab_size: int, embedding_size: int, cutoffs: list[int], div_val: int):
        super().__init__()
        self.bounds = [*cutoffs, vocab_size]
        widths = cluster_widths(embedding_size, div_val, len(self.bounds))
        sizes = [vocab_size]
        if div_val > 1:
            sizes = [end - first for first, end in pairwise([0, *self.bounds])]
        self.words = nn.ModuleList(WordScores(width, size) for width, size in zip(widths, sizes, strict=False))
        self.clusters = WordScores(embedding_size, len(cutoffs)) if cutoffs else None
        self.projections = nn.ModuleList()
        if div_val > 1 or embedding_size != hidden_size:
            self.projections.extend(BackProjection(width, hidden_size) for width in widths)

    def __getattr__(self, name: str) -> Any:
        # Without clusters it is one matrix, E_0 P_0ᵀ, and a bias, which programs ask every output layer for.
        if name in ("weight", "bias") and len(self.bounds) == 1:
            parts: list[Any] = [self.words[0], *self.projections]
            if name == "weight" and len(parts) == 2:
                return parts[0].weight @ parts[1].weight.t()
            return getattr(parts[0], name)
        return super().__getattr__(name)

    def cluster(self, number: int, hidden: Tensor) -> tuple[Tensor, Layer]:
        """Return P_iᵀ h, (..., size), and the layer from it to the logits of C_i; with 0, of the first softmax."""
        projected = self.projections[number](hidden) if len(self.projections) else hidden
        words: Layer = self.words[number if len(self.words) > 1 else 0]
        if len(self.words) < len(self.bounds):
            words = partial(self._rows_of_all_words, number)
        if number == 0 and self.clusters is not None:
            words = partial(self._words_and_clusters, words)
        return projected, words

    def _words_and_clusters(self, words: Layer, projected: Tensor) -> Tensor:
        assert self.clusters is not None
        return torch.cat((words(projected), self.clusters(projected)), -1)

    def _rows_of_all_words(self, number: int, projected: Tensor) -> Tensor:
        rows = slice(*[0, *self.bounds][number : number + 2])
        words: Any = self.words[0]

        def logits(projected: Tensor) -> Tensor:
            return F.linear(projected, words.weight[rows], words.bias[rows])

        return with_weights(words, logits, projected)
