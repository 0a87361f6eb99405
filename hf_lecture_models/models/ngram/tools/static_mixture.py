# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Several back-off models as one, which an ARPA file can hold (A. Stolcke, SRILM, 2002: `ngram -mix-lm`):

    p*(hw) = sum_i weight_i P_i(w | h)                     for each n-gram hw that a model lists
    bow(h) = left(h) / (1 - sum of P(w | h') over the w listed after h)
    left(h) = sum_i weight_i bow_i(h) (1 - sum of P_i(w | h') over the same w)

with h' = h without its first word, and bow_i(h) = 1 where model i does not list h. Listed n-grams have the probability
of the mixture of probabilities. Others have that of this model's own backing off, bow(h) P(w | h'), which is not the
sum of the models' weight_i bow_i(h) P_i(w | h').
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tqdm.auto import tqdm

from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.tools.contexts import Contexts, parts, with_back_off_weights

_TOO_MUCH, _ROUNDING = 1e-3, 1e-5
"""Probabilities of float32, or of ARPA files with six digits, add up to one within this."""


def mix_tables(models: Sequence[NGramTables], weights: Sequence[float], bar: tqdm | None = None) -> NGramTables:
    """Return one table of all n-grams of several tables over the same words; `bar` counts the orders of each model.

    >>> one, other = np.log10(np.float32([0.5, 0.5])), np.log10(np.float32([0.1, 0.9]))
    >>> both = mix_tables([NGramTables(2, [], [one], []), NGramTables(2, [], [other], [])], [0.5, 0.5])
    >>> [round(10**value, 3) for value in both.log10_probs[0].tolist()]
    [0.3, 0.7]

    Raises:
        ValueError: the probabilities after a context add up to more than 1.
    """
    keys, places = _united_keys(models)
    sizes = [models[0].vocab_size, *map(len, keys)]
    probs, left = [np.zeros(size) for size in sizes], [np.zeros(size) for size in sizes[:-1]]
    for tables, own, weight in zip(models, places, weights, strict=True):
        _add(tables, own, weight, keys, probs, left, bar)
        own.clear()
    for n, found in enumerate(keys, 2):
        left[n - 2] = _checked(left[n - 2], 1 - np.bincount(found // sizes[0], probs[n - 1], minlength=sizes[n - 2]))
    logs = [_log10(probs.pop(0)) for _ in sizes]
    nothing = [np.zeros(size, np.float32) for size in sizes[:-1]]
    return with_back_off_weights(NGramTables(sizes[0], keys, logs, nothing), left)


def _checked(left: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Return what contexts leave to the words not listed after them, of `left` and of 1 - what is listed, the `rest`.

    The first has the smaller error where the models' distributions sum to one.
    """
    if (rest < -_TOO_MUCH).any():
        raise ValueError(
            f"the probabilities after a context add up to {1 - rest.min():.4g}: the distributions of a model do not "
            "sum to one, as those of quantised files, and no back-off weights mend this; mix the models at each word "
            "instead, or take the files that they were made from"
        )
    return np.where(np.abs(rest - left) < _ROUNDING, left, rest)


def _log10(probs: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.minimum(np.log10(probs, out=probs), 0, out=probs).astype(np.float32)


def _united_keys(models: Sequence[NGramTables]) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    """Return the keys of all n-grams, [n-2], and for each model where its own are among them, [model][n-2]."""
    size, order = models[0].vocab_size, max(tables.order for tables in models)
    keys: list[np.ndarray] = []
    places: list[list[np.ndarray]] = [[] for _ in models]
    for n in range(2, order + 1):
        own = [_moved(tables.keys[n - 2], found[-1:], size) for tables, found in _of_order(models, places, n)]
        every = np.concatenate(own)
        every.sort(kind="stable")  # sorted parts, which are only merged
        is_new = np.ones(len(every), bool)
        np.not_equal(every[1:], every[:-1], out=is_new[1:])
        keys.append(every[is_new])
        for (_, found), moved in zip(_of_order(models, places, n), own, strict=True):
            found.append(np.searchsorted(keys[-1], moved))
    return keys, places


def _of_order(
    models: Sequence[NGramTables], places: list[list[np.ndarray]], n: int
) -> list[tuple[NGramTables, list[np.ndarray]]]:
    return [pair for pair in zip(models, places, strict=True) if pair[0].order >= n]


def _moved(keys: np.ndarray, places: list[np.ndarray], size: int) -> np.ndarray:
    """Return keys in which a prefix has its new number; they increase as before."""
    if not places:
        return keys
    prefixes, words = np.divmod(keys, size)
    return places[0][prefixes] * size + words


def _add(
    tables: NGramTables,
    places: list[np.ndarray],
    weight: float,
    keys: list[np.ndarray],
    probs: list[np.ndarray],
    left: list[np.ndarray],
    bar: tqdm | None,
) -> None:
    """Add a model's part of the probability of each n-gram, and of what each context leaves to the words not listed."""
    contexts, size = Contexts(tables), tables.vocab_size
    probs[0] += weight * 10.0 ** contexts.probs[1 : size + 1].astype(np.float64)
    # Of each n-gram as a context: the longest suffix that the model has as a context, and whether that is all of it.
    states = np.arange(1, size + 1) if tables.order > 1 else np.zeros(size, np.int64)
    stored = np.full(size, tables.order > 1)
    for n, found in enumerate(keys, 2):
        listed, longer = np.zeros(len(states)), np.empty(len(found) if n <= len(left) else 0, np.int64)
        is_own = np.zeros(len(found), bool)
        for rows in places[n - 2 : n - 1]:
            is_own[rows] = True
        for part in parts(len(found)):
            prefixes, words = np.divmod(found[part], size)
            state, is_whole = states[prefixes], stored[prefixes]
            log10_probs, entries = contexts.search(np.where(is_whole, contexts.suffixes[state], state), words)
            np.add.at(listed, prefixes, 10.0**log10_probs)
            log10_probs += np.where(is_whole, contexts.backoffs[state], 0)
            probs[n - 1][part] += np.where(is_own[part], 0, weight * 10.0**log10_probs)
            if longer.size:
                longer[part] = _as_contexts(contexts, entries)
        left[n - 2] += weight * 10.0 ** np.where(stored, contexts.backoffs[states], 0) * np.maximum(1 - listed, 0)
        if n <= tables.order:
            probs[n - 1][is_own] += weight * 10.0 ** tables.log10_probs[n - 1].astype(np.float64)
        if n < tables.order:
            longer[is_own] = np.arange(contexts.first[n], contexts.first[n + 1])
        states, stored = longer, is_own & (n < tables.order)
        if bar is not None:
            bar.update()


def _as_contexts(contexts: Contexts, entries: np.ndarray) -> np.ndarray:
    """Return the numbers of n-grams, and for those of the highest order, which are not contexts, of their suffixes."""
    longest = np.flatnonzero(entries >= contexts.first[contexts.order])
    rows = entries[longest] - contexts.first[contexts.order]
    entries[longest] = contexts.suffixes_of(contexts.order, rows)
    return entries
