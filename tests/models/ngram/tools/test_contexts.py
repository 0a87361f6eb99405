# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Probabilities after shorter contexts, and back-off weights with which contexts sum to one."""

from dataclasses import replace

import numpy as np
import pytest

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.models.ngram.tools.contexts import Contexts, with_back_off_weights
from tests.models.ngram.tools.slow_model import all_contexts, slow_model

TEXTS = ["a b c", "a b c a", "b a c", "c a b c", "a b d", "d a b", "a c"]


@pytest.mark.parametrize("order", [2, 4])
def test_probabilities_after_shorter_contexts(order):
    tokenizer = WordTokenizer.train(TEXTS)
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order, "absolute_discounting", prune=[0, 0, 1][:order])
    slow, contexts = slow_model(model, tokenizer), Contexts(model.tables())
    grams = list(slow.probs)
    for n in range(2, order + 1):
        expected = [slow.log10(gram[1:-1], gram[-1]) for gram in grams if len(gram) == n]
        np.testing.assert_allclose(contexts.lower(n), expected, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_weights_that_were_right_come_back(order):
    tokenizer = WordTokenizer.train(TEXTS)
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order, "absolute_discounting")
    tables = model.tables()
    contexts, left = Contexts(tables), []
    for n in range(1, order):
        prefixes = tables.keys[n - 1] // tables.vocab_size
        free = 1 - np.bincount(prefixes, 10 ** contexts.lower(n + 1), minlength=tables.sizes[n - 1])
        left.append(10.0 ** tables.log10_backoffs[n - 1] * free)
    nothing = [np.zeros_like(values) for values in tables.log10_backoffs]
    found = with_back_off_weights(replace(tables, log10_backoffs=nothing), left)
    again = NGramForCausalLM.from_tables(found, model.config)
    slow = slow_model(again, tokenizer)
    for context in all_contexts(["a", "b", "d"], order - 1):
        assert slow.sum_after(context) == pytest.approx(1, abs=1e-6)
    for old, new in zip(tables.log10_backoffs, found.log10_backoffs, strict=True):
        np.testing.assert_allclose(new, old, atol=1e-5)
