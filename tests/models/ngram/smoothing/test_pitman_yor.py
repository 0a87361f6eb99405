# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The hierarchical Pitman-Yor process: Kneser-Ney as its special case, and exact posteriors of a tiny corpus."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import torch

from hf_lecture_models.models.ngram.counting_ngram import count_ngrams, make_stream
from hf_lecture_models.models.ngram.estimation_ngram import config_for
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.smoothing.interpolated import interpolate
from hf_lecture_models.models.ngram.smoothing.pitman_yor import Level, Restaurants
from hf_lecture_models.tokenization.word import WordTokenizer

TEXTS = ["a b a b", "a b", "b a a", "c a b b"]
TOKENIZER = WordTokenizer.train(TEXTS, progress=False)
EVENTS = len(TOKENIZER) - 2


def counts_of(order, texts=TEXTS, smoothing="pitman_yor"):
    config = config_for(TOKENIZER, order=order, smoothing=smoothing)
    ids = [TOKENIZER(text, add_special_tokens=False).input_ids for text in texts]
    return count_ngrams(make_stream(np.concatenate(ids), np.array([len(row) for row in ids]), config), config)


def probabilities(restaurants, counts):
    """P of each n-gram of each order, and gamma of its contexts, as `smooth` computes them."""
    lower, found = np.full(len(TOKENIZER), 1 / EVENTS), []
    for n, (level, entry) in enumerate(zip(restaurants.levels, counts, strict=True), 1):
        contexts = len(counts[n - 2].keys) if n > 1 else 1
        prefixes = entry.keys // len(TOKENIZER)
        lower, gammas = interpolate(level.shares(), np.ones(contexts), prefixes, lower[entry.suffixes])
        found.append((lower, gammas))
    return found


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.filterwarnings("ignore:.*too few, or artificial text")
def test_without_strength_and_with_one_table_each_it_is_kneser_ney(order):
    """To the last digit of the tables, contexts that begin with `<s>` included."""
    kneser_ney = NGramForCausalLM.fit(TEXTS, TOKENIZER, order, "kneser_ney", progress=False)
    counts = counts_of(order)
    restaurants = Restaurants(counts, len(TOKENIZER), EVENTS)  # one table each, to begin with
    for level, (discount,) in zip(restaurants.levels, kneser_ney.config.discounts, strict=True):
        level.discount, level.strength = discount, 0.0
    tables = kneser_ney.tables()
    for n, (probs, gammas) in enumerate(probabilities(restaurants, counts)):
        with np.errstate(divide="ignore"):
            probs, gammas = np.log10(probs).astype(np.float32), np.log10(gammas).astype(np.float32)
        events = tables.log10_probs[n] > -np.inf
        assert probs[events].tobytes() == tables.log10_probs[n][events].tobytes()
        if n:
            assert gammas.tobytes() == tables.log10_backoffs[n - 1].tobytes()


def test_by_hand():
    """One word "a" three times at two tables, strength 2, discount 0.5."""
    counts = counts_of(1, ["a a a"])
    restaurants = Restaurants(counts, len(TOKENIZER), EVENTS)
    level, a = restaurants.levels[0], TOKENIZER.convert_tokens_to_ids("a")
    level.tables[a], level.tables_of[0] = [2, 1], 3  # and </s>, once
    level.discount, level.strength = 0.5, 2.0
    probs, gammas = probabilities(restaurants, counts)[0]
    assert gammas[0] == pytest.approx((2 + 0.5 * 3) / (2 + 4))
    assert probs[a] == pytest.approx((3 - 0.5 * 2) / (2 + 4) + gammas[0] / EVENTS)


def rising(start, step, steps):
    return math.prod(start + step * i for i in range(steps))


def stirling(customers, tables, discount):
    """Over the ways to seat customers of one word at so many tables: the product of their (c_k - d), by recursion."""
    if tables < 1 or customers < tables:
        return 1.0 if customers == tables == 0 else 0.0
    seated = stirling(customers - 1, tables, discount)
    return stirling(customers - 1, tables - 1, discount) + (customers - 1 - discount * tables) * seated


def exact_expectation(counts, discounts, strengths):
    """E[tables] of each bigram and of each word, by enumerating how many tables each could have."""
    bigrams = counts[1]
    contexts, words, customers = bigrams.keys // len(TOKENIZER), bigrams.suffixes, bigrams.occurrences
    total, by_bigram, by_word = 0.0, np.zeros(len(customers)), np.zeros(len(TOKENIZER))
    for tables in product(*(range(1, count + 1) for count in customers)):
        weight = math.prod(stirling(c, t, discounts[1]) for c, t in zip(customers, tables, strict=True))
        for context in set(contexts.tolist()):
            opened = sum(t for t, h in zip(tables, contexts, strict=True) if h == context)
            weight *= rising(strengths[1], discounts[1], opened)
        sent = np.bincount(words, tables, minlength=len(TOKENIZER)).astype(int)
        for below in product(*(range(1, count + 1) if count else [0] for count in sent)):
            rest = math.prod(stirling(c, t, discounts[0]) for c, t in zip(sent, below, strict=True))
            rest *= rising(strengths[0], discounts[0], sum(below)) / rising(strengths[0], 1, sent.sum())
            joint = weight * rest * (1 / EVENTS) ** sum(below)
            total += joint
            by_bigram += joint * np.array(tables)
            by_word += joint * np.array(below)
    return by_bigram / total, by_word / total


