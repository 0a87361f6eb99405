# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Back-off (slide Y:193): the shorter context is used only for words that were not seen after the longer one.

With c(hw) the count of an n-gram, h' the context h without its first word, and d_r the part that a count r keeps:

    P(w | h) = d_c(hw) c(hw) / C(h)     where hw was seen,   C(h) = sum_w c(hw)
             = bow(h) P(w | h')         else,                bow(h) = what is left at h / P of the unseen words at h'

A. Turing and I. J. Good (1953) replace a count r by one made of n_r, the number of n-grams that occur r times:

    r* = (r+1) n_{r+1} / n_r,           so that unseen words get n_1 / N of the probability

    Good-Turing   d_r = r* / r for all r. High n_r are noise: they are replaced by the line log n_r = a + b log r, from
                  where both no longer differ (W. Gale and G. Sampson, Good-Turing Frequency Estimation Without Tears,
                  1995)
    Katz          d_r = (r*/r - q) / (1 - q), q = (k+1) n_{k+1} / n_1, for r <= k; higher counts stay, and the low ones
                  give their share too (S. Katz 1987)
    Witten-Bell   d_r = 1, and C(h) = c(h) + T(h), with T(h) the number of different words after h: "method C" of
                  I. Witten and T. Bell (1991)
    stupid        d_r = 1, and alpha S(w | h') in place of the second line, alpha = 0.4: scores that do not sum to one
                  (T. Brants et al., Large Language Models in Machine Translation, 2007)

Without a context P(w | h') is 1 / |V|: the unseen words share what is left.

Deviations:
    - A d_r above 1 or not above 0, which small corpora give, is 1, with a warning. The k of Katz is lowered until
      n_{k+1} is not 0, and nothing is discounted if n_1 is 0 (both as SRILM).
    - If at most 3 in a million are left at a context though words are unseen (each follower occurs more than k times),
      C(h) is raised by 1 until more is left (as SRILM, which credits Doug Paul): by 3 if C(h) is 900,000. If all words
      were seen, P(w | h) is scaled to sum to 1.
    - Good-Turing at order 1 is scaled so that what is left is n_1 / N, as Gale and Sampson do; at higher orders bow(h)
      takes what r* leaves.
    - Pruned n-grams count in C(h), and are unseen.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig

# Smaller shares count as 0, as in SRILM.
_NOTHING = 3e-6


@dataclass(frozen=True)
class DiscountRatios:
    """The part of a count that is kept, for each count.

    >>> DiscountRatios(np.array([1, 0.5, 0.8])).of(np.array([1, 2, 3])).tolist()
    [0.5, 0.8, 1.0]
    """

    low: np.ndarray  # (r,) d_0 (not used), d_1 ... d_{r-1}
    slope: float = -1.0  # b of log n_r = a + b log r for all higher counts, r*/r = (1 + 1/r)^(b+1); -1: they stay
    scale: float = 1.0  # factor of all d_r
    usable: bool = True  # False where too few data leave a count as it is

    def of(self, counts: np.ndarray) -> np.ndarray:
        """Return d_r for each of the counts, (counts,) float64."""
        higher = (1 + 1 / np.maximum(counts, 1)) ** (self.slope + 1)
        return self.scale * np.where(counts < len(self.low), self.low[np.minimum(counts, len(self.low) - 1)], higher)


CONSTANT = DiscountRatios(np.ones(1))  # of stupid back-off: all counts stay


def back_off(
    numerators: np.ndarray,
    totals: np.ndarray,
    prefixes: np.ndarray,
    lower: np.ndarray,
    events: int,
    least_left: float = _NOTHING,
) -> tuple[np.ndarray, np.ndarray]:
    """Return P of each n-gram, and bow of each context: (n-grams,), (contexts,) float64.

    Args:
        numerators: (n-grams,) counts times the part that they keep; 0 where the n-gram was not seen.
        totals: (contexts,) C(h); 0 where nothing followed h.
        prefixes: (n-grams,) index of each n-gram's context.
        lower: (n-grams,) P(w | h').
        events: |V|, how many words can follow.
        least_left: C(h) is raised until more than this share is left to the unseen words.
    """
    seen, contexts = numerators > 0, len(totals)
    unseen = events - np.bincount(prefixes[seen], minlength=contexts)
    given = np.bincount(prefixes, numerators, minlength=contexts)
    least = np.ceil(given / (1 - least_left) - totals)
    totals = np.where(unseen > 0, totals + np.maximum(least, 0), given)
    known = totals > 0
    left = np.divide(totals - given, totals, out=np.ones(contexts), where=known)
    free = 1 - np.bincount(prefixes[seen], lower[seen], minlength=contexts)
    bows = np.divide(left, free, out=np.ones(contexts), where=known & (unseen > 0))
    return np.where(seen, numerators / np.where(known, totals, 1)[prefixes], bows[prefixes] * lower), bows


def fit_all_ratios(used: list[np.ndarray], config: NGramConfig) -> list[DiscountRatios]:
    """Estimate d_r for each order from the counts of its n-grams; the d_r of low counts are written into `config`."""
    if config.smoothing == "stupid_backoff":
        return [CONSTANT] * len(used)
    ratios = []
    for n, counts in enumerate(used, 1):
        ratios.append(_katz(counts, config.katz_k) if config.smoothing == "katz" else _good_turing(counts, n))
        if not ratios[-1].usable:
            numbers = ", ".join(map(str, np.bincount(np.minimum(counts, 6), minlength=7)[1:6]))
            warnings.warn(
                f"{n}-grams that occur 1, 2, 3, 4, 5 times number {numbers}: too few, or artificial text, to discount "
                "all counts that should be; some stay as they are. A larger corpus avoids this",
                stacklevel=2,
            )
    shown = config.katz_k if config.smoothing == "katz" else 10
    config.discount_ratios = [ratio.of(np.arange(1, shown + 1)).tolist() for ratio in ratios]
    return ratios


def _katz(occurrences: np.ndarray, k: int) -> DiscountRatios:
    of = np.bincount(np.minimum(occurrences, k + 2), minlength=k + 3).astype(float)
    low = np.ones(k + 1)
    while k > 0 and of[k + 1] == 0:
        k -= 1
    if k == 0 or of[1] == 0:
        return DiscountRatios(low, usable=False)
    share = (k + 1) * of[k + 1] / of[1]
    for r in range(1, k + 1):
        turing = (r + 1) * of[r + 1] / (r * of[r]) if of[r] else math.inf
        ratio = (turing - share) / (1 - share) if share != 1 else math.inf
        low[r] = ratio if turing <= 1 and _NOTHING < ratio <= 1 else 1
    return DiscountRatios(low, usable=bool((low[1:] < 1).all()))


def _good_turing(occurrences: np.ndarray, n: int) -> DiscountRatios:
    counts, numbers = np.unique(occurrences[occurrences > 0], return_counts=True)
    if len(counts) < 2 or counts[0] > 1:
        return DiscountRatios(np.ones(1), usable=False)
    # Each n_r is spread over the empty counts around r; without that, all high counts would have n_r = 1.
    gaps = np.diff(counts, prepend=0, append=2 * counts[-1] - counts[-2])
    slope = float(np.polyfit(np.log(counts), np.log(2 * numbers / (gaps[1:] + gaps[:-1])), 1)[0])
    if slope > -1 - 1e-9:  # at -1, up to rounding, the line discounts nothing
        return DiscountRatios(np.ones(1), usable=False)
    low = [1.0]
    for (r, number), (following, next_number) in pairwise(zip(counts.tolist(), numbers.tolist(), strict=True)):
        turing, line = (r + 1) * next_number / number, (r + 1) * (1 + 1 / r) ** slope
        deviation = (r + 1) / number * math.sqrt(next_number * (1 + next_number / number))
        if following != r + 1 or abs(turing - line) <= 1.96 * deviation:
            break
        low.append(min(turing / r, 1.0))
    ratios = DiscountRatios(np.array(low), slope, usable=max(low[1:], default=0) < 1)
    if n > 1:
        return ratios
    tokens = counts @ numbers
    return replace(ratios, scale=float((tokens - numbers[0]) / (numbers * counts @ ratios.of(counts))))
