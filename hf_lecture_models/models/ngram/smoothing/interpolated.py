# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The art of smoothing (slides Y:179-225): from counts to probabilities.

Smoothings that interpolate have one form. With c(hw) the count of an n-gram, h' the context h without its first word,
D a discount:

    P(w | h) = (c(hw) - D(hw)) / C(h) + gamma(h) P(w | h'),        P(w | no context) = ... + gamma / |V|
    gamma(h) = 1 - the sum of the first term over all w: the probability that the words seen after h leave

    maximum likelihood    D = 0, C(h) = sum_w c(hw); an h that never occurred uses its longest suffix that did
    add-alpha             D = 0, C(h) = sum_w c(hw) + alpha |V|, and 1 / |V| in place of P(w | h')
    Jelinek-Mercer        D(hw) = (1 - lambda_n) c(hw): lambda_n P_ML + (1 - lambda_n) P(w | h'); one weight per order,
                          by expectation maximisation on held-out text
    absolute discounting  D = n_1 / (n_1 + 2 n_2) at each order, n_k the number of n-grams that occur k times
                          (H. Ney, U. Essen, R. Kneser 1994)
    Kneser-Ney            the same, but below the highest order c(hw) is the number of different words before hw (1995)
    modified Kneser-Ney   and D depends on c: D_k = k - (k+1) Y n_{k+1} / n_k for k = 1, 2, 3 and more,
                          Y = n_1 / (n_1 + 2 n_2) (Chen and Goodman 1999)
    Pitman-Yor            as Kneser-Ney, but D, and how many customers stand for c(hw), are sampled (Teh 2006;
                          `pitman_yor.py`)

Smoothings that back off ask the shorter context only about words that were not seen after h; `back_off.py` has their
discounts d, by which counts are multiplied:

    P(w | h) = d(hw) c(hw) / C(h)  where hw was seen,  else bow(h) P(w | h'),  bow(h) such that all w sum to one

    Good-Turing, Katz, and stupid back-off, whose d and bow are constants and whose scores sum to nothing in particular

Deviations:
    - n-grams that begin with `<s>` keep their own counts under Kneser-Ney, as in lmplz: no word precedes them.
    - D of absolute discounting and Kneser-Ney is set at each order, from all n-grams.
    - A weight of Jelinek-Mercer does not depend on c(h), and stays in [0.0001, 0.9999], so that no event is lost.
    - Pruned n-grams (K. Heafield et al. 2013) give their counts to gamma(h).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from tqdm.auto import tqdm

from hf_lecture_models.layers.ngram_search import find
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.smoothing.back_off import DiscountRatios, back_off, fit_ratios
from hf_lecture_models.models.ngram.smoothing.pitman_yor import interpolate_shares, sample

FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)
MIN_WEIGHT = 1e-4


@dataclass(frozen=True)
class NGramCounts:
    """The distinct n-grams of one order, sorted by key; (n-grams,) each."""

    keys: np.ndarray  # prefix × vocabulary + last word
    occurrences: np.ndarray  # `<s>` itself counts 0: it is never predicted
    suffixes: np.ndarray  # index, among the (n-1)-grams, of the n-gram without its first word
    starts: np.ndarray  # bool: the first word is `<s>`


@dataclass(frozen=True)
class HeldOutEvents:
    """The estimate of each order for each held-out event; (orders, events) each."""

    likelihoods: np.ndarray  # maximum likelihood p of the event; 0 where the n-gram is unknown
    known: np.ndarray  # bool: the context of this order occurred in training


def smooth(
    counts: list[NGramCounts], config: NGramConfig, held_out: HeldOutEvents | None = None, bar: tqdm | None = None
) -> NGramTables:
    """Compute p and back-off weight of each n-gram that is kept; discounts or weights are written into `config`."""
    config.interpolation_weights = None if held_out is None else fit_weights(held_out, _events(config))
    config.discounts = config.discount_ratios = config.strengths = None
    used = [_counts_used(counts, n, config) for n in range(1, config.order + 1)]
    if config.smoothing in ("absolute_discounting", "kneser_ney", "modified_kneser_ney"):
        config.discounts = [fit_discounts(small_counts(c), n, config) for n, c in enumerate(used, 1)]
    ratios = _fit_all_ratios(used, config)
    sampled = sample(counts, config.vocab_size, _events(config), bar) if config.smoothing == "pitman_yor" else None
    if sampled is not None:
        config.discounts, config.strengths = [[d] for d in sampled.discounts], sampled.strengths
    kept = [kept_ngrams(c, n, config) for n, c in enumerate(counts, 1)]
    tables = NGramTables(config.vocab_size, _renumbered(counts, kept, config.vocab_size), [], [])
    lower = uniform(config)
    for n in range(1, config.order + 1):
        if sampled is not None:
            probs, gammas = _from_shares(counts, n, sampled.shares[n - 1], kept[n - 1], lower)
        else:
            starts = counts[n - 2].starts if n > 1 else np.ones(1, bool)
            ratio = ratios[n - 1] if ratios else None
            probs, gammas = smooth_order(counts[n - 1], starts, n, used[n - 1], kept[n - 1], lower, config, ratio)
        tables.log10_probs.append(np.minimum(log10(probs[kept[n - 1]]), 0))
        if n > 1:
            tables.log10_backoffs.append(log10(gammas[kept[n - 2]]))
        lower = probs
        if bar is not None:
            bar.update()
    return tables


def uniform(config: NGramConfig) -> np.ndarray:
    """P(w) before anything is known, (vocab,) float64: what order 1 is interpolated with."""
    probs = np.full(config.vocab_size, 1 / _events(config))
    probs[config.non_events] = 0
    return probs


def log10(values: np.ndarray) -> np.ndarray:
    """As the tables hold them: float32; -inf of 0."""
    with np.errstate(divide="ignore"):
        return np.log10(values).astype(np.float32)


def smooth_order(
    entry: NGramCounts,
    starts: np.ndarray,
    n: int,
    used: np.ndarray,
    kept: np.ndarray | slice,
    lower: np.ndarray,
    config: NGramConfig,
    ratios: DiscountRatios | None,
) -> tuple[np.ndarray, np.ndarray]:
    """P of each n-gram of order n, and gamma of each of its contexts: (n-grams,), (contexts,) float64.

    Args:
        entry: the n-grams of all contexts, or of some that stand side by side and are numbered from 0.
        starts: (contexts,) whether a context begins with `<s>`; one True for order 1.
        used: (n-grams,) the counts that are discounted.
        kept: (n-grams,) those that are not pruned.
        lower: P(w | h') by the number of the n-gram h'w.
        ratios: for smoothings that back off.
    """
    if ratios is not None:
        return _back_off(entry, len(starts), ratios, kept, lower, config)
    return _interpolate(entry, starts, n, used, kept, lower, config)


def _interpolate(
    entry: NGramCounts,
    starts: np.ndarray,
    n: int,
    used: np.ndarray,
    kept: np.ndarray | slice,
    lower: np.ndarray,
    config: NGramConfig,
) -> tuple[np.ndarray, np.ndarray]:
    contexts = len(starts)
    prefixes = entry.keys // config.vocab_size
    numerators = _numerators(used, n, config)
    totals = np.bincount(prefixes, used, minlength=contexts)
    if config.smoothing == "add_alpha":
        # Only full contexts are counted (order n-1, or beginning with `<s>`); all others give 1 / |V|.
        full = np.ones_like(starts) if n == config.order else starts & (n > 1)
        totals = np.where(full, totals + config.alpha * _events(config), 0)
        numerators *= full[prefixes]
    if not isinstance(kept, slice):
        numerators[~kept] = 0
    left = np.maximum(totals - np.bincount(prefixes, numerators, minlength=contexts), 0)
    gammas = np.divide(left, totals, out=np.ones(contexts), where=totals > 0)
    scale = np.divide(1, totals, out=np.zeros(contexts), where=totals > 0)
    numerators *= scale.take(prefixes)
    from_lower = lower.take(entry.suffixes)
    from_lower *= gammas.take(prefixes)
    numerators += from_lower
    return numerators, gammas


def _from_shares(
    counts: list[NGramCounts], n: int, shares: np.ndarray, kept: np.ndarray | slice, lower: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """As `_interpolate`, for Pitman-Yor."""
    entry, contexts = counts[n - 1], len(counts[n - 2].keys) if n > 1 else 1
    if not isinstance(kept, slice):
        shares = np.where(kept, shares, 0)
    return interpolate_shares(shares, entry.keys // len(counts[0].keys), contexts, lower[entry.suffixes])


def _back_off(
    entry: NGramCounts,
    contexts: int,
    ratios: DiscountRatios,
    kept: np.ndarray | slice,
    lower: np.ndarray,
    config: NGramConfig,
) -> tuple[np.ndarray, np.ndarray]:
    """As `_interpolate`, for the smoothings of `back_off.py`."""
    prefixes = entry.keys // config.vocab_size
    totals = np.bincount(prefixes, entry.occurrences, minlength=contexts)
    numerators = entry.occurrences * ratios.of(entry.occurrences)
    if not isinstance(kept, slice):
        numerators[~kept] = 0
    if config.smoothing == "stupid_backoff":
        return np.divide(numerators, totals[prefixes], out=numerators, where=numerators > 0), np.ones(len(totals))
    return back_off(numerators, totals, prefixes, lower[entry.suffixes], _events(config))


def _fit_all_ratios(used: list[np.ndarray], config: NGramConfig) -> list[DiscountRatios]:
    """Of each order, those of counts 1, 2, 3 ... being written into `config`; none for smoothings that interpolate."""
    if config.smoothing == "stupid_backoff":
        return [DiscountRatios(np.ones(1))] * len(used)
    if config.smoothing not in ("good_turing", "katz"):
        return []
    ratios = [fit_ratios(c, n, config) for n, c in enumerate(used, 1)]
    shown = config.katz_k if config.smoothing == "katz" else 10
    config.discount_ratios = [ratio.of(np.arange(1, shown + 1)).tolist() for ratio in ratios]
    return ratios


def _counts_used(counts: list[NGramCounts], n: int, config: NGramConfig) -> np.ndarray:
    """Occurrences; for Kneser-Ney below the highest order the number of different preceding words."""
    entry = counts[n - 1]
    if n == config.order or config.smoothing not in ("kneser_ney", "modified_kneser_ney"):
        return entry.occurrences
    before = np.bincount(counts[n].suffixes, minlength=len(entry.keys))
    return before if n == 1 else np.where(entry.starts, entry.occurrences, before)


def small_counts(used: np.ndarray) -> np.ndarray:
    """How many n-grams have a count of 0, 1, 2, 3, 4, and of more: (6,)."""
    return np.bincount(np.minimum(used, 5), minlength=6)


def fit_discounts(small: np.ndarray, n: int, config: NGramConfig) -> list[float]:
    """One discount, or three, of the n-grams of order n, from their `small_counts`."""
    of = small.astype(float)
    wanted = 3 if config.smoothing == "modified_kneser_ney" else 1
    if of[1 : max(wanted, 2) + 1].all():
        y = of[1] / (of[1] + 2 * of[2])
        found = [k - (k + 1) * y * of[k + 1] / of[k] for k in (1, 2, 3)] if wanted == 3 else [y]
        if all(0 <= discount <= k for k, discount in enumerate(found, 1)):
            return [float(discount) for discount in found]
    numbers = ", ".join(f"{count:.0f}" for count in of[1:5])
    warnings.warn(
        f"{n}-grams that occur 1, 2, 3, 4 times number {numbers}: too few, or artificial text, to estimate discounts; "
        f"{FALLBACK_DISCOUNTS[:wanted]} are used. A larger corpus avoids this",
        stacklevel=2,
    )
    return list(FALLBACK_DISCOUNTS[:wanted])


def _numerators(used: np.ndarray, n: int, config: NGramConfig) -> np.ndarray:
    """Counts less discounts, (n-grams,) float64."""
    if config.smoothing == "jelinek_mercer" and config.interpolation_weights is not None:
        return config.interpolation_weights[n - 1] * used
    if config.discounts is None:
        return used.astype(float)
    by_count = np.array([0.0, *config.discounts[n - 1]])
    numerators = used - by_count.take(used, mode="clip")
    return np.maximum(numerators, 0, out=numerators)


def kept_ngrams(entry: NGramCounts, n: int, config: NGramConfig) -> np.ndarray | slice:
    """Which n-grams of order n are not pruned."""
    threshold = 0 if not config.prune else config.prune[min(n, len(config.prune)) - 1]
    return entry.occurrences > threshold if threshold else slice(None)


def _renumbered(counts: list[NGramCounts], kept: list[np.ndarray | slice], vocab_size: int) -> list[np.ndarray]:
    """Keys of the kept n-grams, with prefixes numbered among the kept (n-1)-grams."""
    keys = []
    for entry, kept_shorter, kept_entry in zip(counts[1:], kept, kept[1:], strict=False):
        selected = entry.keys[kept_entry]
        if not isinstance(kept_shorter, slice):
            numbers = np.cumsum(kept_shorter) - 1
            selected = numbers[selected // vocab_size] * vocab_size + selected % vocab_size
        keys.append(selected)
    return keys


def _events(config: NGramConfig) -> int:
    return config.vocab_size - len(config.non_events)


def held_out_events(
    counts: list[NGramCounts], words: np.ndarray, places: np.ndarray, config: NGramConfig
) -> HeldOutEvents:
    """Look the events of a held-out stream up in the counts of each order; `places`: of the words in their texts."""
    events = places > 0
    entries = words
    likelihoods = [(counts[0].occurrences / counts[0].occurrences.sum())[words[events]]]
    known = [np.ones(len(likelihoods[0]), bool)]
    for n, entry in enumerate(counts[1:], 2):
        contexts = np.where(places >= n - 1, np.roll(entries, 1), -1)
        queries = np.where(contexts >= 0, contexts * config.vocab_size + words, -1)
        searched = np.flatnonzero(contexts >= 0)
        entries = np.full(len(words), -1)
        entries[searched] = find(torch.from_numpy(entry.keys), torch.from_numpy(queries[searched])).numpy()
        totals = np.bincount(entry.keys // config.vocab_size, entry.occurrences, minlength=len(counts[n - 2].keys))
        seen = (contexts >= 0) & (totals[contexts] > 0)
        found = np.where(entries >= 0, entry.occurrences[entries], 0)
        likelihoods.append(np.divide(found, totals[contexts], out=np.zeros(len(words)), where=seen)[events])
        known.append(seen[events])
    return HeldOutEvents(np.array(likelihoods), np.array(known))


def fit_weights(held_out: HeldOutEvents, events: int, steps: int = 2000, tolerance: float = 1e-7) -> list[float]:
    """Weights lambda_1 .. lambda_order that make the held-out events most probable, by expectation maximisation.

    An event is drawn by the longest known context with probability lambda, else handed down to the next shorter one.
    E: how much of each event each order drew; M: lambda = what the order drew / what reached it.
    """
    weights = np.full(len(held_out.known), 0.5)
    for _ in range(steps):
        probs = [np.full(held_out.known.shape[1], 1 / events)]
        for weight, likelihood, known in zip(weights, held_out.likelihoods, held_out.known, strict=True):
            probs.append(np.where(known, weight * likelihood + (1 - weight) * probs[-1], probs[-1]))
        reached, updated = np.ones_like(probs[0]), weights.copy()
        for n in reversed(range(len(weights))):
            drawn = reached * held_out.known[n] * weights[n] * held_out.likelihoods[n] / probs[n + 1]
            if held_out.known[n].any():
                updated[n] = drawn.sum() / reached[held_out.known[n]].sum()
            reached = reached - drawn
        change = np.abs(updated - weights).max()
        weights = updated.clip(MIN_WEIGHT, 1 - MIN_WEIGHT)
        if change < tolerance:
            break
    return [float(weight) for weight in weights]
