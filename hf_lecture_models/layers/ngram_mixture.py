# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Linear interpolation of n-gram models: P(w | h) = sum_i weight_i P_i(w | h)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.layers.ngram_trie import NGramTrie


class NGramMixture(nn.Module):
    """A mixture with the methods of `NGramTrie`; contexts are those of the first model, then of the second, and so on.

    >>> mixture = NGramMixture([NGramTrie(2, [2]), NGramTrie(4, [4])], [0.5, 0.5])
    >>> mixture.log_probs(torch.zeros(0, 1), torch.tensor([1])).exp()
    tensor([0.3750])
    """

    def __init__(self, tries: Sequence[NGramTrie], weights: Sequence[float]) -> None:
        super().__init__()
        self.tries: Any = nn.ModuleList(tries)  # a type checker takes its items for modules without methods
        self.log_weights = [math.log(weight) for weight in weights]

    def contexts(self, words: Tensor, starts: Tensor) -> Tensor:
        """(contexts, tokens): index of the n-grams that end at each word of a stream, for one model after another."""
        return torch.cat([trie.contexts(words, starts) for trie in self.tries])

    def score(self, words: Tensor, starts: Tensor, measured: bool = False) -> tuple[Tensor, Tensor | None]:
        """Natural log p of each word of a stream given those before it in its row, and no lengths of n-grams."""
        return self._mixed([trie.score(words, starts)[0] for trie in self.tries]), None

    def log_probs(self, contexts: Tensor, words: Tensor) -> Tensor:
        """Natural log p of each word after its contexts, (words,)."""
        return self._mixed([trie.log_probs(own, words) for trie, own in self._with_contexts(contexts)])

    def distributions(self, contexts: Tensor) -> Tensor:
        """Natural log p of every word, (rows, vocab), after contexts of (contexts, rows)."""
        return self._mixed([trie.distributions(own) for trie, own in self._with_contexts(contexts)])

    def _with_contexts(self, contexts: Tensor) -> Iterable[tuple[NGramTrie, Tensor]]:
        return zip(self.tries, contexts.split([trie.order - 1 for trie in self.tries]), strict=True)

    def _mixed(self, log_probs: list[Tensor]) -> Tensor:
        mixed = log_probs[0] + self.log_weights[0]
        for other, log_weight in zip(log_probs[1:], self.log_weights[1:], strict=True):
            mixed = torch.logaddexp(mixed, other + log_weight)
        return mixed
