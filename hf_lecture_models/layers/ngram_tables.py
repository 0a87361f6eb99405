# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The tables of a back-off n-gram model as numpy arrays, the form of ARPA files; a loaded model has buffers instead.

`ngram_trie.py` says what the keys are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# The largest difference from 1 of a class's probabilities, summed in float32.
TOLERANCE = 1e-3


@dataclass
class NGramTables:
    """The tables that estimation and ARPA files produce. Logarithms are base 10, float32."""

    vocab_size: int
    keys: list[np.ndarray]  # [n-2] for n = 2..order: int64, increasing; a prefix index of order 1 is the word
    log10_probs: list[np.ndarray]  # [n-1]; order 1 is dense over the vocabulary; -inf is probability 0
    log10_backoffs: list[np.ndarray]  # [n-1] for n = 1..order-1; 0 where a context has no weight of its own

    @property
    def order(self) -> int:
        """Words in the longest n-gram."""
        return len(self.log10_probs)

    @property
    def sizes(self) -> list[int]:
        """Number of n-grams of each order."""
        return list(map(len, self.log10_probs))

    def check(self) -> NGramTables:
        """Return self, or raise a ValueError that names the damaged table."""
        sizes = self.sizes
        if sizes[0] != self.vocab_size:
            raise ValueError(f"the 1-gram table has {sizes[0]} rows for a vocabulary of {self.vocab_size}")
        for n, keys in enumerate(self.keys, 2):
            if keys.dtype != np.int64:
                raise ValueError(f"{n}-gram table: the keys are not all int64; the table is damaged")
            if len(keys) != sizes[n - 1] or (keys[1:] <= keys[:-1]).any():
                raise ValueError(f"{n}-gram table: the keys are too few, unsorted or repeated; the table is damaged")
            self._check_range(n, keys)
        for n, probs in enumerate(self.log10_probs, 1):
            if probs.dtype != np.float32 or not (probs <= 0).all():
                rule = "a log-probability is positive or NaN, or not float32"
                raise ValueError(f"{n}-gram table: {rule}; the table is damaged")
        for n, backoffs in enumerate(self.log10_backoffs, 1):
            if backoffs.dtype != np.float32 or len(backoffs) != sizes[n - 1] or not (backoffs < np.inf).all():
                rule = "a back-off weight is missing, infinite or NaN, or not float32"
                raise ValueError(f"{n}-gram table: {rule}; the table is damaged")
        return self

    def _check_range(self, n: int, keys: np.ndarray) -> None:
        if len(keys) and (keys[0] < 0 or keys[-1] >= self.sizes[n - 2] * self.vocab_size):
            raise ValueError(f"{n}-gram table: a key names a prefix that is not stored; the table is damaged")


@dataclass
class HashedNGramTables(NGramTables):
    """Tables whose keys are hashes: sorted, int64, of either sign; those of order 1 are dense, as in `NGramTables`."""

    hash_numbers: np.ndarray  # (vocab,) int64: i(w); an id that no n-gram has is given a number that none has

    def check(self) -> HashedNGramTables:
        """Return self, or raise a ValueError that names the damaged table."""
        numbers = self.hash_numbers
        if numbers.dtype != np.int64 or len(numbers) != self.vocab_size or not (numbers >= 0).all():
            raise ValueError("the words' numbers are negative, not int64, or too few; the table is damaged")
        super().check()
        return self

    def _check_range(self, n: int, keys: np.ndarray) -> None:
        pass  # a hash may be any number


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
