# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Linear interpolation of n-gram models: the mixture itself, its weights, and a model that is saved like any other."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.interpolation_ngram import fit_weights
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.tables_ngram import tables_of
from tests.models.ngram.test_modeling_ngram import TEXTS, TOKENIZER, NGramTests

pytestmark = pytest.mark.filterwarnings("ignore:.*too few, or artificial text")

HELD_OUT = ["the bird sat on the tree", "a dog ran to the cat"]


def parts():
    return [
        NGramForCausalLM.fit(TEXTS, TOKENIZER, 3, "kneser_ney", progress=False),
        NGramForCausalLM.fit(TEXTS, TOKENIZER, 2, "absolute_discounting", classes=6, progress=False),
    ]


class TestMixture(NGramTests):
    contradictory_configs = (
        {"mixture_weights": [0.5, 0.25, 0.25]},
        {"mixture_weights": [0.5, 0.6], "components": [{}, {}]},
        {"mixture_weights": [1.5, -0.5], "components": [{}, {}]},
        {"mixture_weights": [0.5, 0.5], "components": [{"order": 4}, {"order": 3}]},
        {"mixture_weights": [0.5, 0.5], "components": [{"order": 0}, {"order": 3}]},
        {"mixture_weights": [1.0], "components": [{"order": 2}], "num_classes": 4},
    )

    def config(self):
        config = super().config()
        config.components = [{"order": 3}, {"order": 2, "num_classes": 9}]
        config.mixture_weights = [0.25, 0.75]
        return config

    def fit(self):
        return NGramForCausalLM.interpolate(parts(), TOKENIZER, HELD_OUT, progress=False), super().fit()[1]

    def reference(self, model, inputs):
        words, classes = (part(**inputs).logits.exp() for part in parts())
        first, second = model.config.mixture_weights
        return {"logits": (first * words + second * classes).log()}


def test_weights_make_held_out_texts_most_probable():
    model = NGramForCausalLM.interpolate(parts(), TOKENIZER, HELD_OUT, progress=False)
    rows = [torch.tensor([TOKENIZER(f"{text} </s>").input_ids]) for text in HELD_OUT]
    words, classes = (torch.cat([part.score(row)[0, 1:] for row in rows]).double().exp() for part in parts())
    grid = np.linspace(0.001, 0.999, 999)
    best = grid[np.argmax([(weight * words + (1 - weight) * classes).log().sum() for weight in grid])]
    assert model.config.mixture_weights[0] == pytest.approx(best, abs=2e-3)


def test_weights_by_hand():
    # An event that one model alone can give counts for that model; one that none can give, for none.
    assert fit_weights(np.array([[0.5, 0, 0, 0], [0, 0.5, 0.1, 0]])) == pytest.approx([1 / 3, 2 / 3])
    assert fit_weights(np.zeros((2, 3))) == [0.5, 0.5]


def test_the_parts_come_back_from_a_folder(tmp_path):
    model = NGramForCausalLM.interpolate(parts(), TOKENIZER, HELD_OUT, progress=False)
    model.save_pretrained(tmp_path)
    again = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert [tables_of(trie).sizes for trie in again.trie.tries] == [part.config.sizes for part in parts()]
    assert again.config.mixture_weights == model.config.mixture_weights
    assert again.config.table_entries == sum(sum(part.config.sizes) for part in parts())
    with pytest.raises(ValueError, match="interpolates 2 models, each with tables of its own"):
        again.save_arpa(tmp_path / "lm.arpa", TOKENIZER)


def test_what_cannot_be_interpolated():
    words, classes = parts()
    scores = NGramForCausalLM.fit(TEXTS, TOKENIZER, 3, "stupid_backoff", progress=False)
    for models, held_out, message in (
        ([words], HELD_OUT, "1 model given, and a mixture is of two or more"),
        ([words, classes], [], "the corpus is empty"),
        ([words, scores], HELD_OUT, "model 2 has scores of stupid back-off, not probabilities; fit with another"),
        ([words, NGramForCausalLM(NGramConfig(vocab_size=5))], HELD_OUT, "different vocabularies: vocab_size is"),
    ):
        with pytest.raises(ValueError, match=message):
            NGramForCausalLM.interpolate(models, TOKENIZER, held_out, progress=False)
