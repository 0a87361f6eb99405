# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Texts drawn from the tables of an n-gram model follow its distribution."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from hf_lecture_models import NGramConfig, NGramForCausalLM, WordTokenizer
from hf_lecture_models.models.ngram.sampling_ngram import NGramSampler, sample_corpus

TEXTS = ["a b c a b d", "b c a", "a a b c", "d b c a b c", "c", "", "b d a c", "a b d a b c a"] * 3
TOKENIZER = WordTokenizer.train([*TEXTS, "e"], progress=False)  # e is known, and in no text
ROWS = 20_000

pytestmark = pytest.mark.filterwarnings("ignore:.*too few, or artificial text")


def fitted(**options):
    return NGramForCausalLM.fit(TEXTS, TOKENIZER, progress=False, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"order": 1, "smoothing": "add_alpha"},
        {"order": 2, "smoothing": "add_alpha"},
        {"order": 3, "smoothing": "modified_kneser_ney"},
        {"order": 4, "smoothing": "kneser_ney", "prune": [0, 0, 3, 6]},
        {"order": 3, "smoothing": "katz"},
        {"order": 3, "smoothing": "maximum_likelihood"},
    ],
    ids=lambda options: f"{options['smoothing']}_{options['order']}",
)
def test_words_are_drawn_as_probable_as_the_model_says(options):
    model = fitted(**options)
    sampler, generator = NGramSampler(model), np.random.default_rng(0)
    for text in ("", "a", "a b", "b c a", "e", "c c", "a e"):
        ids = TOKENIZER(text, add_special_tokens=False)["input_ids"]
        contexts = sampler.start(ROWS)
        for word in ids:
            contexts = sampler.extend(contexts, np.full(ROWS, word))
        drawn = np.bincount(sampler.draw(contexts, generator), minlength=len(TOKENIZER))
        logits = model(torch.tensor([[TOKENIZER.bos_token_id, *ids]])).logits[0, -1]
        expected = logits.double().exp().numpy() * ROWS
        possible = expected > 0
        assert not drawn[~possible].any()
        if possible.sum() > 1:
            scaled = expected[possible] * ROWS / expected.sum()
            assert chisquare(drawn[possible], scaled).pvalue > 1e-4, text


def test_texts_are_as_long_and_as_frequent_as_the_model_says():
    model = fitted(order=3, smoothing="kneser_ney")
    corpus = sample_corpus(model, texts=ROWS, seed=1)
    assert len(corpus.lengths) == ROWS
    rows = list(corpus)
    bos, eos = TOKENIZER.bos_token_id, TOKENIZER.eos_token_id
    for text in ("c", "", "b c a"):
        ids = TOKENIZER(text, add_special_tokens=False)["input_ids"]
        p = model.score(torch.tensor([[bos, *ids, eos]])).double().sum().exp().item()
        found = sum(row.tolist() == ids for row in rows)
        assert abs(found - p * ROWS) < 4 * (ROWS * p * (1 - p)) ** 0.5
    assert not np.isin(corpus.ids, [bos, eos]).any()


def test_the_seed_decides():
    model = fitted(order=3)
    one, same, other = (sample_corpus(model, texts=50, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(one.ids, same.ids)
    assert np.array_equal(one.lengths, same.lengths)
    assert not np.array_equal(one.lengths, other.lengths)


def test_texts_end_at_the_longest_length():
    corpus = sample_corpus(fitted(order=2), texts=50, seed=0, max_length=2)
    assert corpus.lengths.max() == 2
    assert len(corpus.ids) == corpus.lengths.sum()


def test_what_cannot_be_drawn_from():
    for options in ({"smoothing": "stupid_backoff"}, {"classes": 3}):
        with pytest.raises(ValueError, match="texts are drawn from n-grams of words"):
            sample_corpus(fitted(order=2, **options), texts=1, seed=0)
    with pytest.raises(ValueError, match="bos_token_id and eos_token_id are needed"):
        sample_corpus(NGramForCausalLM(NGramConfig(vocab_size=4, order=2)), texts=1, seed=0)
