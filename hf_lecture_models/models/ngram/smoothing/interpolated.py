# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The art of smoothing (slides Y:179-225): from counts to probabilities.

Smoothings that interpolate have one form. With c(hw) the count of an n-gram, h' the context h without its first word,
D a discount:

    P(w | h) = (c(hw) - D(hw)) / C(h) + gamma(h) P(w | h'),        P(w | no context) = ... + gamma / |V|
    gamma(h) = 1 - the sum of the first term over all w: the probability that the words seen after h leave

    maximum likelihood    D = 0, C(h) = sum_w c(hw); an h that never occurred uses its longest suffix that did
    add-alpha             D = 0, C(h) = sum_w c(hw) + alpha |V|, and 1 / |V| in place of P(w | h')
    Jelinek-Mercer        D(hw) = (1 - lambda_n) c(hw): lambda_n P_ML + (1 - lambda_n) P(w | h'); one weight per order,
                          by expectation maximisation on held-out text (`jelinek_mercer.py`)
    Witten-Bell           D = 0, C(h) = c(h) + T(h), T(h) the number of different words after h, so gamma(h) is
                          T(h) / (c(h) + T(h)) (I. Witten and T. Bell, The Zero-Frequency Problem, 1991, method C;
                          interpolated as by Chen and Goodman 1998)
    absolute discounting  D = n_1 / (n_1 + 2 n_2) at each order, n_k the number of n-grams that occur k times
                          (H. Ney, U. Essen, R. Kneser 1994)
    Kneser-Ney            the same, but below the highest order c(hw) is the number of different words before hw (1995)
    modified Kneser-Ney   and D depends on c: D_k = k - (k+1) Y n_{k+1} / n_k for k = 1, 2, 3 and more,
                          Y = n_1 / (n_1 + 2 n_2) (Chen and Goodman 1999)
    Pitman-Yor            as Kneser-Ney, but D, and how many customers stand for c(hw), are sampled (Teh 2006;
                          `pitman_yor.py`)

Smoothings that back off ask the shorter context only about words that were not seen after h. They multiply the counts
by discounts d (`back_off.py`):

    P(w | h) = d(hw) c(hw) / C(h)  where hw was seen,  else bow(h) P(w | h'),  bow(h) such that all w sum to one

    Good-Turing, Katz, Witten-Bell's other form (`witten_bell_backoff`: d = 1), and stupid back-off, whose d and bow
    are constants and whose scores do not sum to one

Deviations:
    - n-grams that begin with `<s>` keep their own counts under Kneser-Ney, as in lmplz: no word precedes them.
    - D of absolute discounting and Kneser-Ney is set at each order, from all n-grams.
    - A weight of Jelinek-Mercer does not depend on c(h), and stays in [0.0001, 0.9999], so that no event is lost.
    - Pruned n-grams (K. Heafield et al. 2013) give their counts to gamma(h). The words of T(h) include them.
    - Pruned 1-grams leave the vocabulary, and |V| is the number of the others (as lmplz); what is estimated for it
      comes from all counts.
    - The 1-grams of Witten-Bell's back-off leave T / (N + T), N the number of words: the words of the vocabulary that
      were not seen, `<unk>` among them, share it equally; if all were seen, all words do. (Witten and Bell have one
      unknown event.)
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from tqdm.auto import tqdm

from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.checks_ngram import num_events
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import NGramCounts, Stream, continuation_counts
from hf_lecture_models.models.ngram.smoothing.back_off import DiscountRatios, back_off, fit_all_ratios
from hf_lecture_models.models.ngram.smoothing.jelinek_mercer import fit_weights, held_out_events
from hf_lecture_models.models.ngram.smoothing.pitman_yor import sample
from hf_lecture_models.models.ngram.vocabulary_ngram import kept_words, reduce_vocabulary

KNESER_NEY = ("kneser_ney", "modified_kneser_ney")
DISCOUNTING = ("absolute_discounting", *KNESER_NEY)
WITTEN_BELL = ("witten_bell", "witten_bell_backoff")
FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)
BLOCK = 1 << 18
"""N-grams whose numbers are in the processor's cache at a time."""


def smooth(
    counts: list[NGramCounts], config: NGramConfig, held_out: Stream | None = None, bar: tqdm | None = None
) -> NGramTables:
    """Return p and back-off weight of each n-gram that is kept; what is estimated for it is written into `config`.

    The list of counts is emptied, order by order, which frees memory.
    """
    used, ratios = _fit_parameters(counts, config, held_out, bar)
    words = kept_words(counts[0].occurrences, config)
    lower, starts = uniform(config, words), np.ones(1, bool)
    tables, events = NGramTables(len(lower[words]), [], [], []), int((lower > 0).sum())
    kept_contexts: np.ndarray | slice = slice(None)
    for n in range(1, config.order + 1):
        entry = counts.pop(0)
        kept = kept_ngrams(entry, n, config) if n > 1 else words
        if n > 1:
            tables.keys.append(renumber(entry.keys[kept], kept_contexts, words, config.vocab_size))
        contexts, lower, longer_starts = entry.keys // config.vocab_size, lower.take(entry.suffixes), entry.starts
        del entry
        probs, gammas = smooth_order(contexts, starts, n, used.pop(0), kept, lower, events, config, ratios[n - 1])
        del contexts
        tables.log10_probs.append(np.minimum(log10(probs[kept]), 0))
        if n > 1:
            tables.log10_backoffs.append(log10(gammas[kept_contexts]))
        lower, starts, kept_contexts = probs, longer_starts, kept
        if bar is not None:
            bar.update()
    reduce_vocabulary(config, words)
    return tables


def _fit_parameters(
    counts: list[NGramCounts], config: NGramConfig, held_out: Stream | None, bar: tqdm | None
) -> tuple[list[np.ndarray], Sequence[DiscountRatios | None]]:
    """Write what is estimated into `config`; return the counts that each order uses, and the ratios of back-off."""
    config.interpolation_weights = config.discounts = config.discount_ratios = config.strengths = None
    used = [entry.occurrences for entry in counts]
    if config.smoothing in KNESER_NEY:
        for n in range(1, config.order):
            used[n - 1] = continuation_counts(counts, n)
    if config.smoothing in DISCOUNTING:
        config.discounts = [fit_discounts(small_counts(c), n, config) for n, c in enumerate(used, 1)]
    elif config.smoothing == "pitman_yor":
        used, config.discounts, config.strengths = sample(counts, config, bar)
    elif held_out is not None:
        config.interpolation_weights = fit_weights(*held_out_events(counts, held_out, config), num_events(config))
    elif config.smoothing in ("good_turing", "katz", "stupid_backoff"):
        return used, fit_all_ratios(used, config)
    return used, [None] * config.order


def uniform(config: NGramConfig, words: np.ndarray | slice) -> np.ndarray:
    """Return 1 / |V| for each event among the words that stay, (vocab,) float64: order 1 is interpolated with it."""
    is_event = np.zeros(config.vocab_size, bool)
    is_event[words] = True
    is_event[config.non_events] = False
    return is_event / np.count_nonzero(is_event)


def log10(values: np.ndarray) -> np.ndarray:
    """Return logarithms for the tables, float32; -inf for 0."""
    with np.errstate(divide="ignore"):
        return np.log10(values).astype(np.float32)


def smooth_order(
    prefixes: np.ndarray,
    starts: np.ndarray,
    n: int,
    used: np.ndarray,
    kept: np.ndarray | slice,
    lower: np.ndarray,
    events: int,
    config: NGramConfig,
    ratios: DiscountRatios | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return P of each n-gram of order n, and gamma (or bow) of each context: (n-grams,), (contexts,) float64.

    Args:
        prefixes: (n-grams,) the context of each n-gram; all contexts, or neighbouring ones that are numbered from 0.
        starts: (contexts,) True where a context begins with `<s>`; one True for order 1.
        used: (n-grams,) the counts that are discounted; for Pitman-Yor, the first term of P itself.
        kept: (n-grams,) those that are not pruned.
        lower: (n-grams,) P(w | h'); may be overwritten.
        events: |V|, how many words can follow.
    """
    totals = np.bincount(prefixes, used, minlength=len(starts))
    if config.smoothing in DISCOUNTING:
        by_count = np.array([0.0, *config.discounts[n - 1]])  # type: ignore[index]
        numerators = by_count.take(used, mode="clip")
        np.subtract(used, numerators, out=numerators)
        np.maximum(numerators, 0, out=numerators)
    else:
        numerators, totals = _first_term(used, totals, prefixes, starts, n, events, config, ratios)
    if isinstance(kept, np.ndarray):
        numerators[~kept] = 0
    if config.smoothing == "stupid_backoff":
        return np.divide(numerators, totals[prefixes], out=numerators, where=numerators > 0), np.ones(len(totals))
    if ratios is not None:
        return back_off(numerators, totals, prefixes, lower, events)
    # What the 1-grams leave is shared by all words if none is unseen.
    if config.smoothing == "witten_bell_backoff" and (n > 1 or np.count_nonzero(numerators) < events):
        return back_off(numerators, totals, prefixes, lower, events, least_left=0)
    return interpolate(numerators, totals, prefixes, lower)


def interpolate(
    numerators: np.ndarray, totals: np.ndarray, prefixes: np.ndarray, lower: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return P of each n-gram and gamma of each context, (n-grams,), (contexts,); overwrites `numerators` and `lower`.

    >>> interpolate(np.array([2.5, 1.5]), np.array([5.0]), np.array([0, 0]), np.array([0.25, 0.75]))
    (array([0.55, 0.45]), array([0.2]))

    Args:
        numerators: (n-grams,) c(hw) - D(hw), float64.
        totals: (contexts,) C(h); 0 where nothing followed h: gamma is 1 there.
        prefixes: (n-grams,) index of each n-gram's context.
        lower: (n-grams,) P(w | h').
    """
    left = np.maximum(totals - np.bincount(prefixes, numerators, minlength=len(totals)), 0)
    gammas = np.divide(left, totals, out=np.ones(len(totals)), where=totals > 0)
    scale = np.divide(1, totals, out=np.zeros(len(totals)), where=totals > 0)
    for start in range(0, len(prefixes), BLOCK):
        block = slice(start, start + BLOCK)
        numerators[block] *= scale.take(prefixes[block])
        lower[block] *= gammas.take(prefixes[block])
        numerators[block] += lower[block]
    return numerators, gammas


def _first_term(
    used: np.ndarray,
    totals: np.ndarray,
    prefixes: np.ndarray,
    starts: np.ndarray,
    n: int,
    events: int,
    config: NGramConfig,
    ratios: DiscountRatios | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return c(hw) - D(hw), (n-grams,), and C(h), (contexts,), of smoothings without a discount by count; float64."""
    if config.smoothing == "pitman_yor":
        return used.copy(), np.ones(len(starts))
    if config.smoothing == "add_alpha":
        # Only full contexts are counted (order n-1, or beginning with `<s>`); all others give 1 / |V|.
        full = np.ones_like(starts) if n == config.order else starts & (n > 1)
        return used * full[prefixes].astype(float), np.where(full, totals + config.alpha * events, 0)
    if config.smoothing in WITTEN_BELL:
        return used.astype(float), totals + np.bincount(prefixes, used > 0, minlength=len(starts))
    if ratios is not None:
        return used * ratios.of(used), totals
    weight = 1.0 if config.interpolation_weights is None else config.interpolation_weights[n - 1]
    return weight * used, totals


def small_counts(used: np.ndarray) -> np.ndarray:
    """Return how many n-grams have a count of 0, 1, 2, 3, 4, and of more: (6,)."""
    return np.bincount(np.minimum(used, 5), minlength=6)


def fit_discounts(small: np.ndarray, n: int, config: NGramConfig) -> list[float]:
    """Return one discount, or three, for the n-grams of order n, from their `small_counts`."""
    of, wanted = small.astype(float), 3 if config.smoothing == "modified_kneser_ney" else 1
    if of[1 : max(wanted, 2) + 1].all():
        y, k = of[1] / (of[1] + 2 * of[2]), np.arange(1, wanted + 1)
        found = k - (k + 1) * y * of[2:5] / of[1:4] if wanted == 3 else np.array([y])
        if ((found >= 0) & (found <= k)).all():
            return found.tolist()
    numbers = ", ".join(map(str, small[1:5]))
    warnings.warn(
        f"{n}-grams that occur 1, 2, 3, 4 times number {numbers}: too few, or artificial text, to estimate discounts; "
        f"{FALLBACK_DISCOUNTS[:wanted]} are used. A larger corpus avoids this",
        stacklevel=2,
    )
    return list(FALLBACK_DISCOUNTS[:wanted])


def kept_ngrams(entry: NGramCounts, n: int, config: NGramConfig) -> np.ndarray | slice:
    """Return which n-grams of order n > 1 are not pruned: (n-grams,) bool, or all of them as a slice.

    A pruned word is in none of them: none occurs more often than its words, and thresholds do not decrease.
    """
    threshold = 0 if not config.prune else config.prune[min(n, len(config.prune)) - 1]
    return entry.occurrences > threshold if threshold else slice(None)


def renumber(
    keys: np.ndarray, kept_contexts: np.ndarray | slice, words: np.ndarray | slice, vocab_size: int
) -> np.ndarray:
    """Return the keys of kept n-grams, with their contexts, and their last words, numbered among the kept ones."""
    if isinstance(kept_contexts, slice):
        return keys
    prefixes = keys // vocab_size
    skipped = np.arange(len(kept_contexts)) - (np.cumsum(kept_contexts) - 1)  # contexts that are not kept, before each
    if isinstance(words, slice):
        return keys - skipped.take(prefixes) * vocab_size
    numbers = np.cumsum(words) - 1
    return (prefixes - skipped.take(prefixes)) * (numbers[-1] + 1) + numbers.take(keys - prefixes * vocab_size)
