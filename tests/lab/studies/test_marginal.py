# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Sums over segmentations equal those over all segmentations written out; a network's bound stays below its sum."""

import numpy as np
import pytest
import torch

from hf_lecture_models import NGramForCausalLM, RecurrentConfig, RecurrentForCausalLM, UnigramTokenizer, WordTokenizer
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.evaluation.scoring import ContextLimit, score_rows, score_texts
from hf_lecture_models.lab.studies import marginal
from hf_lecture_models.lab.studies.marginal import BOUND, EXACT, MarginalScorer, score_marginal
from hf_lecture_models.models.feed_forward import FeedForwardConfig, FeedForwardForCausalLM

SCORES = {"a": -1.5, "b": -2.0, " ": -3.0, "ab": -2.5, " a": -2.2, "ba": -4.0, "bab": -5.5}
TRAINING = ["ab ab", "bab", "a ba", "ab", "bb a"]
TEXTS = ["", "a", "abab", "bab ab b", "ab ab ab bab", "abxb ab"]
TOKENIZER = UnigramTokenizer.from_scores(SCORES)


def ngram(order):
    return NGramForCausalLM.fit(TRAINING, TOKENIZER, order=order, smoothing="add_alpha")


def network(kind):
    torch.manual_seed(0)
    ids = {f"{name}_token_id": getattr(TOKENIZER, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    if kind == "feed_forward":
        config = FeedForwardConfig(vocab_size=len(TOKENIZER), hidden_size=8, order=3, initializer_range=1.0, **ids)
        return FeedForwardForCausalLM(config).eval()
    return RecurrentForCausalLM(RecurrentConfig(vocab_size=len(TOKENIZER), hidden_size=8, **ids)).eval()


def all_log_probs(model, text, probability="terminated"):
    """Of every segmentation of a text."""
    end = [TOKENIZER.eos_token_id] if probability == "terminated" else []
    rows = [np.array([TOKENIZER.bos_token_id, *one.ids, *end]) for one in TOKENIZER.nbest(text, 10_000)]
    with torch.no_grad():
        return [float(x.sum()) for x in score_rows(model, rows, ContextLimit.of(model), 64, False)]


@pytest.mark.parametrize("probability", ["terminated", "prefix"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4, "feed_forward"])
def test_sums_are_those_over_all_segmentations(kind, probability):
    model = network(kind) if kind == "feed_forward" else ngram(kind)
    scores = score_marginal(model, TOKENIZER, TEXTS, probability)
    for text, score in zip(TEXTS, scores, strict=True):
        expected = np.logaddexp.reduce(all_log_probs(model, text, probability))
        assert score.log_prob == pytest.approx(expected, abs=1e-5)
        assert score.method == EXACT
    best = score_texts(model, TOKENIZER, TEXTS, probability)
    assert [len(score.ids) for score in scores] == [len(score.ids) for score in best]
    assert all(one.log_prob >= other.log_prob - 1e-6 for one, other in zip(scores, best, strict=True))


def test_prefix_probabilities_of_one_length_add_up():
    """A language over one letter: P(a...a) as a prefix is what is left when the shorter texts have ended."""
    tokenizer = UnigramTokenizer.from_scores({"a": -1.0, "aa": -1.5})
    model = NGramForCausalLM.fit(["aa", "a", "aaa"], tokenizer, order=2, smoothing="add_alpha")
    ended = np.exp([score.log_prob for score in score_marginal(model, tokenizer, ["a" * n for n in range(60)])])
    # But for the unknown token, which no text of this letter has.
    assert 0.6 < ended.sum() < 1.0


def test_texts_in_pieces_of_any_number(monkeypatch):
    model = ngram(2)
    together = [score.log_prob for score in score_marginal(model, TOKENIZER, TEXTS)]
    monkeypatch.setattr(marginal, "_CHARACTERS", 3)
    assert [score.log_prob for score in score_marginal(model, TOKENIZER, TEXTS)] == pytest.approx(together)
    assert score_marginal(model, TOKENIZER, []) == []
    monkeypatch.setattr(marginal, "_MOST_WINDOWS", 10)
    with pytest.raises(ValueError, match="n-grams of pieces at the model's order"):
        score_marginal(model, TOKENIZER, TEXTS)


@pytest.mark.slow
def test_a_networks_bound_is_below_its_sum_and_meets_it():
    model = network("recurrent")
    expected = np.array([np.logaddexp.reduce(all_log_probs(model, text)) for text in TEXTS])
    draws = [score_marginal(model, TOKENIZER, TEXTS, samples=2, seed=seed) for seed in range(100)]
    assert all(score.method == BOUND for row in draws for score in row)
    means = np.array([[score.log_prob for score in row] for row in draws]).mean(0)
    assert (means <= expected + 1e-2).all()
    many = [score.log_prob for score in score_marginal(model, TOKENIZER, TEXTS, samples=3_000)]
    assert many == pytest.approx(expected, abs=0.05)
    # Text without a choice has one segmentation, of which the bound is the probability.
    assert many[:2] == pytest.approx(expected[:2], abs=1e-4)
    assert draws[0][4].log_prob != draws[1][4].log_prob


def test_measures_name_the_sum():
    model = ngram(3)
    best = evaluate_language_model(model, TOKENIZER, TEXTS[:5])
    summed = evaluate_language_model(model, TOKENIZER, TEXTS[:5], score=MarginalScorer())
    assert "segmentations" not in best
    assert summed["segmentations"] == EXACT
    assert summed["bits_per_byte"] < best["bits_per_byte"]
    assert summed["perplexity_without_unk"] == summed["perplexity"] < best["perplexity"]
    assert (summed["tokens"], summed["bytes"]) == (best["tokens"], best["bytes"])
    unknown = evaluate_language_model(model, TOKENIZER, TEXTS, score=MarginalScorer())
    assert unknown["unknown"] == 1
    assert np.isnan(unknown["perplexity_without_unk"])
    assert evaluate_language_model(network("recurrent"), TOKENIZER, TEXTS, score=MarginalScorer())[
        "segmentations"
    ].endswith("lower bound")


def test_what_cannot_be_summed():
    model = ngram(2)
    with pytest.raises(TypeError, match="pieces of a UnigramTokenizer, not WordTokenizer"):
        score_marginal(model, WordTokenizer.train(TRAINING, progress=False), TEXTS)
    with pytest.raises(ValueError, match="MarginalScorer scores each text by itself"):
        evaluate_language_model(model, TOKENIZER, TEXTS, stream=True, score=MarginalScorer())
    with pytest.raises(ValueError, match="samples must be at least 1"):
        score_marginal(model, TOKENIZER, TEXTS, samples=0)
    with pytest.raises(ValueError, match="probability is 'whole'"):
        score_marginal(model, TOKENIZER, TEXTS, "whole")
    with TOKENIZER.sampling(0.1), pytest.raises(ValueError, match="does not take segmentations by chance"):
        evaluate_language_model(model, TOKENIZER, TEXTS)
