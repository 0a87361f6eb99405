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
    assert_drawn_as_probable(fitted(**options))


def assert_drawn_as_probable(model, texts=("", "a", "a b", "b c a", "e", "c c", "a e")):
    sampler, generator = NGramSampler(model), np.random.default_rng(0)
    for text in texts:
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


class LastOfAll:
    """Chooses the last of all that is possible, at most three times."""

    calls = 0

    def random(self, size):
        self.calls += 1
        assert self.calls <= 3, "an order is asked again"
        return np.full(size, np.nextafter(1, 0))


@pytest.mark.parametrize("smoothing", ["good_turing", "katz", "modified_kneser_ney"])
def test_each_order_is_asked_once_for_a_word(smoothing):
    """What is stored after a longer context is left out of the remainder, not drawn and refused again and again."""
    sampler = NGramSampler(fitted(order=3, smoothing=smoothing))
    contexts = sampler.start(5)
    for text in ("a", "b", "c"):
        word = TOKENIZER(text, add_special_tokens=False)["input_ids"][0]
        contexts = sampler.extend(contexts, np.full(5, word))
        assert len(sampler.draw(contexts, LastOfAll())) == 5


def test_n_grams_without_their_suffixes():
    """As in files of other programs, which prune an n-gram and keep a longer one that ends in it."""
    model = fitted(order=3, smoothing="katz")
    tables, config = model.tables(), model.config
    pairs = [divmod(int(key), tables.vocab_size) for key in tables.keys[0]]
    suffixes = {
        (pairs[prefix][1], word) for prefix, word in (divmod(int(k), tables.vocab_size) for k in tables.keys[1])
    }
    prefixes = {int(key) // tables.vocab_size for key in tables.keys[1]}
    lost = [number for number, pair in enumerate(pairs) if number not in prefixes and pair in suffixes]
    assert lost
    tables.log10_probs[1] = np.delete(tables.log10_probs[1], lost)
    tables.log10_backoffs[1] = np.delete(tables.log10_backoffs[1], lost)
    tables.keys[0] = np.delete(tables.keys[0], lost)
    numbers = np.cumsum(~np.isin(np.arange(len(pairs)), lost)) - 1
    tables.keys[1] = (
        numbers[tables.keys[1] // tables.vocab_size] * tables.vocab_size + tables.keys[1] % tables.vocab_size
    )
    tables = with_normal_backoffs(tables)
    changed = NGramForCausalLM.from_tables(tables, config)
    assert not NGramSampler(changed).is_closed
    assert_drawn_as_probable(changed)


def with_normal_backoffs(tables):
    """The tables with back-off weights that let each distribution sum to 1."""
    size = tables.vocab_size
    lower = {(): 10.0 ** tables.log10_probs[0].astype(float)}
    names = [(word,) for word in range(size)]
    for n, keys in enumerate(tables.keys, 1):
        probs = 10.0 ** tables.log10_probs[n].astype(float)
        for context, name in enumerate(names):
            own = keys // size == context
            row = lower[next(name[i:] for i in range(1, n + 1) if name[i:] in lower)].copy()
            words = keys[own] % size
            rest = row.sum() - row[words].sum()
            weight = (1 - probs[own].sum()) / rest
            tables.log10_backoffs[n - 1][context] = np.log10(weight)
            row *= weight
            row[words] = probs[own]
            lower[name] = row
        names = [(*names[key // size], key % size) for key in keys]
    return tables


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
