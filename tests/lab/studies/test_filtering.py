# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which texts a perplexity filter keeps: figures of texts, fractions, limits, ties, blank and impossible texts."""

import math

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

from hf_lecture_models import NGramForCausalLM, WordTokenizer, evaluate_language_model
from hf_lecture_models.lab.studies.filtering import (
    BUCKETS,
    MEASURES,
    PerplexityBuckets,
    PerplexityLimits,
    filter_texts,
    fraction_threshold,
    percentile_threshold,
    text_differences,
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


@pytest.fixture(scope="module")
def other():
    """Another order and other texts, and a vocabulary of its own: of OTHERS it does not know `saw` and `zebra`."""
    texts = ["ran ran the", "the dog ran ran", "a cat ran the dog"]
    tokenizer = WordTokenizer.train(texts, progress=False)
    return NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha", progress=False), tokenizer


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


def bits(pair, text, measure):
    """The cross-entropy of one text in bits, word by word from the model's next-word distributions."""
    model, tokenizer = pair
    ids = [tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    total, known, spelled = 0.0, [], 0
    for place in range(1, len(ids)):
        context = torch.tensor([ids[:place]])
        log_prob = float(model(context).logits[0, -1].double().log_softmax(-1)[ids[place]])
        total -= log_prob / math.log(2)
        if ids[place] == tokenizer.unk_token_id:
            spelled += 8 * (len(text.split()[place - 1]) + 1)
        else:
            known.append(-log_prob / math.log(2))
    if measure == "perplexity_without_unk":
        return sum(known) / len(known)
    if measure == "bits_per_byte":
        return (total + spelled) / (len(text.encode()) + 1)
    return total / (len(text.split()) + 1)


@pytest.mark.parametrize("measure", ["word_perplexity", "bits_per_byte"])
def test_differences_are_those_of_two_cross_entropies(ngram, other, measure):
    texts = [*OTHERS, "a saw the", None]
    found = text_differences(*ngram, *other, texts, measure)
    expected = [
        bits(ngram, text, measure) - bits(other, text, measure) if text and text.strip() else math.nan for text in texts
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    figures = [text_perplexities(*pair, texts, measure) for pair in (ngram, other)]
    one, two = figures if measure == "bits_per_byte" else map(np.log2, figures)
    np.testing.assert_allclose(found, one - two, rtol=1e-12)
    kept = list(filter_texts(*ngram, OTHERS, keep=0.5, measure=measure, minus=other))
    wanted = found[: len(OTHERS)] <= fraction_threshold(found[: len(OTHERS)], 0.5)
    assert kept == [text for text, is_kept in zip(OTHERS, wanted, strict=True) if is_kept]
    assert 0 < len(kept) < 4
    # Beside itself every text is equally probable.
    assert np.nanmax(np.abs(text_differences(*ngram, *ngram, texts, measure))) == 0


@pytest.mark.parametrize("measure", ["perplexity", "perplexity_without_unk"])
def test_differences_per_token_need_the_same_tokens(ngram, other, measure):
    tokenizer = ngram[1]
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=1, smoothing="add_alpha", progress=False)
    again = WordTokenizer.train(TEXTS, progress=False)  # equal, but another object
    found = text_differences(*ngram, model, again, OTHERS, measure)
    pairs = (ngram, (model, again))
    expected = [bits(pairs[0], x, measure) - bits(pairs[1], x, measure) if x.strip() else math.nan for x in OTHERS]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    with pytest.raises(ValueError, match=f"`measure` is '{measure}', per token, and the two models have different"):
        text_differences(*ngram, *other, OTHERS, measure)


def test_a_network_and_an_ngram_are_compared(ngram):
    tokenizer = ngram[1]
    set_seed(0)
    config = GPT2Config(n_positions=16, n_embd=8, n_layer=1, n_head=2, vocab_size=len(tokenizer))
    network = GPT2LMHeadModel(config).eval()
    found = text_differences(network, tokenizer, *ngram, OTHERS)
    one, two = (text_perplexities(model, tokenizer, OTHERS) for model in (network, ngram[0]))
    np.testing.assert_allclose(found, np.log2(one / two), rtol=1e-9)


def test_no_difference_where_one_model_has_probability_0(ngram, closed):
    texts = ["the cat ran", "the zebra", "ran the", ""]
    for pairs in ((ngram, closed), (closed, ngram), (closed, closed)):
        found = text_differences(*pairs[0], *pairs[1], texts, "word_perplexity")
        assert found[1:3].tolist() == [math.inf] * 2
        assert math.isfinite(found[0])
        assert math.isnan(found[3])
        assert list(filter_texts(*pairs[0], texts, keep=1.0, minus=pairs[1], measure="word_perplexity")) == texts[:1]


def test_percentiles_are_figures_of_the_sample():
    draw = np.random.default_rng(0)
    for size in (1, 2, 3, 7, 10, 100, 1000):
        values = np.round(draw.normal(size=size), 1)  # with ties
        for percentile in (0.1, 1, 7, 25, 30, 33.3, 50, 60, 99.9, 100):
            found = percentile_threshold(np.concatenate([values, [math.nan]]), percentile)
            assert found == min(value for value in values if (values <= value).mean() >= percentile / 100 - 1e-9)
    assert percentile_threshold(np.array([1.0, math.inf]), 50) == 1.0
    assert percentile_threshold(np.array([1.0, math.inf]), 51) == math.inf
    for percentile in (0, -1, 100.1, math.nan):
        with pytest.raises(ValueError, match="above 0 and at most 100"):
            percentile_threshold(np.ones(3), percentile)
    with pytest.raises(ValueError, match="no text has a word"):
        percentile_threshold(np.array([math.nan]), 30)


def test_buckets_have_all_texts_with_a_finite_figure():
    values = np.array([3.0, 1.0, 2.0, 2.0, math.nan, math.inf, 5.0, 4.0, -math.inf])
    buckets = PerplexityBuckets(2.0, 4.0)
    assert buckets.of(values).tolist() == [1, 0, 0, 0, -1, -1, 2, 1, -1]
    assert buckets.of(values[:2]).tolist() == [1, 0]
    assert dict(zip(BUCKETS, buckets.counts, strict=True)) == {"head": 4, "middle": 3, "tail": 1}
    assert (buckets.texts, buckets.blank, buckets.impossible) == (11, 1, 2)
    assert PerplexityBuckets(2.0, 2.0).of(np.array([2.0, 2.1])).tolist() == [0, 2]
    assert PerplexityBuckets(2.0, 4.0).of(np.zeros(0)).tolist() == []
    values = np.arange(1.0, 101)
    thirds = PerplexityBuckets(*(percentile_threshold(values, one) for one in (30, 60)))
    thirds.of(values)
    assert thirds.counts == [30, 30, 40]
    for head, middle in ((3.0, 2.0), (math.nan, 1.0)):
        with pytest.raises(ValueError, match="the lower figure first"):
            PerplexityBuckets(head, middle)


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
