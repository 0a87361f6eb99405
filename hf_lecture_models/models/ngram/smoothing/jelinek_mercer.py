# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The weights of linear interpolation (slide Y:179-225), by expectation maximisation on held-out texts.

F. Jelinek and R. Mercer, Interpolated Estimation of Markov Source Parameters from Sparse Data, 1980; one weight per
order (`interpolated.py` has the equation).
"""

from __future__ import annotations

import numpy as np
import torch

from hf_lecture_models.layers.ngram_search import find
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import NGramCounts, Stream

MIN_WEIGHT, MAX_STEPS, TOLERANCE = 1e-4, 2000, 1e-7


def held_out_events(counts: list[NGramCounts], held_out: Stream, config: NGramConfig) -> tuple[np.ndarray, np.ndarray]:
    """Look the events of a held-out stream up in the counts of each order.

    Returns:
        The maximum likelihood estimate of each event, 0 where the n-gram is unknown; and True where its context
        occurred in training. (orders, events) each.
    """
    words, places = held_out.words, held_out.places
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
    return np.array(likelihoods), np.array(known)


def fit_weights(likelihoods: np.ndarray, known: np.ndarray, events: int) -> list[float]:
    """Return the weights lambda_1 .. lambda_order that make the held-out events most probable.

    The longest known context draws an event with probability lambda, else it leaves the event to the next shorter one.
    E: how much of each event each order drew; M: lambda = what the order drew / what reached it.

    Args:
        likelihoods, known: what `held_out_events` returns.
        events: |V|, of the uniform distribution below order 1.
    """
    weights = np.full(len(known), 0.5)
    for _ in range(MAX_STEPS):
        probs = [np.full(known.shape[1], 1 / events)]
        for weight, likelihood, is_known in zip(weights, likelihoods, known, strict=True):
            probs.append(np.where(is_known, weight * likelihood + (1 - weight) * probs[-1], probs[-1]))
        reached, updated = np.ones_like(probs[0]), weights.copy()
        for n in reversed(range(len(weights))):
            drawn = reached * known[n] * weights[n] * likelihoods[n] / probs[n + 1]
            if known[n].any():
                updated[n] = drawn.sum() / reached[known[n]].sum()
            reached = reached - drawn
        change = np.abs(updated - weights).max()
        weights = updated.clip(MIN_WEIGHT, 1 - MIN_WEIGHT)
        if change < TOLERANCE:
            break
    return weights.tolist()
