# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Caches beside loops that are written from the papers' formulas."""

import math

import numpy as np
import pytest

from hf_lecture_models.lab.studies import cache as module
from hf_lecture_models.lab.studies.cache import ContinuousCache, Predictions, UnigramCache


def unigram(cache, tokens):
    """Kuhn and De Mori's cache, word by word."""
    found = []
    for t, word in enumerate(tokens.words):
        recent = tokens.words[max(0, t - cache.window) : t][::-1]  # the latest word first
        total = sum(cache.decay**i for i in range(len(recent)))
        same = sum(cache.decay**i for i, other in enumerate(recent) if other == word)
        found.append(same / total if len(recent) else None)
    return mixed(cache, tokens, found)


def continuous(cache, tokens):
    """Grave et al.'s cache, word by word; `states[t]` is the one that predicted word t."""
    found = []
    for t, word in enumerate(tokens.words):
        places = range(max(0, t - cache.window), t)
        scores = {i: math.exp(cache.theta * float(tokens.states[t] @ tokens.states[i])) for i in places}
        same = sum(score for i, score in scores.items() if tokens.words[i] == word)
        found.append(same / sum(scores.values()) if scores else None)
    return mixed(cache, tokens, found)


def mixed(cache, tokens, found):
    return [
        p if cached is None else (1 - cache.weight) * p + cache.weight * cached
        for p, cached in zip(np.exp(tokens.log_probs), found, strict=True)
    ]


@pytest.fixture
def tokens():
    random = np.random.default_rng(0)
    states = random.normal(size=(60, 4)).astype(np.float32)
    return Predictions(random.integers(0, 6, 60), np.log(random.uniform(0.01, 0.5, 60)), states)


CACHES = [
    (UnigramCache(0.3, window=7), unigram),
    (UnigramCache(0.3, window=1000), unigram),
    (UnigramCache(0.2, window=20, decay=0.8), unigram),
    (UnigramCache(0.2, window=1), unigram),
    (ContinuousCache(0.3, window=7, theta=0.5), continuous),
    (ContinuousCache(0.1, window=1000, theta=2.0), continuous),
    (ContinuousCache(0.3, window=7, theta=0.0), unigram),
]


@pytest.mark.parametrize("block", [4, 256])
@pytest.mark.parametrize(("cache", "reference"), CACHES)
def test_each_cache_equals_its_formula(monkeypatch, tokens, cache, reference, block):
    monkeypatch.setattr(module, "_BLOCK", block)
    if isinstance(cache, ContinuousCache) and cache.theta == 0:  # "equivalent to a unigram cache" (Grave et al.)
        expected = reference(UnigramCache(cache.weight, cache.window), tokens)
    else:
        expected = reference(cache, tokens)
    log_probs, _ = cache.adapt(tokens)
    np.testing.assert_allclose(np.exp(log_probs), expected, rtol=1e-5)
    assert log_probs[0] == tokens.log_probs[0]  # the cache was empty


@pytest.mark.parametrize("cache", [cache for cache, _ in CACHES])
def test_what_a_cache_holds_goes_in_and_out(tokens, cache):
    whole, after = cache.adapt(tokens)
    pieces, held = [], None
    for begin, end in ((0, 5), (5, 5), (5, 42), (42, 60)):
        piece = Predictions(tokens.words[begin:end], tokens.log_probs[begin:end], tokens.states[begin:end])
        log_probs, held = cache.adapt(piece, held)
        assert len(held.words) == min(end, cache.window)
        pieces.append(log_probs)
    np.testing.assert_allclose(np.concatenate(pieces), whole, rtol=1e-6)
    assert held.words.tolist() == after.words.tolist() == tokens.words[-cache.window :].tolist()
    again, _ = cache.adapt(piece, after)
    assert again.tolist() == cache.adapt(piece, after)[0].tolist()


def test_what_the_model_excludes_the_cache_may_give():
    tokens = Predictions(np.array([1, 2, 1]), np.array([-1.0, -np.inf, -np.inf]))
    log_probs, _ = UnigramCache(0.5).adapt(tokens)
    assert log_probs.tolist() == [-1.0, -np.inf, math.log(0.25)]
    assert UnigramCache(0.0).adapt(tokens)[0].tolist() == tokens.log_probs.tolist()


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (UnigramCache, {"weight": 1.0}, "weight of a UnigramCache is 1.0; it must be at least 0 and below 1"),
        (ContinuousCache, {"weight": math.nan}, "weight of a ContinuousCache is nan"),
        (UnigramCache, {"window": 0}, "window of a UnigramCache is 0"),
        (UnigramCache, {"decay": 0.0}, "decay of a UnigramCache is 0.0"),
        (ContinuousCache, {"theta": -1.0}, "theta of a ContinuousCache is -1.0"),
    ],
)
def test_options_out_of_range(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(**options)
