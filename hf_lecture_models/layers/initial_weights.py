# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Linear layers and word vectors that start in ways of their own; a model's others start normal, with biases of zero.

Loaded tensors stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from hf_lecture_models.io.compat import init


class UniformLinear(nn.Linear):
    """A x + b, which starts by torch's own rule: A and b uniform within 1/√inputs."""

    def draw_weights(self) -> None:
        """Set A and b."""
        bound = self.in_features**-0.5
        init.uniform_(self.weight, -bound, bound)
        init.uniform_(self.bias, -bound, bound)


class StateLinear(UniformLinear):
    """A [h; u] + b, which starts with the identity for h, b = 0, and torch's rule for u; or as another layer starts.

    Args:
        state_size: width of h and of the output.
        input_size: width of u.
        like: the layer that it starts as.
    """

    def __init__(self, state_size: int, input_size: int, like: StateLinear | None = None):
        super().__init__(state_size + input_size, state_size)
        self.like = () if like is None else (like,)  # in a tuple, it is not a part of this layer

    def draw_weights(self) -> None:
        """Set A and b."""
        super().draw_weights()
        for first in self.like:
            init.copy_(self.weight, first.weight)
            init.copy_(self.bias, first.bias)
        if not self.like:
            identity = torch.eye(self.out_features, dtype=self.weight.dtype, device=self.weight.device)
            init.copy_(self.weight, torch.cat((identity, self.weight[:, len(identity) :]), 1))
            init.zeros_(self.bias)


class OneVectorEmbedding(nn.Embedding):
    """Word vectors that all start as one random vector (Le, Allauzen, Wisniewski & Yvon 2010)."""

    def draw_weights(self) -> None:
        """Give all words the vector of the first."""
        init.copy_(self.weight, self.weight[:1].clone().expand_as(self.weight))


class SmallEmbedding(nn.Embedding):
    """Word vectors that start uniform within 1/(2 width), and at 0 for special tokens, as in word2vec.c.

    Args:
        num_words: number of words.
        width: width of the vectors.
        special_ids: the ids of the special tokens.
    """

    def __init__(self, num_words: int, width: int, special_ids: Sequence[int] = ()):
        super().__init__(num_words, width)
        self.special_ids = special_ids

    def draw_weights(self) -> None:
        """Set the vectors."""
        init.uniform_(self.weight, -0.5 / self.embedding_dim, 0.5 / self.embedding_dim)
        for id_ in self.special_ids:
            init.zeros_(self.weight[id_])
