# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The contexts of a back-off model, and from each the way to its shorter contexts, for whole tables at a time.

A loaded model (`layers/ngram_trie.py`) scores texts, from left to right. What changes a model asks for the probability
of each stored n-gram after a *shorter* context, in float64, and for the back-off weights that make contexts sum to one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from hf_lecture_models.layers.ngram_search import find
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.smoothing.interpolated import renumber

NOTHING = 1e-12
"""A smaller sum of probabilities is the rounding of 0."""
WRONG_SUM = 1e-6
"""A context that is further from one has a wrong weight: it is not the rounding to float32."""
ROWS_AT_ONCE = 1 << 13
"""Of a table, so that what is computed on the way is small beside it."""


class Contexts:
    """The contexts of a model as numbers: 0 is the empty one, then all n-grams follow, order by order.

    >>> zeros = [np.zeros(3, np.float32), np.zeros(2, np.float32)]
    >>> probs = [np.float32([-1, -1, -1]), np.float32([-0.5, -0.5]), np.float32([-0.1])]
    >>> contexts = Contexts(NGramTables(3, [np.array([1, 5]), np.array([2])], probs, zeros))  # 0 1, 1 2; 0 1 2
    >>> contexts.suffixes.tolist()  # the longest stored suffix of each: of 0 1, the number 4, it is 1, the number 2
    [0, 0, 0, 0, 2, 3]
    >>> contexts.lower(3)  # log10 P(2 | 1)
    array([-0.5])

    Attributes:
        first: [n], the number of the first context of n words, up to that of the highest order.
        suffixes: (contexts,) the longest stored proper suffix of each.
        probs: (1 + n-grams of all orders,) float32 log10 P, by number.
        backoffs: (contexts,) float32 log10 of the back-off weights, by number.
        events: how many words have a probability.
    """

    def __init__(self, tables: NGramTables) -> None:
        self.vocab_size, self.order, sizes = tables.vocab_size, tables.order, tables.sizes
        self.keys = [torch.from_numpy(keys) for keys in tables.keys]  # [n-2], of order n
        self.first = np.cumsum([0, 1, *sizes])
        self.probs = np.concatenate([np.zeros(1, np.float32), *tables.log10_probs])
        self.backoffs = np.concatenate([np.zeros(1, np.float32), *tables.log10_backoffs])
        self.events = int((tables.log10_probs[0] > -np.inf).sum())
        self.suffixes = np.zeros(self.first[self.order], np.int64)
        for n in range(2, self.order):
            for rows in self.blocks(n):
                self.suffixes[self.first[n] + rows] = self.suffixes_of(n, rows)

    def blocks(self, n: int) -> Iterator[np.ndarray]:
        """Yield the rows of an order's table in blocks."""
        return (np.arange(part.start, part.stop) for part in parts(int(self.first[n + 1] - self.first[n])))

    def words(self, n: int, rows: np.ndarray) -> np.ndarray:
        """Return the last word of some n-grams of order n, (rows,)."""
        return rows if n == 1 else self.keys[n - 2].numpy()[rows] % self.vocab_size

    def prefixes(self, n: int, rows: np.ndarray) -> np.ndarray:
        """Return the context of some n-grams of order n: all but the last word, (rows,)."""
        if n == 1:
            return np.zeros_like(rows)
        return self.first[n - 1] + self.keys[n - 2].numpy()[rows] // self.vocab_size

    def children(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return the number of each n-gram "context word"; -1 where it is not stored. (queries,) each."""
        found = np.where(contexts == 0, 1 + words, -1)
        for n in range(1, self.order):
            here = np.flatnonzero((contexts >= self.first[n]) & (contexts < self.first[n + 1]))
            queries = (contexts[here] - self.first[n]) * self.vocab_size + words[here]
            entries = find(self.keys[n - 1], torch.from_numpy(queries)).numpy()
            found[here] = np.where(entries >= 0, self.first[n + 1] + entries, -1)
        return found

    def suffixes_of(self, n: int, rows: np.ndarray) -> np.ndarray:
        """Return the longest stored proper suffix of some n-grams of order n, (rows,)."""
        if n == 1:
            return np.zeros_like(rows)
        return self._follow(self.suffixes[self.prefixes(n, rows)], self.words(n, rows))

    def longest(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return the context after each "context word": its longest stored suffix of at most order-1 words."""
        if self.order == 1:
            return np.zeros_like(contexts)
        return self._follow(np.where(contexts < self.first[self.order - 1], contexts, self.suffixes[contexts]), words)

    def _follow(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return the longest stored suffix of each "context word"; `contexts` is overwritten."""
        found, missing = np.full(len(words), -1), np.arange(len(words))
        while missing.size:
            found[missing] = self.children(contexts[missing], words[missing])
            missing = missing[found[missing] < 0]
            contexts[missing] = self.suffixes[contexts[missing]]
        return found

    def log10(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return log10 P of each word after its context, (queries,) float64; contexts and words are (queries,)."""
        return self.search(contexts, words)[0]

    def search(self, contexts: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what `log10` returns, and the number of the n-gram that gives it: the longest stored one."""
        total, entries, missing = np.zeros(len(words)), np.zeros(len(words), np.int64), np.arange(len(words))
        contexts = contexts.copy()
        while missing.size:
            found = self.children(contexts[missing], words[missing])
            stored = found >= 0
            total[missing[stored]] += self.probs[found[stored]]
            entries[missing[stored]] = found[stored]
            missing = missing[~stored]
            total[missing] += self.backoffs[contexts[missing]]
            contexts[missing] = self.suffixes[contexts[missing]]
        return total, entries

    def lower(self, n: int) -> np.ndarray:
        """Return log10 P(w | h') of each n-gram hw of order n, (n-grams,) float64; h' is h without its first word."""
        parts = [lower for _, _, lower in self.lower_blocks(n)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def lower_blocks(self, n: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield what `lower` returns for some rows at a time: the rows, their contexts' indices in the order below."""
        keys = self.keys[n - 2].numpy()
        for rows in parts(len(keys)):
            prefixes = keys[rows] // self.vocab_size
            contexts = self.suffixes[self.first[n - 1] + prefixes]
            if n == self.order:
                yield rows, prefixes, self.log10(contexts, keys[rows] - prefixes * self.vocab_size)
            else:  # the longest stored suffix was found already
                stored = self.suffixes[self.first[n] + rows.start : self.first[n] + rows.stop]
                yield rows, prefixes, self._by_suffix(contexts, stored)

    def _by_suffix(self, contexts: np.ndarray, stored: np.ndarray) -> np.ndarray:
        """Return what `log10` does, for words whose longest stored n-gram after a suffix of the context is known."""
        total, missing = self.probs[stored].astype(np.float64), np.arange(len(stored))
        lengths = self.lengths(stored)
        while missing.size:
            missing = missing[self.lengths(contexts[missing]) >= lengths[missing]]
            total[missing] += self.backoffs[contexts[missing]]
            contexts[missing] = self.suffixes[contexts[missing]]
        return total

    def lengths(self, numbers: np.ndarray) -> np.ndarray:
        """Return how many words each context or n-gram has, by number."""
        return np.searchsorted(self.first, numbers, side="right") - 1

    def totals(self) -> np.ndarray:
        """Return room for the sum of P over all words after each context, (contexts,); that of the empty one is set.

        `free` writes those of longer contexts, order by order.
        """
        totals = np.ones(len(self.suffixes))
        totals[0] = power_of_ten(self.probs[1 : 1 + self.vocab_size]).sum()
        return totals

    def free(self, n: int, totals: np.ndarray, lower: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return what the context h' gives to all words that are not listed after h, for each context h of n words.

        Args:
            totals: the sum over all words after each shorter context, which is 1 up to rounding: a difference of large
                sums must not have the rounding. The sum of the listed words after h is written.
            lower: P(w | h') of each n-gram hw is written, if there is room, (n-grams of order n + 1,) float64.

        Returns:
            The probability, (contexts of n words,) float64; and whether words are listed after h, and others are left
            that h' gives more than nothing.
        """
        here, probs = slice(self.first[n], self.first[n + 1]), self.probs[self.first[n + 1] : self.first[n + 2]]
        free, sums = totals[self.suffixes[here]], totals[here]
        listed: np.ndarray = np.zeros(len(free), np.int32)
        sums[:] = 0
        for rows, prefixes, logs in self.lower_blocks(n + 1):
            values = power_of_ten(logs)
            start, some = prefixes[0], slice(prefixes[0], prefixes[-1] + 1)
            listed[some] += np.bincount((prefixes - start)[values > 0], minlength=some.stop - start)
            free[some] -= np.bincount(prefixes - start, values)
            sums[some] += np.bincount(prefixes - start, power_of_ten(probs[rows]))
            if lower is not None:
                lower[rows] = values
        return free, (listed > 0) & (listed < self.events) & (free > NOTHING)

    def left(
        self, n: int, totals: np.ndarray, lower: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what each context of n words itself gives to all words that are not listed after it.

        This is bow(h) free(h). Of a context whose sum is not one, it is what the listed words leave. The arguments are
        those of `free`; the sum over all words after h is written.

        Returns:
            The probability, (contexts of n words,) float64; and what `free` returns.
        """
        here = slice(self.first[n], self.first[n + 1])
        free, some = self.free(n, totals, lower)
        left = power_of_ten(self.backoffs[here])
        left *= free
        totals[here] += left
        wrong = np.flatnonzero(np.abs(totals[here] - 1) > WRONG_SUM)
        left[wrong] = 1 - (totals[here][wrong] - left[wrong])
        np.maximum(left, 0, out=left)
        left[~some] = 0
        return left, free, some


def parts(rows: int) -> Iterator[slice]:
    """Yield slices of a table of so many rows, so that what is computed on the way takes little memory."""
    for first in range(0, rows, ROWS_AT_ONCE):
        yield slice(first, min(first + ROWS_AT_ONCE, rows))


def power_of_ten(logs: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return 10 to the power of some logarithms, float64, in `out` if it is given; faster than numpy's own."""
    out = np.multiply(logs, np.log(10.0), out=out)
    return np.exp(out, out=out)


def with_back_off_weights(tables: NGramTables, left: Sequence[np.ndarray]) -> NGramTables:
    """Return tables of the same n-grams and probabilities, whose back-off weights make every context sum to one.

    bow(h) = left(h) / (1 - sum of P(w | h') over the w listed after h), from the shortest contexts on; 1 where no word
    or every word is listed after h.

    Args:
        tables: their back-off weights are not read.
        left: [n-1], (n-grams of order n,) float64, n < order: the probability that is left to the words not listed
            after each. 1 - the sum of float32 probabilities has an error of 1e-7: where the old weight is right, take
            it times (1 - the old lower sum). The arrays are overwritten.
    """
    contexts, weights = Contexts(tables), []
    totals = contexts.totals()
    for n in range(1, tables.order):
        here = slice(contexts.first[n], contexts.first[n + 1])
        free, some = contexts.free(n, totals)
        ratio = np.maximum(left[n - 1], 0, out=left[n - 1])
        ratio[some] /= free[some]
        ratio[~some] = 1
        with np.errstate(divide="ignore"):
            weights.append(np.log10(ratio, out=ratio).astype(np.float32))
        contexts.backoffs[here] = weights[-1]
        totals[here] += np.multiply(power_of_ten(weights[-1], out=ratio), free, out=free)
    return replace(tables, log10_backoffs=weights)


def without(tables: NGramTables, kept: list[np.ndarray], left: list[np.ndarray]) -> NGramTables:
    """Return the tables of some of the n-grams, with back-off weights that make each context sum to one.

    Args:
        tables: the model.
        kept: [n-2], (n-grams of order n,) bool; the context of one that is kept is kept too.
        left: [n-2], (n-grams of order n - 1,) float64: the probability of the words not listed after each; it becomes
            that of the smaller model.
    """
    keys = []
    contexts: list[np.ndarray | slice] = [slice(None), *kept]
    for n in range(2, tables.order + 1):
        old, stay, probs = tables.keys[n - 2], kept[n - 2], tables.log10_probs[n - 1]
        for rows in parts(len(old)):
            gone = rows.start + np.flatnonzero(~stay[rows])
            if len(gone):
                prefixes = old[gone] // tables.vocab_size
                of = slice(prefixes[0], prefixes[-1] + 1)
                left[n - 2][of] += np.bincount(prefixes - prefixes[0], power_of_ten(probs[gone]))
        left[n - 2] = left[n - 2][contexts[n - 2]]
        keys.append(renumber(old[stay], contexts[n - 2], slice(None), tables.vocab_size))
    log10_probs = [of[stay] for of, stay in zip(tables.log10_probs, contexts, strict=True)]
    nothing = [np.broadcast_to(np.float32(0), len(of)) for of in left]  # these weights are not read
    return with_back_off_weights(replace(tables, keys=keys, log10_probs=log10_probs, log10_backoffs=nothing), left)
