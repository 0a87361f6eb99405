# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the removal of an n-gram changes in a back-off model, for all n-grams of a table at a time.

Without the n-gram hw, w after h has the probability p'(w|h) = bow'(h) p(w|h'), where h' is h without its first word.
The new back-off weight is such that the context still sums to one (A. Stolcke, Entropy-based Pruning of Backoff
Language Models, 1998, equations 2 to 6):

    left(h)  = 1 - sum of p(v|h) over the v listed after h                 = bow(h) free(h)
    free(h)  = 1 - sum of p(v|h') over the v listed after h
    bow'(h)  = (left(h) + p(w|h)) / (free(h) + p(w|h'))
    D(p||p') = P(h) { p(w|h) [ln p(w|h) - ln p'(w|h)] + left(h) [ln bow(h) - ln bow'(h)] }

The relative change of the perplexity is exp(D) - 1. The weighted difference (K. Seymore and R. Rosenfeld, Scalable
Backoff Language Models, 1996; equation 7 of Stolcke) leaves out the second term, what all other words lose or gain:

    N(hw) [ln p(w|h) - ln p'(w|h)]

with N(hw) the count of hw, or its probability P(h) p(w|h).

Deviation: where all words are listed after h, nothing is left, and the removal of any one of them changes nothing. The
n-gram of the lowest probability is then judged so, and the others as if it were removed already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from hf_lecture_models.models.ngram.tools.contexts import ROWS_AT_ONCE, Contexts, power_of_ten


@dataclass
class Siblings:
    """The n-grams hw of one order, and the contexts h that they share.

    >>> probs, lower, left, free = np.log10([0.5, 0.4]), np.array([0.5, 0.1]), np.array([0.1]), np.array([0.4])
    >>> siblings = Siblings(np.array([7, 8]), 10, probs, lower, left, free, np.array([], int))
    >>> siblings.changes(np.array([0.2])).round(3).tolist()  # P(h) = 0.2; 0.4 is much larger than 0.1
    [0.021, 0.087]

    Attributes:
        keys, vocab_size: (n-grams,) as in the tables: the index of h among the n-grams of the order below, and w.
        log10_probs: (n-grams,) log10 p(w|h).
        lower: (n-grams,) p(w|h').
        left, free: (contexts,) as above, of the n-gram's neighbours.
        unmoved: (some n-grams,) those whose removal alone changes nothing.
    """

    keys: np.ndarray
    vocab_size: int
    log10_probs: np.ndarray
    lower: np.ndarray
    left: np.ndarray
    free: np.ndarray
    unmoved: np.ndarray

    def changes(self, history: np.ndarray) -> np.ndarray:
        """Return the relative change of the perplexity by the removal of each n-gram, (n-grams,) float64.

        P(h), ``history``, is (contexts,). The values take the memory of `lower`.
        """
        values = self.lower
        for rows, at, probs, ratios, weights in self._blocks():
            # Where nothing is left, its logarithm does not matter.
            old = np.log(self.left[at], out=np.zeros(len(at)), where=self.left[at] > 0) - np.log(self.free[at])
            values[rows] = np.expm1(_times(history[at], _times(probs, ratios) + self.left[at] * (old - weights)))
        values[self.unmoved] = 0
        return np.maximum(values, 0, out=values)  # what is below 0 is rounding

    def weighted_differences(self, history: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
        """Return N(hw) [ln p - ln p'] for each n-gram, (n-grams,) float64.

        N(hw) are the ``counts``, (n-grams,), or else P(h) p(w|h), where P(h), ``history``, is (contexts,). The values
        take the memory of `lower`.
        """
        values = self.lower
        for rows, at, probs, ratios, _ in self._blocks():
            values[rows] = _times(history[at] * probs if counts is None else counts[rows], ratios)
        values[self.unmoved] = 0
        return values

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield rows, their contexts, p, ln p - ln p' and ln bow', each (rows,), for some rows at a time."""
        for start in range(0, len(self.keys), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            at, lower = self.keys[rows] // self.vocab_size, self.lower[rows]
            logs = self.log10_probs[rows] * np.log(10.0)
            probs = np.exp(logs)
            with np.errstate(divide="ignore", invalid="ignore"):
                weights = np.log(self.left[at] + probs) - np.log(self.free[at] + lower)
                # A word that is impossible after h and h' stays so.
                ratios = np.where(probs > 0, logs - np.log(lower) - weights, 0)
                weights[np.isinf(weights)] = 0
                yield rows, at, probs, ratios, weights


def judged(
    contexts: Contexts, n: int, totals: np.ndarray, measure: Callable[[Siblings], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return what a measure says of the n-grams of order n, and what is left to other words after their contexts.

    Args:
        contexts: those of the model.
        n: 2 or more.
        totals: the sum over all words after each shorter context; that after the contexts of n - 1 words is written.
        measure: one of the methods of `Siblings`.
    """
    keys = contexts.keys[n - 2].numpy()
    log10_probs, lower = contexts.probs[contexts.first[n] : contexts.first[n + 1]], np.empty(len(keys))
    left, free, some = contexts.left(n - 1, totals, lower)
    least = _least_of_full(keys, contexts.vocab_size, log10_probs, lower, ~some)
    at = keys[least] // contexts.vocab_size
    left[at], free[at] = power_of_ten(log10_probs[least]), lower[least]
    values = measure(Siblings(keys, contexts.vocab_size, log10_probs, lower, left, free, least))
    left[at] = 0
    return values, left


def _least_of_full(
    keys: np.ndarray, vocab_size: int, log10_probs: np.ndarray, lower: np.ndarray, full: np.ndarray
) -> np.ndarray:
    """Return the n-gram of the lowest probability after each context that is `full`: after which all words are listed.

    >>> keys, log10_probs = np.array([0, 1, 10, 11, 12]), np.array([-1.0, -2, -3, -4, -4])
    >>> _least_of_full(keys, 10, log10_probs, np.ones(5), np.array([False, True])).tolist()
    [3]
    """
    at = np.flatnonzero(full)
    firsts, ends = np.searchsorted(keys, at * vocab_size), np.searchsorted(keys, (at + 1) * vocab_size)
    found = [np.zeros(0, np.int64)]
    for first, end in zip(firsts[ends > firsts].tolist(), ends[ends > firsts].tolist(), strict=True):
        rows = first + np.flatnonzero(lower[first:end] > 0)
        found.append(rows[np.argmin(log10_probs[rows])][None] if rows.size else rows)
    return np.concatenate(found)


def context_probs(contexts: Contexts, begin: int | None, end: int | None) -> np.ndarray:
    """Return P(h) of each context by the model itself, (contexts,) float64 by number; `<s>` counts as `</s>`."""
    log10_probs = np.zeros(len(contexts.suffixes))
    log10_probs[1 : 1 + contexts.vocab_size] = contexts.probs[1 : 1 + contexts.vocab_size][: len(log10_probs) - 1]
    if contexts.order > 1 and begin is not None and end is not None:
        log10_probs[1 + begin] = contexts.probs[1 + end]
    for n in range(2, contexts.order):
        for rows in contexts.blocks(n):
            log10_probs[contexts.first[n] + rows] = log10_probs[contexts.prefixes(n, rows)]
        here = slice(contexts.first[n], contexts.first[n + 1])
        log10_probs[here] += contexts.probs[here]
    return power_of_ten(log10_probs)


def context_probs_of(
    contexts: Contexts, other: Contexts, ids: np.ndarray, begin: int | None, end: int | None
) -> np.ndarray:
    """Return P(h) of each context by another model, in which our word w has the number ``ids[w]``, (vocab,)."""
    log10_probs, places = np.zeros(len(contexts.suffixes)), np.zeros(len(contexts.suffixes), np.int64)
    if contexts.order > 1:
        log10_probs[1 : 1 + len(ids)] = other.probs[1 + ids]
        places[1 : 1 + len(ids)] = 1 + ids if other.order > 1 else 0
        if begin is not None and end is not None:
            log10_probs[1 + begin] = other.probs[1 + ids[end]]
    for n in range(2, contexts.order):
        for rows in contexts.blocks(n):
            prefixes, words = contexts.prefixes(n, rows), ids[contexts.words(n, rows)]
            numbers = contexts.first[n] + rows
            log10_probs[numbers] = log10_probs[prefixes] + other.log10(places[prefixes], words)
            places[numbers] = other.longest(places[prefixes], words)
    return power_of_ten(log10_probs)


def _times(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return products, in which 0 times infinity is 0."""
    return np.multiply(weights, values, out=np.zeros(len(values)), where=weights != 0)