def test_seatings_have_the_exact_posterior():
    """How many tables each bigram and word has on average over 6,000 sweeps: within 0.04 of the enumeration."""
    counts = counts_of(2, ["a b", "a b a b", "c b"])
    discounts, strengths = (0.4, 0.6), (1.5, 0.8)
    expected = exact_expectation(counts, discounts, strengths)
    restaurants = Restaurants(counts, len(TOKENIZER), EVENTS, seed=1)
    for level, discount, strength in zip(restaurants.levels, discounts, strengths, strict=True):
        level.discount, level.strength = discount, strength
    sums = [np.zeros(len(level.tables)) for level in restaurants.levels]
    sweeps = 6_000
    for _ in range(sweeps):
        restaurants.sweep()
        for total, level in zip(sums, restaurants.levels, strict=True):
            total += [len(tables) for tables in level.tables]
    words, bigrams = (total / sweeps for total in sums)
    assert np.abs(bigrams - expected[0]).max() < 0.04
    assert np.abs(words - expected[1]).max() < 0.04
    assert expected[0].max() > 1.2  # there is something to find


def test_the_books_agree_after_sweeps():
    counts = counts_of(3)
    restaurants = Restaurants(counts, len(TOKENIZER), EVENTS)
    for _ in range(20):
        restaurants.sweep()
        restaurants.sample_parameters()
    for n, (level, entry) in enumerate(zip(restaurants.levels, counts, strict=True)):
        assert level.customers == [sum(tables) for tables in level.tables]
        tables = np.array([len(tables) for tables in level.tables])
        contexts = len(counts[n - 1].keys) if n else 1
        assert level.tables_of == np.bincount(level.contexts, tables, minlength=contexts).tolist()
        assert level.customers_of == np.bincount(level.contexts, level.customers, minlength=contexts).tolist()
        assert 0 < level.discount < 1
        assert level.strength > 0
        if n < 2:
            longer = restaurants.levels[n + 1]
            sent = np.bincount(longer.parents, [len(t) for t in longer.tables], minlength=len(entry.keys))
            own = entry.occurrences * entry.starts if n else 0
            assert level.customers == (np.where(entry.starts, 0, sent) + own).tolist()
    assert restaurants.levels[2].customers == counts[2].occurrences.tolist()


def log_posterior(counts, discount, strength):
    """Of restaurants whose words have one table each, under the priors; up to a constant."""
    value = -strength
    for own in counts:
        value += math.log(rising(strength, discount, len(own)) / rising(strength, 1, sum(own)))
        value += sum(math.log(rising(1 - discount, 1, count - 1)) for count in own)
    return value


@pytest.mark.cases(1, 1)
@pytest.mark.parametrize("counts", [[[3, 2, 1, 1]], [[3, 2, 1, 1], [4, 1, 1], [1], [2, 2, 1]]], ids=["one", "four"])
def test_discount_and_strength_have_the_exact_posterior(counts):
    """With the seating held fixed: means over 6,000 draws against a sum over a grid, within 5 %.

    Each of several restaurants has an auxiliary variable of its own.
    """
    restaurants = Restaurants(counts_of(1), len(TOKENIZER), EVENTS, seed=2)
    contexts = np.repeat(np.arange(len(counts)), [len(own) for own in counts])
    level = Level(contexts, np.zeros(len(contexts), int), np.concatenate(counts), len(counts))
    restaurants.levels, drawn = [level], []
    for _ in range(6_000):
        restaurants.sample_parameters()
        drawn.append((level.discount, level.strength))
    discounts, strengths = (np.arange(400) + 0.5) / 400, (np.arange(600) + 0.5) / 50
    grid = np.array([[log_posterior(counts, d, s) for s in strengths[::3]] for d in discounts[::4]])
    weights = np.exp(grid - grid.max())
    weights /= weights.sum()
    expected = (weights.sum(1) @ discounts[::4], weights.sum(0) @ strengths[::3])
    assert np.mean(drawn, axis=0) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("order", [1, 3])
def test_sums_to_one_and_is_the_same_each_time(order, tmp_path):
    model = NGramForCausalLM.fit(TEXTS, TOKENIZER, order, "pitman_yor", progress=False)
    contexts = torch.tensor(list(product(range(len(TOKENIZER)), repeat=2)))
    assert torch.allclose(model(contexts).logits.exp().sum(-1), torch.ones(len(contexts), 2), atol=1e-5)
    assert len(model.config.discounts) == len(model.config.strengths) == order
    again = NGramForCausalLM.fit(TEXTS, TOKENIZER, order, "pitman_yor", progress=False)
    assert all(torch.equal(a, b) for a, b in zip(model.buffers(), again.buffers(), strict=True))
    model.save_arpa(tmp_path / "lm.arpa", TOKENIZER)
    read, words = NGramForCausalLM.from_arpa(tmp_path / "lm.arpa")
    expected = model.score(torch.tensor([TOKENIZER("a b c </s>").input_ids]))
    assert torch.equal(read.score(torch.tensor([words("a b c </s>").input_ids])), expected)
