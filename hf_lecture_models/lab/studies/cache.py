# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Caches, which raise the probability of words that the text has used lately.

A cache is a distribution over the last words of the text, interpolated with the model's:

    P'(w | h) = (1 - λ) P(w | h) + λ P_cache(w | h)

The unigram cache (R. Kuhn and R. De Mori, A Cache-Based Natural Language Model for Speech Recognition, 1990) counts the
last N words; if d < 1, older words count less:

    P_cache(w) = Σ_{i=1..N} d^{i-1} 1[w_{t-i} = w] / Σ_{i=1..N} d^{i-1}

The continuous cache (E. Grave, A. Joulin and N. Usunier, Improving Neural Language Models with a Continuous Cache,
2017) prefers words that came after states like the present one, h_t:

    P_cache(w) ∝ Σ_{i=t-N..t-1} 1[w = x_{i+1}] exp(θ h_t · h_i)

Both count `</s>` and `<unk>` like every other word of the text. `<s>` is never predicted, and so is not counted. An
empty cache leaves the model's probability as it is.

Deviations:
- Kuhn and De Mori keep one cache for each part of speech; here one cache has all words, as in most later work.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

# Tokens that are looked up at once, in a matrix with a column for each token that they can see.
_BLOCK = 256


@dataclass(frozen=True)
class Predictions:
    """Consecutive predicted tokens, without `<s>`."""

    words: np.ndarray
    """(tokens,) int64."""
    log_probs: np.ndarray
    """(tokens,) float64, natural logarithms."""
    states: np.ndarray | None = None
    """(tokens, hidden) float32: the last hidden state that predicted each token; None if no cache needs it."""

    def last(self, number: int) -> Predictions:
        """Return a copy of the last `number` tokens."""
        states = None if self.states is None else self.states[-number:].copy()
        return Predictions(self.words[-number:].copy(), self.log_probs[-number:].copy(), states)

    def then(self, others: Predictions) -> Predictions:
        """Return these tokens followed by `others`."""
        states = None
        if self.states is not None and others.states is not None:
            states = np.concatenate([self.states, others.states])
        words = np.concatenate([self.words, others.words])
        return Predictions(words, np.concatenate([self.log_probs, others.log_probs]), states)


@dataclass(frozen=True)
class _Cache(ABC):
    weight: float = 0.1
    window: int = 1000

    needs_states: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.weight < 1:
            raise ValueError(f"weight of a {type(self).__name__} is {self.weight}; it must be at least 0 and below 1")
        if self.window < 1:
            raise ValueError(f"window of a {type(self).__name__} is {self.window}; it must be at least 1")

    def adapt(self, tokens: Predictions, held: Predictions | None = None) -> tuple[np.ndarray, Predictions]:
        """Interpolate the probability of each token with that of the cache, and then add the token to the cache.

        Args:
            tokens: the next tokens of the text.
            held: the contents of the cache, returned by the previous call; None for an empty cache.

        Returns:
            (tokens,) float64, ln P', and the new contents of the cache; `held` itself does not change.
        """
        seen = tokens if held is None else held.then(tokens)
        before = len(seen.words) - len(tokens.words)
        log_probs = tokens.log_probs.copy()
        for first in range(before, len(seen.words), _BLOCK):
            block = slice(first, min(first + _BLOCK, len(seen.words)))
            found, known = self._probabilities(seen, block)
            place = slice(block.start - before, block.stop - before)
            with np.errstate(divide="ignore"):  # ln 0 of a word that the cache does not hold
                mixed = np.logaddexp(log_probs[place] + math.log1p(-self.weight), np.log(self.weight * found))
            log_probs[place] = np.where(known, mixed, log_probs[place])
        return log_probs, seen.last(self.window)

    def _probabilities(self, seen: Predictions, block: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return P_cache (block,) of the words `block` of `seen`, and (block,) False where the cache was empty."""
        columns = slice(max(0, block.start - self.window), block.stop)
        ages = np.arange(block.start, block.stop)[:, None] - np.arange(columns.start, columns.stop)  # (block, window)
        visible = (ages >= 1) & (ages <= self.window)
        log_weights = np.where(visible, self._log_weights(ages, seen, block, columns), -np.inf)
        known = np.asarray(visible.any(axis=1))
        weights = np.exp(log_weights - np.where(known, log_weights.max(1), 0)[:, None])
        same = seen.words[columns] == seen.words[block][:, None]
        return (weights * same).sum(1) / np.where(known, weights.sum(1), 1), known

    @abstractmethod
    def _log_weights(self, ages: np.ndarray, seen: Predictions, block: slice, columns: slice) -> np.ndarray:
        """Return the logarithm of each word's weight (block, window), up to a constant per row."""


@dataclass(frozen=True)
class UnigramCache(_Cache):
    """A cache that counts the last `window` words; with `decay` below 1, older words count less.

    >>> tokens = Predictions(np.array([5, 6, 5]), np.log([0.2, 0.1, 0.2]))
    >>> log_probs, held = UnigramCache(weight=0.5).adapt(tokens)
    >>> np.exp(log_probs).round(2).tolist(), held.words.tolist()  # the second word was not in the cache, the third was
    ([0.2, 0.05, 0.35], [5, 6, 5])

    Args:
        weight: λ, at least 0 and below 1.
        window: N, in tokens.
        decay: d, above 0 and at most 1.

    Raises:
        ValueError: one of them is out of its range.
    """

    decay: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.decay <= 1:
            raise ValueError(f"decay of a UnigramCache is {self.decay}; it must be above 0 and at most 1")

    def _log_weights(self, ages: np.ndarray, seen: Predictions, block: slice, columns: slice) -> np.ndarray:
        return math.log(self.decay) * ages


@dataclass(frozen=True)
class ContinuousCache(_Cache):
    """A cache of the last `window` words, where a word counts more if the state before it resembles the present one.

    >>> states = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], dtype=np.float32)
    >>> tokens = Predictions(np.array([5, 6, 5]), np.log([0.2, 0.1, 0.2]), states)
    >>> log_probs, held = ContinuousCache(weight=0.5, theta=2.0).adapt(tokens)
    >>> np.exp(log_probs).round(2).tolist()
    [0.2, 0.05, 0.54]

    Args:
        weight: λ, at least 0 and below 1.
        window: N, in tokens.
        theta: θ, at least 0; with 0 all words count alike.

    Raises:
        ValueError: one of them is out of its range.
    """

    theta: float = 0.3

    needs_states: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.theta < math.inf:
            raise ValueError(f"theta of a ContinuousCache is {self.theta}; it must be a number of at least 0")

    def _log_weights(self, ages: np.ndarray, seen: Predictions, block: slice, columns: slice) -> np.ndarray:
        assert seen.states is not None
        return (self.theta * (seen.states[block] @ seen.states[columns].T)).astype(np.float64)
