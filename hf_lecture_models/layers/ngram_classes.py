# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Look-up in a class-based n-gram model: the tables of a back-off model are over classes, and each word is in one.

P(w | h) = P(w | c_w) P(c_w | classes of h)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from hf_lecture_models.layers.execution import method_with_weights
from hf_lecture_models.layers.ngram_trie import NGramTrie


class ClassNGramTrie(NGramTrie):
    """An `NGramTrie` whose methods take words, (tokens,) ids, and whose tables are over classes.

    In a new one all classes are equally large and equally probable, and so are the words in each; ``non_events`` share
    the last class, whose probability is 0.
    """

    def __init__(
        self,
        vocab_size: int,
        num_classes: int,
        sizes: Sequence[int],
        non_events: Sequence[int] = (),
        bits: int | None = None,
    ) -> None:
        super().__init__(num_classes, sizes, [num_classes - 1] if non_events else [], bits)
        self.arguments = (vocab_size, num_classes, sizes, non_events, bits)
        classes = torch.arange(vocab_size) % (num_classes - bool(non_events))
        classes[list(non_events)] = num_classes - 1
        self.register_buffer("class_of", classes)
        words_in = torch.zeros(num_classes, dtype=torch.float32)
        words_in.index_add_(0, classes, torch.ones(vocab_size, dtype=torch.float32))
        self.register_buffer("log10_probs_in_class", -words_in[classes].log10())

    def contexts(self, words: Tensor, starts: Tensor) -> Tensor:
        """Find the contexts as `NGramTrie.contexts` does, in n-grams of classes."""
        return super().contexts(self._classes(words)[0], starts)

    def score(self, words: Tensor, starts: Tensor, measured: bool = False) -> tuple[Tensor, Tensor | None]:
        """Score words as `NGramTrie.score` does: the class given the classes before it, times the word in its class."""
        classes, in_class = self._classes(words)
        scores, lengths = super().score(classes, starts, measured)
        return scores + in_class, lengths

    def log_probs(self, contexts: Tensor, words: Tensor) -> Tensor:
        """Return the log-probabilities of words after contexts, as `NGramTrie.log_probs` does."""
        classes, in_class = self._classes(words)
        return super().log_probs(contexts, classes) + in_class

    def distributions(self, contexts: Tensor) -> Tensor:
        """Return the log-probabilities of all words after each context, (rows, vocab)."""
        of_classes = super().distributions(contexts)
        words = torch.arange(len(self.get_buffer("class_of")), device=of_classes.device)
        classes, in_class = self._classes(words)
        return of_classes.index_select(1, classes).add_(in_class)

    @method_with_weights
    def _classes(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Class of each word, and natural log of its probability there; (words,) each."""
        log10_probs = self.get_buffer("log10_probs_in_class").index_select(0, words)
        return self.get_buffer("class_of").index_select(0, words), log10_probs * math.log(10)
