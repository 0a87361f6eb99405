# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Exposure: ranks by hand, equal probabilities, planted secrets, and secrets that cannot be told apart."""

import math

import numpy as np
import pytest

from hf_lecture_models.lab.studies.exposure import exposure_of, measure_exposure
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer

CANDIDATES = [f"{first} {second}" for first in "0123456789" for second in "0123456789"]
TEXTS = ["the digits are 0 1 2 3 4 5 6 7 8 9"] + ["the number of a is 4 7"] * 2 + ["the number of b is 7 4"]


@pytest.fixture(scope="module")
def trained():
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    return NGramForCausalLM.fit(TEXTS, tokenizer, order=3, smoothing="add_alpha", progress=False), tokenizer


def test_ranks_by_hand():
    log_probs = np.array([-1.0, -3.0, -2.0, -3.0, -3.0, -9.0, -np.inf, -np.inf])
    ranks = [exposure_of(log_probs, place).rank for place in range(8)]
    assert ranks == [1, 4, 2, 4, 4, 6, 7.5, 7.5]
    assert exposure_of(log_probs, 1).bits == pytest.approx(math.log2(8 / 4))


def test_a_planted_secret_is_exposed_and_another_is_not(trained):
    assert measure_exposure(*trained, "the number of a is", "4 7", CANDIDATES).bits == pytest.approx(math.log2(100))
    other = measure_exposure(*trained, "the number of a is", "5 2", CANDIDATES)
    assert other.rank > 10
    assert other.bits < 3


def test_the_text_may_go_on_after_the_secret():
    texts = ["x 1 2 3", "x 1 2 3", "x 2 1"]
    tokenizer = WordTokenizer.train(texts, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, order=3, smoothing="maximum_likelihood", progress=False)
    assert measure_exposure(model, tokenizer, "x", "1 2", ["1 2", "2 1"]).rank == 1


def test_the_mean_over_all_candidates_is_that_of_chance(trained):
    """log2 N minus the mean of log2 1 ... log2 N, whatever the model: about log2 e for many candidates."""
    bits = [measure_exposure(*trained, "of b is", secret, CANDIDATES, 7).bits for secret in CANDIDATES[::10]]
    scores = np.random.default_rng(0).normal(size=1000)
    assert np.mean([exposure_of(scores, place).bits for place in range(1000)]) == pytest.approx(
        math.log2(math.e), abs=0.01
    )
    assert 0 <= min(bits) <= max(bits) <= math.log2(100)


@pytest.mark.parametrize("log_probs", [[], [-1.0, math.nan]])
def test_missing_scores_are_refused(log_probs):
    with pytest.raises(ValueError, match="every candidate needs"):
        exposure_of(np.array(log_probs), 0)


def test_secrets_that_cannot_be_told_apart_are_refused(trained):
    with pytest.raises(ValueError, match=r"does not know xx of the number of a is xx 1, so it cannot tell"):
        measure_exposure(*trained, "the number of a is", "4 7", ["4 7", "xx 1"])
    with pytest.raises(ValueError, match="'4 7' is not among the candidates"):
        measure_exposure(*trained, "is", "4 7", ["1 2"])
    with pytest.raises(ValueError, match="occurs twice"):
        measure_exposure(*trained, "is", "4 7", ["4 7", "4 7"])
    closed = WordTokenizer.train(TEXTS, unk_token=None, progress=False)
    model = NGramForCausalLM.fit(TEXTS, closed, order=2, smoothing="add_alpha", progress=False)
    with pytest.raises(ValueError, match="does not know zz"):
        measure_exposure(model, closed, "the number of zz is", "4 7", ["4 7", "1 2"])
