# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Learn merges by their gain in likelihood (Schuster & Nakajima 2012), as WordPiece does.

Under a unigram model of the current symbols, P(a) = count(a) / N, a merged pair is

    P(a b) / (P(a) P(b)) = N count(a b) / (count(a) count(b))

times as likely as its two symbols apart. Byte-pair encoding merges the pair with the greatest count(a b) instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from hf_lecture_models.tokenization.merges import LinkedWords, Pair

# The gain of a merge as a function of count(a b), count(a) count(b) and N, for all pairs at once.
GAINS: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    # In one place: rare pairs may win. N is left out, since it is the same for all pairs.
    "likelihood": lambda together, apart, total: together / apart,
    # In all places together: the growth of the log-likelihood of the texts, to first order.
    "total_likelihood": lambda together, apart, total: together * np.log(total * together / apart),
}


class _Pairs:
    """The pairs of neighbours as arrays, so that the best of them is one operation away."""

    def __init__(self, state: LinkedWords) -> None:
        self.state = state
        symbols, weights = np.array(state.symbols[:-1]), np.array(state.weights)
        real = symbols >= 0
        self.totals = np.bincount(symbols[real], weights[real])
        self.total = int(self.totals.sum())
        self.pairs: list[Pair] = []
        self.left = self.right = np.zeros(0, np.int64)
        self.counts = np.zeros(0)
        self.add(list(state.counts))

    def add(self, pairs: list[Pair]) -> None:
        """Append pairs. No pair is appended twice, since each has a new symbol."""
        if pairs:
            self.pairs += pairs
            new = np.array(pairs)
            self.left, self.right = np.append(self.left, new[:, 0]), np.append(self.right, new[:, 1])
            self.counts = np.append(self.counts, [self.state.counts[pair] for pair in pairs])

    def best(self, gain: str, min_count: int) -> Pair | None:
        """Return the pair of the greatest gain; of equals the most frequent one, then the first by its symbols."""
        common = np.flatnonzero(self.counts >= min_count)
        if not len(common):
            return None
        apart = self.totals[self.left[common]] * self.totals[self.right[common]]
        gains = GAINS[gain](self.counts[common], apart, self.total)
        equals = common[gains == gains.max()]
        return min((self.pairs[place] for place in equals), key=self.state.entry)

    def merge(self, pair: Pair) -> None:
        """Merge `pair` in all its places."""
        state = self.state
        places = set(state.places[pair])
        made = state.merge(pair)
        merged = len(state.names) - 1
        times = sum(state.weights[place] for place in places if state.symbols[place] == merged)
        self.totals = np.append(self.totals, times)
        for symbol in pair:
            self.totals[symbol] -= times
        self.total -= times
        # Only pairs with one of the two symbols became rarer.
        first, second = pair
        touched = (self.left == first) | (self.left == second) | (self.right == first) | (self.right == second)
        for place in np.flatnonzero(touched):
            self.counts[place] = state.counts.get(self.pairs[place], 0)
        self.add(sorted(made))


def learn_likelihood_merges(
    words: Mapping[tuple[str, ...], int], gain: str = "total_likelihood", min_count: int = 1
) -> Iterator[tuple[str, str]]:
    """Yield the merges, the pair of the greatest gain first, until no pair is left.

    In these words `e s` is the most frequent pair, but `u` and `g` never occur apart:

    >>> words = {tuple("ug"): 2, tuple("es"): 5, tuple("eat"): 4, tuple("sat"): 3}
    >>> next(learn_likelihood_merges(words, "likelihood"))
    ('u', 'g')

    Args:
        words: each distinct word as its symbols, and how often it occurs.
        gain: a key of `GAINS`.
        min_count: a pair that occurs less often is not merged.
    """
    pairs = _Pairs(LinkedWords(words, str))
    names = pairs.state.names
    while (pair := pairs.best(gain, min_count)) is not None:
        yield names[pair[0]], names[pair[1]]
        pairs.merge(pair)
