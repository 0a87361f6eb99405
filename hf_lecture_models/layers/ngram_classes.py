# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Look-up in a class-based n-gram model: the tables of a back-off model are over classes, and each word is in one.

P(w | h) = P(w | c_w) P(c_w | classes of h)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hf_lecture_models.layers.execution import method_with_weights
from hf_lecture_models.layers.ngram_trie import NGramTrie

# The largest difference from 1 of a class's probabilities, summed in float32.
TOLERANCE = 1e-3


@dataclass
class WordClasses:
    """The class of each word, and its probability there. Logarithms are base 10, float32.

    >>> WordClasses(3, np.array([0, 0, 1, 2]), np.log10([0.25, 0.75, 1, 1]).astype(np.float32)).check().num_classes
    3
    """

    num_classes: int
    class_of: np.ndarray  # (vocab,) int64
    log10_probs: np.ndarray  # (vocab,): P(word | its class)

    def check(self) -> WordClasses:
        """Return self, or raise a ValueError that says what is damaged."""
        of, probs = self.class_of, self.log10_probs
        if of.dtype != np.int64 or probs.dtype != np.float32 or of.shape != probs.shape:
            raise ValueError("the words' classes are not int64, or their logarithms not float32, or not as many")
        if len(of) and not 0 <= of.min() <= of.max() < self.num_classes:
            raise ValueError(f"a word's class is outside the {self.num_classes} classes; the table is damaged")
        sums = np.bincount(of, 10.0 ** probs.astype(np.float64), minlength=self.num_classes)
        wrong = np.flatnonzero(~(np.abs(sums - 1) <= TOLERANCE))
        if len(wrong) or not (probs <= 0).all():
            first = f"; those of class {wrong[0]} add up to {sums[wrong[0]]:g}" if len(wrong) else ""
            raise ValueError(f"the words of a class do not share a probability of 1{first}; the table is damaged")
        return self


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

    def word_classes(self) -> WordClasses:
        """The words' classes as numpy arrays; on the CPU they share memory."""
        classes, log_probs = self._buffers_of_words()
        return WordClasses(self.vocab_size, classes.numpy(force=True), log_probs.numpy(force=True))

    def load_classes(self, classes: WordClasses) -> None:
        """Take the arrays of ``classes`` as buffers, on the CPU, without a copy."""
        self._buffers["class_of"] = torch.from_numpy(classes.class_of)
        self._buffers["log10_probs_in_class"] = torch.from_numpy(classes.log10_probs)

    def contexts(self, words: Tensor, starts: Tensor) -> Tensor:
        """Find the contexts as `NGramTrie.contexts` does, in n-grams of classes."""
        return super().contexts(self._classes(words)[0], starts)

    def score(self, words: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Score words as `NGramTrie.score` does: the class given the classes before it, times the word in its class."""
        classes, in_class = self._classes(words)
        scores, lengths = super().score(classes, starts)
        return scores + in_class, lengths

    def log_probs(self, contexts: Tensor, words: Tensor) -> Tensor:
        """Return the log-probabilities of words after contexts, as `NGramTrie.log_probs` does."""
        classes, in_class = self._classes(words)
        return super().log_probs(contexts, classes) + in_class

    def distributions(self, contexts: Tensor) -> Tensor:
        """Return the log-probabilities of all words after each context, (rows, vocab)."""
        of_classes = super().distributions(contexts)
        classes, log10_probs = (buffer.to(of_classes.device) for buffer in self._buffers_of_words())
        return of_classes.index_select(1, classes).add_(log10_probs * math.log(10))

    @method_with_weights
    def _buffers_of_words(self) -> tuple[Tensor, Tensor]:
        return self.get_buffer("class_of"), self.get_buffer("log10_probs_in_class")

    @method_with_weights
    def _classes(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Class of each word, and natural log of its probability there; (words,) each."""
        log10_probs = self.get_buffer("log10_probs_in_class").index_select(0, words)
        return self.get_buffer("class_of").index_select(0, words), log10_probs * math.log(10)
