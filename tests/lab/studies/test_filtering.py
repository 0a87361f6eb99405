# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which texts a perplexity filter keeps: figures of texts, fractions, limits, ties, blank and impossible texts."""

import math

import numpy as np
import pytest
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

from hf_lecture_models import NGramForCausalLM, WordTokenizer, evaluate_language_model
from hf_lecture_models.lab.studies.filtering import (
    MEASURES,
    PerplexityLimits,
    filter_texts,
    fraction_threshold,
    text_perplexities,
)

TEXTS = ["the cat saw the dog", "a dog saw a cat", "the dog ran", "the cat ran", "", "a cat"]
OTHERS = ["the cat ran", "ran ran the", "", "a zebra saw a cat", "  ", "the cat ran"]


@pytest.fixture(scope="module")
def ngram():
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    return NGramForCausalLM.fit(TEXTS, tokenizer, order=3, smoothing="add_alpha", progress=False), tokenizer


@pytest.fixture(scope="module")
def closed():
    """Maximum likelihood without an unknown word: many texts have probability 0."""
    tokenizer = WordTokenizer.train(TEXTS, unk_token=None, progress=False)
    return NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="maximum_likelihood", progress=False), tokenizer


@pytest.mark.parametrize("measure", MEASURES)
def test_figures_are_those_of_the_evaluation(ngram, measure):
    found = text_perplexities(*ngram, OTHERS, measure)
    for text, value in zip(OTHERS, found, strict=True):
        if text.strip():
            assert value == pytest.approx(evaluate_language_model(*ngram, [text])[measure], rel=1e-6)
        else:
            assert math.isnan(value)


def test_a_model_of_transformers(ngram):
    tokenizer = ngram[1]
    set_seed(0)
    network = GPT2LMHeadModel(
        GPT2Config(n_positions=16, n_embd=8, n_layer=1, n_head=2, vocab_size=len(tokenizer))
    ).eval()
    found = text_perplexities(network, tokenizer, [*OTHERS, None], batch_size=2)
    assert found[3] == pytest.approx(evaluate_language_model(network, tokenizer, [OTHERS[3]])["perplexity"], rel=1e-5)
    assert np.isnan(found).tolist() == [False, False, True, False, True, False, True]


def test_probability_0_is_infinite_and_never_kept(closed):
    texts = ["the cat ran", "the zebra", "ran the", "cat the"]
    found = text_perplexities(*closed, texts)
    assert np.isinf(found).tolist() == [False, True, True, True]
    assert list(filter_texts(*closed, texts, keep=1.0)) == ["the cat ran"]
    assert list(filter_texts(*closed, texts, least=0.0)) == ["the cat ran"]
    assert fraction_threshold(found, 0.5) == math.inf


def test_the_fraction_is_of_texts_with_a_word_and_equal_figures_stay_together():
    values = np.array([4.0, math.nan, 1.0, 2.0, 2.0, math.nan, 3.0])
    assert [fraction_threshold(values, keep) for keep in (0.2, 0.4, 0.6, 1.0)] == [1.0, 2.0, 2.0, 4.0]
    limits = PerplexityLimits(fraction_threshold(values, 0.4))
    assert limits.keeps(values).tolist() == [False, False, True, True, True, False, False]
    assert (limits.texts, limits.kept, limits.blank, limits.impossible) == (7, 3, 2, 0)
    # 0.29 * 100 is 28.999999999999996.
    assert fraction_threshold(np.arange(100.0), 0.29) == 28.0
    assert fraction_threshold(values, 0.05) == -math.inf
    assert fraction_threshold(np.full(3, math.nan), 0.5) == -math.inf


def test_both_ways_keep_the_same_texts_in_their_order(ngram):
    values = text_perplexities(*ngram, OTHERS)
    kept = list(filter_texts(*ngram, OTHERS, keep=0.5))
    assert kept == ["the cat ran", "the cat ran"]
    assert list(filter_texts(*ngram, iter(OTHERS), most=fraction_threshold(values, 0.5))) == kept
    assert list(filter_texts(*ngram, OTHERS, least=np.nanmax(values))) == [OTHERS[int(np.nanargmax(values))]]


def test_a_stream_is_filtered_as_it_comes(ngram):
    def endless():
        while True:
            yield "the cat ran"

    assert next(filter_texts(*ngram, endless(), most=1e9)) == "the cat ran"


def test_an_iterable_data_set(ngram):
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"text": [*OTHERS, None], "n": list(range(7))}).to_iterable_dataset()
    kept = rows.filter(lambda texts: text_perplexities(*ngram, texts) < 5, input_columns="text", batched=True)
    values = text_perplexities(*ngram, OTHERS)
    assert [row["n"] for row in kept] == np.flatnonzero(values < 5).tolist() != []


def test_bad_arguments(ngram):
    for keep in (0.0, 1.5, -1.0, math.nan):
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            list(filter_texts(*ngram, OTHERS, keep=keep))
    with pytest.raises(ValueError, match="either keep"):
        list(filter_texts(*ngram, OTHERS, keep=0.5, most=3))
    with pytest.raises(ValueError, match="'bits_per_byte'"):
        text_perplexities(*ngram, OTHERS, "bits")
    with pytest.raises(TypeError, match="got one text"):
        list(filter_texts(*ngram, "the cat", keep=0.5))
    with pytest.raises(TypeError, match="str only"):
        text_perplexities(*ngram, ["the", 7])
    tokenizer = ngram[1]
    stupid = NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="stupid_backoff", progress=False)
    with pytest.raises(ValueError, match="do not sum to one"):
        text_perplexities(stupid, tokenizer, OTHERS)
