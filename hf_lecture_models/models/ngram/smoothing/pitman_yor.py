# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The hierarchical Pitman-Yor process as a smoothing (Y. W. Teh, A Hierarchical Bayesian Language Model based on
Pitman-Yor Processes, 2006): discounts that are sampled instead of counted.

Each context h is a restaurant, each of its events w a customer. A customer sits down at a table where its word is
served, or opens a new table, which sends a customer to the shorter context h', and so on to the uniform 1 / |V|:

    an old table k with c_k customers      in proportion to  c_k - d
    a new table                            in proportion to  (strength + d t(h)) P(w | h')

With c(hw) customers at t(hw) tables, c(h) and t(h) their sums over w, and d and strength those of the context's order,

    P(w | h) = (c(hw) - d t(hw)) / (strength + c(h)) + gamma(h) P(w | h')
    gamma(h) = (strength + d t(h)) / (strength + c(h))

which is interpolated Kneser-Ney if strength = 0 and t(hw) = 1: below the highest order, customers are then different
words before. Who sits where is sampled (Gibbs): each customer gets up in turn and sits down again given all others.
Customers that are alone with their word (c(hw) = 1) need not: they could only sit as before. After each sweep, d and
strength of each order are sampled given the seating, by Teh's auxiliary variables, under a uniform prior for d and
Gamma(1, 1) for the strength.

The first term and gamma are averaged over the samples, order by order, which gives one interpolated model for the
tables. (The mean of the samples' own P(w | h) does not have this form; it differs by the covariance of gamma and
P(w | h').)

Deviation: as under Kneser-Ney, n-grams that begin with `<s>` have as many customers as occurrences, since longer
contexts cannot send them any.
"""

from __future__ import annotations

import random
from itertools import chain

import numpy as np
from tqdm.auto import tqdm

from hf_lecture_models.models.ngram.checks_ngram import num_events
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import NGramCounts, continuation_counts

SWEEPS = 40
BURN_IN = 20
"""Sweeps before the first sample; on a tenth of WikiText-2 the perplexity no longer changes after them."""


class Level:
    """The restaurants of all contexts of one length, in lists: they are read and written one number at a time.

    Args:
        contexts: (n-grams,) the restaurant of each n-gram.
        parents: (n-grams,) the n-gram without its first word, by its index in the next shorter level.
        customers: (n-grams,) how many sit there, at first at one table for each n-gram.
        num_contexts: restaurants.
    """

    def __init__(self, contexts: np.ndarray, parents: np.ndarray, customers: np.ndarray, num_contexts: int) -> None:
        self.contexts, self.parents = contexts.tolist(), parents.tolist()
        self.tables: list[list[int]] = [[count] if count else [] for count in customers.tolist()]
        self.customers: list[int] = customers.tolist()
        self.customers_of: list[int] = np.bincount(contexts, customers, minlength=num_contexts).astype(int).tolist()
        self.tables_of: list[int] = np.bincount(contexts, customers > 0, minlength=num_contexts).astype(int).tolist()
        self.discount, self.strength = 0.5, 1.0

    def shares(self) -> np.ndarray:
        """Return the first term of P(w | h) for each n-gram, (n-grams,)."""
        customers = np.array(self.customers, float)
        tables = np.fromiter(map(len, self.tables), float, len(self.tables))
        totals = np.array(self.customers_of, float) + self.strength
        scale = np.divide(1, totals, out=np.zeros(len(totals)), where=totals > 0)
        return (customers - self.discount * tables) * scale[self.contexts]


class Restaurants:
    """The restaurants of all orders, shortest contexts first; `events` is |V| of the uniform distribution."""

    def __init__(self, counts: list[NGramCounts], vocab_size: int, events: int, seed: int = 0) -> None:
        self.base = 1 / events
        self.random, self.generator = random.Random(seed), np.random.default_rng(seed)
        self.levels: list[Level] = []
        for n, entry in enumerate(counts, 1):
            customers = continuation_counts(counts, n) if n < len(counts) else entry.occurrences
            contexts = len(counts[n - 2].keys) if n > 1 else 1
            self.levels.append(Level(entry.keys // vocab_size, entry.suffixes, customers, contexts))

    def sweep(self) -> None:
        """Let each customer get up and sit down again, those of the longest contexts first."""
        for n in reversed(range(len(self.levels))):
            customers = self.levels[n].customers
            for gram in [gram for gram, count in enumerate(customers) if count > 1]:
                for _ in range(customers[gram]):
                    self._leave(n, gram)
                    self._sit(n, gram)

    def _leave(self, n: int, gram: int) -> None:
        while n >= 0:
            level = self.levels[n]
            tables = level.tables[gram]
            at = _choose(tables, self.random.random() * level.customers[gram], 0.0)
            level.customers[gram] -= 1
            level.customers_of[level.contexts[gram]] -= 1
            tables[at] -= 1
            if tables[at]:
                return
            del tables[at]
            level.tables_of[level.contexts[gram]] -= 1
            n, gram = n - 1, level.parents[gram]

    def _sit(self, n: int, gram: int) -> None:
        grams = [gram]
        for level in self.levels[n:0:-1]:
            grams.append(level.parents[grams[-1]])
        probs = [self.base]  # of the word after contexts of -1, 0, 1 ... words
        for level, own in zip(self.levels[:n], reversed(grams), strict=False):
            context, old = level.contexts[own], level.customers[own] - level.discount * len(level.tables[own])
            new = level.strength + level.discount * level.tables_of[context]
            total = level.strength + level.customers_of[context]
            probs.append((old + new * probs[-1]) / total if total else probs[-1])
        for own in grams:
            level = self.levels[n]
            context, tables = level.contexts[own], level.tables[own]
            old = level.customers[own] - level.discount * len(tables)
            new = (level.strength + level.discount * level.tables_of[context]) * probs[n]
            level.customers[own] += 1
            level.customers_of[context] += 1
            drawn = self.random.random() * (old + new)
            if drawn < old:
                tables[_choose(tables, drawn, level.discount)] += 1
                return
            tables.append(1)
            level.tables_of[context] += 1
            n -= 1

    def sample_parameters(self) -> None:
        """Sample discount and strength of each order given the seating (Teh's auxiliary variables)."""
        for level in self.levels:
            d, strength, draw = level.discount, level.strength, self.generator
            customers = np.array(level.customers_of)
            logs = np.log(draw.beta(strength + 1, customers[customers > 1] - 1))
            beyond = _how_many_exceed(np.array(level.tables_of))  # restaurants with more than i = 1, 2 ... tables
            i = np.arange(1, len(beyond) + 1)
            by_strength = draw.binomial(beyond, strength / (strength + d * i))
            sizes = _how_many_exceed(np.fromiter(chain.from_iterable(level.tables), int))
            j = np.arange(1, len(sizes) + 1)
            by_size = draw.binomial(sizes, (j - 1) / (j - d))
            # Strictly between 0 and 1: at either end, the next draw divides by 0.
            found = draw.beta(1 + (beyond - by_strength).sum(), 1 + (sizes - by_size).sum())
            level.discount = float(np.clip(found, 1e-6, 1 - 1e-6))
            level.strength = float(max(draw.gamma(1 + by_strength.sum()) / (1 - logs.sum()), 1e-6))


def sample(
    counts: list[NGramCounts], config: NGramConfig, bar: tqdm | None = None
) -> tuple[list[np.ndarray], list[list[float]], list[float]]:
    """Return means over the samples, for each order: the first term of P(w | h), the discount, and the strength.

    The seed is fixed.
    """
    restaurants = Restaurants(counts, config.vocab_size, num_events(config))
    levels = restaurants.levels
    sums = [np.zeros(len(level.tables)) for level in levels]
    parameters = np.zeros((2, len(levels)))
    for sweep in range(1, SWEEPS + 1):
        restaurants.sweep()
        restaurants.sample_parameters()
        if bar is not None:
            bar.set_postfix_str(f"sweep {sweep} of {SWEEPS}")
        if sweep > BURN_IN:
            parameters += [[level.discount for level in levels], [level.strength for level in levels]]
            for total, level in zip(sums, levels, strict=True):
                total += level.shares()
    kept = SWEEPS - BURN_IN
    discounts, strengths = (parameters / kept).tolist()
    return [total / kept for total in sums], [[discount] for discount in discounts], strengths


def _choose(tables: list[int], drawn: float, discount: float) -> int:
    """Return the table that a number falls on, if each is as long as its customers less the discount."""
    for at, size in enumerate(tables):
        drawn -= size - discount
        if drawn < 0:
            return at
    return len(tables) - 1  # rounding


def _how_many_exceed(numbers: np.ndarray) -> np.ndarray:
    """Count the numbers that are larger than 1, than 2, and so on.

    >>> _how_many_exceed(np.array([1, 2, 4, 0])).tolist()
    [2, 1, 1]
    """
    return np.bincount(numbers, minlength=2)[::-1].cumsum()[::-1][2:]
