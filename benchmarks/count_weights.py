# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Linear interpolation of n-grams with weights that depend on the context's counts, for `benchmarks.discounting`.

    P(w | h) = lambda(h) P_ML(w | h) + (1 - lambda(h)) P(w | h'),    P(w) = lambda P_ML(w) + (1 - lambda) / |V|

h' is h without its first word. lambda(h) is the same for all h of one order in a group. The groups are by the mean
count of the words that were seen after h (S. F. Chen and J. Goodman, An Empirical Study of Smoothing Techniques for
Language Modeling, 1999, sections 2.3 and 2.9). The package's own Jelinek-Mercer smoothing has one group for each order.
"""

from collections.abc import Iterator

import numpy as np

from hf_lecture_models.models.ngram.checks_ngram import num_events
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import NGramCounts, Stream, continuation_counts

EVENTS_PER_WEIGHT, MAX_STEPS, TOLERANCE = 1000, 500, 1e-5


def estimates(counts: list[NGramCounts], stream: Stream, vocab_size: int, kneser: bool) -> Iterator[np.ndarray]:
    """Yield for each order P_ML of each event after its context, and the mean count of the words after that context.

    Both are 0 where the context was not seen; (2, events) for each order.

    Args:
        kneser: the orders below the highest count the different words before, as those of Kneser-Ney.
    """
    events, entries = stream.places > 0, stream.words
    for n, entry in enumerate(counts, 1):
        occurrences = continuation_counts(counts, n) if kneser and n < len(counts) else entry.occurrences
        if n == 1:
            yield np.stack([occurrences[entries[events]] / occurrences.sum(), np.ones(events.sum())])
            continue
        contexts = np.where(stream.places >= n - 1, np.roll(entries, 1), -1)
        keys = np.where(contexts >= 0, contexts * vocab_size + stream.words, -1)
        at = np.searchsorted(entry.keys, keys).clip(max=len(entry.keys) - 1)
        entries = np.where(entry.keys[at] == keys, at, -1)
        prefixes = entry.keys // vocab_size
        totals = np.append(np.bincount(prefixes, occurrences, minlength=len(counts[n - 2].keys)), 0)[contexts]
        words = np.append(np.bincount(prefixes, minlength=len(counts[n - 2].keys)), 0)[contexts]
        found = np.where(entries >= 0, occurrences[entries], 0)
        yield np.stack([found / totals.clip(1), totals / words.clip(1)])[:, events]


def groups(means: np.ndarray, least: int = EVENTS_PER_WEIGHT) -> np.ndarray:
    """Return the upper bounds of groups of mean counts, in steps of the square root of 2, each with enough events.

    >>> groups(np.array([1.0, 1.0, 1.5, 4.0, 9.0]), least=2).round(1).tolist()
    [1.0, 4.0]
    """
    bounds, events = np.unique(np.exp2(np.ceil(2 * np.log2(means[means > 0])) / 2), return_counts=True)
    kept: list[float] = []
    waiting = 0
    for bound, number in zip(bounds, events, strict=True):
        waiting += number
        if waiting >= least:
            kept.append(bound)
            waiting = 0
    return np.array(kept)


def interpolated(likelihoods: np.ndarray, weights: np.ndarray, events: int) -> np.ndarray:
    """Return P of each event by each order, from 0, the uniform distribution: (orders + 1, events)."""
    probs = [np.full(likelihoods.shape[1], 1 / events)]
    for likelihood, weight in zip(likelihoods, weights, strict=True):
        probs.append(weight * likelihood + (1 - weight) * probs[-1])
    return np.array(probs)


class CountWeights:
    """The weight of each order after a context, by the mean count of the words after it.

    Args:
        measured: what `estimates` yields for the held-out events, (orders, 2, events), which the weights make most
            probable, by expectation maximisation as in `smoothing/jelinek_mercer.py`.
        events: |V|, of the uniform distribution below order 1.
        least: how many held-out events set a weight; a large number gives one weight for each order.
    """

    def __init__(self, measured: np.ndarray, events: int, least: int = EVENTS_PER_WEIGHT) -> None:
        self.bounds = [groups(means, least)[:-1] for means in measured[:, 1]]
        self.weights = [np.full(len(bounds) + 1, 0.5) for bounds in self.bounds]
        group = self._groups(measured[:, 1])
        for _ in range(MAX_STEPS):
            if self._step(measured, group, events) < TOLERANCE:
                break

    def of(self, means: np.ndarray) -> np.ndarray:
        """Return the weights of events, (orders, events), by their mean counts; 0 after an unknown context."""
        group = self._groups(means)
        return np.where(means > 0, [weights[at] for weights, at in zip(self.weights, group, strict=True)], 0)

    def _groups(self, means: np.ndarray) -> list[np.ndarray]:
        # A mean that is a bound may differ from it by rounding.
        return [np.searchsorted(bounds, row * (1 - 1e-9)) for bounds, row in zip(self.bounds, means, strict=True)]

    def _step(self, measured: np.ndarray, group: list[np.ndarray], events: int) -> float:
        """Do one step of expectation maximisation; return the largest change of a weight."""
        likelihoods, means = measured[:, 0], measured[:, 1]
        used = self.of(means)
        probs = interpolated(likelihoods, used, events)
        reached, change = np.ones(likelihoods.shape[1]), 0.0
        for n in reversed(range(len(self.weights))):
            drawn, seen, size = reached * used[n] * likelihoods[n] / probs[n + 1], means[n] > 0, len(self.weights[n])
            mass = np.bincount(group[n][seen], reached[seen], size).clip(1e-12)
            new = (np.bincount(group[n][seen], drawn[seen], size) / mass).clip(1e-4, 1 - 1e-4)
            change, self.weights[n] = max(change, float(np.abs(new - self.weights[n]).max())), new
            reached = reached - drawn
        return change


def log_probs(
    counts: list[NGramCounts], streams: dict[str, Stream], config: NGramConfig, kneser: bool
) -> dict[str, np.ndarray]:
    """Return ln P of each event of each stream, with the weights that the events of the one "validation" set."""
    events = num_events(config)
    of = {part: np.array(list(estimates(counts, one, config.vocab_size, kneser))) for part, one in streams.items()}
    weights = CountWeights(of["validation"], events)
    return {
        part: np.log(interpolated(measured[:, 0], weights.of(measured[:, 1]), events)[-1])
        for part, measured in of.items()
    }
