# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models of hashed n-grams, beside the same n-grams in ordinary tables; what they cannot do."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from hf_lecture_models.analysis.smoothing import group_words
from hf_lecture_models.hub import export
from hf_lecture_models.layers import ngram_hashed
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.conversion_ngram import save_fst
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.sampling_ngram import NGramSampler
from tests.models.ngram.kenlm_ngram import arpa_of, probing_file, random_grams

GRAMS = random_grams(1)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The hashed model, and the ordinary one; both have the ids of one tokenizer."""
    folder = tmp_path_factory.mktemp("hashed")
    (folder / "lm.bin").write_bytes(probing_file(GRAMS))
    (folder / "lm.arpa").write_text(arpa_of(GRAMS))
    hashed, tokenizer = NGramForCausalLM.from_kenlm(folder / "lm.bin")
    ordinary, its_tokenizer = NGramForCausalLM.from_arpa(folder / "lm.arpa")
    assert tokenizer.get_vocab() == its_tokenizer.get_vocab()
    return hashed, ordinary, tokenizer


def stream(model, length=300):
    """A stream of words that holds every id, and where its rows start."""
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(model.config.vocab_size, (length,), generator=generator)
    starts = torch.rand(length, generator=generator) < 0.1
    starts[0] = True
    return words, starts


def test_each_method_gives_what_a_trie_gives(pair, monkeypatch):
    hashed, ordinary, _ = pair
    words, starts = stream(hashed)
    of_hashes, of_tables = (model.trie.score(words, starts, True) for model in (hashed, ordinary))
    for one, other in zip(of_hashes, of_tables, strict=True):
        torch.testing.assert_close(one, other)
    of_hashes, of_tables = (model.trie.contexts(words, starts) for model in (hashed, ordinary))
    assert torch.equal(of_hashes >= 0, of_tables >= 0)
    assert torch.equal(of_hashes[1] >= 0, of_hashes[1] == words.roll(1).where(of_hashes[1] >= 0, torch.tensor(-2)))
    following = words.roll(-1)
    torch.testing.assert_close(
        hashed.trie.log_probs(of_hashes, following), ordinary.trie.log_probs(of_tables, following)
    )
    expected = ordinary.trie.distributions(of_tables)
    for pairs in (1, 100, 1 << 20):
        monkeypatch.setattr(ngram_hashed, "_PAIRS", pairs)
        torch.testing.assert_close(hashed.trie.distributions(of_hashes), expected)
    nothing = hashed.trie.distributions(of_hashes[:, :0])
    assert nothing.shape == (0, hashed.config.vocab_size)


def test_saved_and_loaded_it_is_the_same(pair, tmp_path):
    hashed, _, tokenizer = pair
    hashed.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    ids = stream(hashed)[0][None]
    for other in (loaded, loaded.half(), NGramForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16)):
        assert torch.equal(other.score(ids), hashed.score(ids))
        assert torch.equal(other(ids[:, :40]).logits, hashed(ids[:, :40]).logits)
    tensors = load_file(tmp_path / "model.safetensors")
    for name, damaged, message in (
        ("trie.hash_numbers", -tensors["trie.hash_numbers"], "the words' numbers are negative"),
        ("trie.keys_2", tensors["trie.keys_2"].flip(0), "2-gram table: the keys are too few, unsorted"),
    ):
        save_file(tensors | {name: damaged.contiguous()}, tmp_path / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(ValueError, match=message):
            AutoModelForCausalLM.from_pretrained(tmp_path)


def test_quantised_and_interpolated_as_tables_are(pair):
    hashed, ordinary, tokenizer = pair
    ids = stream(hashed)[0][None]
    torch.testing.assert_close(hashed.quantise(8).score(ids), ordinary.quantise(8).score(ids))
    texts = ["w0 w1w1 w3", "w9 w9 w2w2w2"]
    mixtures = [
        NGramForCausalLM.interpolate(
            [model, NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha", progress=False)],
            tokenizer,
            texts,
            progress=False,
        )
        for model in (hashed, ordinary)
    ]
    torch.testing.assert_close(mixtures[0].score(ids), mixtures[1].score(ids))


def test_what_needs_the_words_of_the_ngrams_is_refused(pair, tmp_path):
    hashed, _, tokenizer = pair
    for ask in (
        lambda: hashed.save_arpa(tmp_path / "lm.arpa", tokenizer),
        lambda: save_fst(hashed, tmp_path / "lm.fst.txt", tokenizer),
        lambda: NGramSampler(hashed),
        lambda: group_words(hashed, tokenizer, ["w0"]),
    ):
        with pytest.raises(ValueError, match="hashes of its n-grams"):
            ask()
    assert not list(tmp_path.iterdir())
    for fields in ({"num_classes": 3}, {"components": [{"order": 1}], "mixture_weights": [1.0]}):
        with pytest.raises(ValueError, match="NGramConfig.hashed: num_classes and components are None"):
            NGramConfig(vocab_size=9, order=2, hashed=True, **fields)


def test_a_new_one_is_uniform():
    config = NGramConfig(vocab_size=6, order=3, table_sizes=[6, 4, 4], hashed=True, bos_token_id=4, pad_token_id=5)
    logits = NGramForCausalLM(config)(torch.tensor([[4, 0, 1, 2]])).logits
    np.testing.assert_allclose(logits.exp()[0], [[0.25] * 4 + [0.0] * 2] * 4, rtol=1e-6)


def test_generation_chooses_the_same_words(pair):
    hashed, ordinary, tokenizer = pair
    prompts = tokenizer(["w0 w1w1", "w9"], padding=True, padding_side="left", return_tensors="pt")
    options = {"max_new_tokens": 6, "do_sample": False, "num_beams": 2}
    assert torch.equal(hashed.generate(**prompts, **options), ordinary.generate(**prompts, **options))


@pytest.mark.slow
def test_exported_it_needs_no_package(pair, tmp_path):
    hashed, _, tokenizer = pair
    export(hashed, tokenizer, tmp_path / "exported")
    ids = stream(hashed)[0][None, :20]
    code = (
        "import json, sys\n"
        "sys.modules['hf_lecture_models'] = None\n"
        "import torch\n"
        "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
        "model = AutoModelForCausalLM.from_pretrained('exported', trust_remote_code=True)\n"
        f"ids = torch.tensor({ids.tolist()})\n"
        "print(json.dumps([model.score(ids).tolist(), model.generate(ids[:, :3], max_new_tokens=4).tolist()]))\n"
    )
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    scores, generated = json.loads(output.splitlines()[-1])
    assert scores == hashed.score(ids).tolist()
    assert generated == hashed.generate(ids[:, :3], max_new_tokens=4).tolist()
