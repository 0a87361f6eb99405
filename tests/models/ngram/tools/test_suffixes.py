# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The last words of n-grams become n-grams, and no probability changes."""

import itertools

import numpy as np
import pytest

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.models.ngram.tools.suffixes import with_suffixes
from tests.models.ngram.tools.slow_model import all_contexts, arpa_text, drop_ngrams, slow_model

TEXTS = ["a b c d a b", "a b c a d", "b a c b d", "c a b c", "d a b d c", "b d a c", "a c", "c d b a b c a d b"]


@pytest.fixture(params=[(order, seed) for order in (3, 4, 5) for seed in (0, 1)], ids=str)
def pruned(request, tmp_path):
    """A model that lacks the last words of some n-grams, and its tokenizer."""
    order, seed = request.param
    tokenizer = WordTokenizer.train(TEXTS)
    slow = slow_model(NGramForCausalLM.fit(TEXTS, tokenizer, order, "absolute_discounting"), tokenizer)
    (tmp_path / "lm.arpa").write_text(arpa_text(drop_ngrams(slow, 0.6, seed)), "utf-8")
    return NGramForCausalLM.from_arpa(tmp_path / "lm.arpa")


def lacking(slow):
    return {gram[1:] for gram in slow.probs if len(gram) > 1} - slow.probs.keys()


def test_suffixes_are_added_and_probabilities_stay(pruned):
    model, tokenizer = pruned
    old, order = slow_model(model, tokenizer), model.config.order
    tables = with_suffixes(model.tables()).check()
    new = slow_model(NGramForCausalLM.from_tables(tables, model.config), tokenizer)
    assert lacking(old)
    assert not lacking(new)
    added, wanted = new.probs.keys() - old.probs.keys(), set()
    grams = set(old.probs)
    while grams := {gram[1:] for gram in grams if len(gram) > 1} - old.probs.keys():
        wanted |= grams
    assert added == wanted  # and nothing else
    assert {new.backoffs[gram] for gram in added} == {0.0}
    for context, word in itertools.product(all_contexts(["a", "b", "c", "d"], order - 1), ["a", "b", "c", "d", "</s>"]):
        assert new.log10(context, word) == pytest.approx(old.log10(context, word), abs=1e-6)


def test_a_complete_model_stays_as_it_is(pruned):
    tables = with_suffixes(pruned[0].tables())
    assert with_suffixes(tables) is tables
    for order in (1, 2):
        tokenizer = WordTokenizer.train(TEXTS)
        tables = NGramForCausalLM.fit(TEXTS, tokenizer, order, "add_alpha").tables()
        assert with_suffixes(tables) is tables


def test_words_that_cannot_occur_stay_so(pruned):
    tables = pruned[0].tables()
    tables.log10_backoffs[0][:] = -np.inf  # what was left to back-off has p = 0
    added = with_suffixes(tables)
    assert (added.log10_probs[1] == -np.inf).sum() == added.sizes[1] - tables.sizes[1]
