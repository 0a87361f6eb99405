# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Quantised tables: bins as counted by hand, files that load with the same scores, and how far sums are from one."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from hf_lecture_models.layers.ngram_quantisation import CODE_TYPES, quantise
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.fitting_ngram import fit_ids
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer

RNG = np.random.default_rng(7)
# Zipf's law: frequent words, and more different probabilities than 256 bins hold.
LENGTHS = RNG.integers(0, 25, size=600)
IDS = np.minimum(RNG.zipf(1.3, size=LENGTHS.sum()), 200) - 1
CONFIG = {"vocab_size": 203, "order": 3, "bos_token_id": 200, "eos_token_id": 201, "pad_token_id": 202}
STREAM = torch.from_numpy(np.concatenate([[200], IDS[:400], [201]]))[None]


@pytest.fixture(scope="module")
def model():
    return fit_ids(IDS, LENGTHS, NGramConfig(**CONFIG))


def binned(values, bits):
    """The bin of each value, and what this bin gives back."""
    centres, codes = quantise(torch.from_numpy(values), bits)
    assert (codes.dtype, len(centres)) == (CODE_TYPES[bits], 2**bits)
    bins = codes.numpy().astype(np.int64) & (2**bits - 1)
    return bins, centres.numpy()[bins]


@pytest.mark.parametrize("bits", [8, 16])
def test_bins_hold_equally_many_values_and_stand_for_their_mean(bits):
    values = -RNG.permutation(2**bits * 5).astype(np.float32) - 1  # all different, none alone
    bins, found = binned(values, bits)
    expected = np.sort(values.astype(float)).reshape(-1, 5).mean(1).repeat(5)[np.argsort(np.argsort(values))]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.bincount(bins).tolist() == [5] * 2**bits


def test_bins_by_hand_with_values_that_occur_often_or_stand_alone():
    many = np.repeat(np.float32(-2.5), 300)
    rare = -np.arange(3, 303, dtype=np.float32)
    values = np.concatenate([many, rare, [np.float32(-np.inf), np.float32(0)] * 5]).astype(np.float32)
    _, found = binned(values, 8)
    assert np.isneginf(found[values == -np.inf]).all()
    assert (found[values == 0] == 0).all()
    # 600 ordinary values in 254 bins: of those that are all different, a bin holds the 2 or 3 whose ranks fall there.
    bin_of = {value: rank * 254 // 600 for rank, value in enumerate(sorted(rare.tolist()))}
    bin_of[-2.5] = (300 + 150) * 254 // 600
    for value, bin_number in bin_of.items():
        members = [other for other, number in bin_of.items() if number == bin_number]
        assert found[values == value] == pytest.approx(np.mean(members))


@pytest.mark.parametrize("values", [[], [-1], [-math.inf], [0.25, 0, -1]])
def test_few_values_stay_as_they_are(values):
    values = np.array(values, np.float32)
    for bits in (8, 16):
        np.testing.assert_array_equal(binned(values, bits)[1], values)


@pytest.mark.parametrize("bits", [8, 16])
def test_a_quantised_model_scores_with_its_centres_and_loads_again(bits, model, tmp_path):
    quantised = model.quantise(bits)
    plain, tables = model.tables(), quantised.tables()
    for n in range(2, 4):
        np.testing.assert_array_equal(tables.log10_probs[n - 1], binned(plain.log10_probs[n - 1], bits)[1])
        np.testing.assert_array_equal(tables.keys[n - 2], plain.keys[n - 2])
    np.testing.assert_array_equal(tables.log10_probs[0], plain.log10_probs[0])
    # As a model that is not quantised, of the same numbers.
    same = NGramForCausalLM.from_tables(tables, NGramConfig(**CONFIG))
    assert torch.equal(quantised.score(STREAM), same.score(STREAM))
    assert torch.equal(quantised(STREAM).logits, same(STREAM).logits)
    quantised.save_pretrained(tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    for name in ("probs_codes_2", "probs_codes_3", "backoffs_codes_2"):
        assert stored[f"trie.{name}"].element_size() == bits // 8
        assert len(stored[f"trie.log10_{name.replace('codes_', '')}"]) == 2**bits
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16)
    assert torch.equal(loaded.score(STREAM), quantised.score(STREAM))
    assert torch.equal(loaded.half().score(STREAM), quantised.score(STREAM))


def test_sums_are_close_to_one(model):
    def deviation(bits):
        sums = model.quantise(bits)(STREAM).logits.double().exp().sum(-1)
        return (sums - 1).abs().max().item()

    assert 1e-6 < deviation(8) < 0.05
    assert deviation(16) < 1e-5  # fewer different numbers than bins


@pytest.mark.filterwarnings("ignore:.*too few, or artificial text")
def test_arpa_files_classes_and_mixtures_of_quantised_models(tmp_path):
    texts = ["the cat sat on the mat", "the dog sat on the cat", "the dog ran"] * 2
    tokenizer = WordTokenizer.train(texts, progress=False)
    options = {"order": 3, "smoothing": "absolute_discounting", "progress": False}
    words = NGramForCausalLM.fit(texts, tokenizer, **options).quantise(8)
    classes = NGramForCausalLM.fit(texts, tokenizer, **options, classes=6).quantise(8)
    ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer(texts[0]).input_ids, tokenizer.eos_token_id]])
    words.save_arpa(tmp_path / "lm.arpa", tokenizer)
    again, its_tokenizer = NGramForCausalLM.from_arpa(tmp_path / "lm.arpa")
    its_ids = torch.tensor(
        [[its_tokenizer.bos_token_id, *its_tokenizer(texts[0]).input_ids, its_tokenizer.eos_token_id]]
    )
    torch.testing.assert_close(again.score(its_ids), words.score(ids))
    mixed = NGramForCausalLM.interpolate([words, classes], tokenizer, ["the cat ran"], progress=False)
    mixed.save_pretrained(tmp_path / "mixed")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "mixed")
    assert [one.quantisation_bits for one in loaded.config.component_configs] == [8, 8]
    assert torch.equal(loaded.score(ids), mixed.score(ids))
    with pytest.raises(ValueError, match="the model interpolates 2 models"):
        mixed.quantise(8)


def test_other_bits_are_refused(model):
    with pytest.raises(ValueError, match="quantisation_bits is 4; it must be one of 8, 16, None"):
        model.quantise(4)
