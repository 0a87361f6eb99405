# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Word vectors that are narrower for rarer words, and the adaptive softmax that shares them.

Baevski & Auli, "Adaptive input representations for neural language modeling", ICLR 2019, section 3; as Dai et al.,
"Transformer-XL", ACL 2019, use them. The ids are ranks by frequency, and `cutoffs` cut them into a short list
S = C_0 and clusters C_1, C_2, ... A word w of C_i has a vector E_i[w] of width embedding_size / div_val^i.

    input of the first layer:  √hidden P_i E_i[w]          w in C_i; P_i: (hidden, width of E_i)

`layers/projected_softmax.py` predicts with the same vectors. With div_val = 1 one matrix holds the vectors of all
words, and P is left out where it would not change the width.
"""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hf_lecture_models.layers.inputs import check_token_ids


def cluster_widths(embedding_size: int, div_val: int, num_clusters: int) -> list[int]:
    """Return the width of the vectors of each cluster, the short list first.

    >>> cluster_widths(1024, 4, num_clusters=4)
    [1024, 256, 64, 16]
    """
    return [embedding_size // div_val**number for number in range(num_clusters)]


class WordProjection(nn.Module):
    """P e, from word vectors to hidden states. Like `WordScores` it is not an `nn.Linear`: its matrix is shared.

    Args:
        size: width of e.
        hidden_size: width of the result.
    """

    def __init__(self, size: int, hidden_size: int):
        super().__init__()
        self.weight = nn.Linear(size, hidden_size, bias=False).weight

    def forward(self, vectors: Tensor) -> Tensor:
        """(..., size) -> (..., hidden)."""
        return F.linear(vectors, self.weight)


class AdaptiveEmbedding(nn.Module):
    """√hidden P_i E_i[w].

    Args:
        hidden_size: width of the result.
        vocab_size: number of words.
        embedding_size: width of the vectors of the most frequent words.
        cutoffs: the ids at which clusters begin, ascending.
        div_val: each cluster's vectors are narrower than the one's before by this factor; with 1 all words are in one
            matrix.

    >>> embedding = AdaptiveEmbedding(8, vocab_size=10, embedding_size=4, cutoffs=[3, 6], div_val=2)
    >>> [tuple(vectors.weight.shape) for vectors in embedding.vectors]
    [(3, 4), (3, 2), (4, 1)]
    """

    def __init__(self, hidden_size: int, vocab_size: int, embedding_size: int, cutoffs: list[int], div_val: int):
        super().__init__()
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        self.bounds = [0, vocab_size] if div_val == 1 else [0, *cutoffs, vocab_size]
        widths = cluster_widths(embedding_size, div_val, len(self.bounds) - 1)
        sizes = [end - first for first, end in pairwise(self.bounds)]
        self.vectors = nn.ModuleList(nn.Embedding(size, width) for size, width in zip(sizes, widths, strict=True))
        self.projections = nn.ModuleList()
        if div_val > 1 or embedding_size != hidden_size:
            self.projections.extend(WordProjection(width, hidden_size) for width in widths)

    def forward(self, ids: Tensor) -> Tensor:
        """(batch, seq) -> (batch, seq, hidden).

        Raises:
            ValueError: an id is outside the vocabulary.
        """
        check_token_ids(ids, self.vocab_size)
        if len(self.vectors) == 1:
            return self._look_up(0, ids) * math.sqrt(self.hidden_size)
        flat, found = ids.flatten(), []
        for number, (first, end) in enumerate(pairwise(self.bounds)):
            rows = ((first <= flat) & (flat < end)).nonzero().squeeze(1)
            found.append((rows, self._look_up(number, flat[rows] - first)))
        rows, vectors = (torch.cat(parts) for parts in zip(*found, strict=True))
        return vectors[rows.argsort()].unflatten(0, ids.shape) * math.sqrt(self.hidden_size)

    def _look_up(self, number: int, ids: Tensor) -> Tensor:
        vectors = self.vectors[number](ids)
        return self.projections[number](vectors) if len(self.projections) else vectors
