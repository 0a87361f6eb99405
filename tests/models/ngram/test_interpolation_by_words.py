# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models that number the same words differently are mixed word by word."""

from __future__ import annotations

import math
import random
import warnings

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from hf_lecture_models.generation.fusion import NGramLogitsProcessor
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.models.ngram.kenlm_ngram import arpa_of, probing_file, random_grams, trie_file

pytestmark = pytest.mark.filterwarnings("ignore:.*too few, or artificial text")

UNIGRAMS = "\\data\\\nngram 1=4\n\n\\1-grams:\n{}\n\n\\end\\\n"
TEXTS = ["w0 w1w1 w3", "w9 w9 w2w2w2 w4w4", "w0 w7w7 unseen w1w1", ""]


def unigram(path, **probs):
    rows = [f"{math.log10(p)}\t{word}" for word, p in probs.items()]
    path.write_text(UNIGRAMS.format("\n".join([*rows, "-0.602059991\t</s>", "0\t<s>"])), encoding="utf-8")
    return NGramForCausalLM.from_arpa(path)


def test_weights_and_probabilities_by_hand(tmp_path):
    """P_1(a) = 1/2, P_2(a) = 1/4, P(b) the other way round, two a and three b.

    The derivative of 2 ln(1/4 + w/4) + 3 ln(1/2 - w/4) is 0 at w = 1/5, so P(a) = 3/10 and P(b) = 9/20.
    """
    one, tokenizer = unigram(tmp_path / "1.arpa", a=1 / 2, b=1 / 4)
    other, its_own = unigram(tmp_path / "2.arpa", b=1 / 2, a=1 / 4)
    assert tokenizer.convert_tokens_to_ids("a") != its_own.convert_tokens_to_ids("a")
    for given in (tokenizer, [tokenizer, its_own]):
        mixed = NGramForCausalLM.interpolate([one, other], given, ["a b b", "b a"], progress=False)
        assert mixed.config.mixture_weights == pytest.approx([0.2, 0.8], abs=1e-4)
        ids = tokenizer.convert_tokens_to_ids(["a", "b", "</s>"])
        probs = mixed(torch.tensor([[tokenizer.bos_token_id]])).logits[0, 0].exp()[ids]
        assert probs.tolist() == pytest.approx([0.3, 0.45, 0.25], abs=1e-4)


def grams_in_other_order():
    """Two 3-grams of the same words; the file of the second has them in another order, with other weights."""
    grams, others = random_grams(0), random_grams(1)
    words = [gram for gram in others if len(gram) == 1]
    random.Random(0).shuffle(words)
    return grams, {gram: others[gram] for gram in [*words, *(gram for gram in others if len(gram) > 1)]}


def read(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return (NGramForCausalLM.from_arpa if isinstance(content, str) else NGramForCausalLM.from_kenlm)(path)


def saved_and_loaded(model, tokenizer, folder):
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("kind", ["arpa", "trie", "probing", "quantised", "8 bits", "folder", "classes", "fit"])
def test_a_mixture_has_each_models_own_probabilities(tmp_path, kind):
    grams, others = grams_in_other_order()
    one, tokenizer = read(tmp_path / "1.arpa", arpa_of(grams))
    files = {"trie": trie_file(others), "probing": probing_file(others), "quantised": trie_file(others, bits=4)}
    other, its_own = read(tmp_path / "2", files.get(kind, arpa_of(others)))
    if kind == "8 bits":
        other = other.quantise(8)
    if kind == "folder":
        other, its_own = saved_and_loaded(other, its_own, tmp_path / "folder")
    if kind in ("classes", "fit"):
        words = [word for (word,) in filter(lambda gram: len(gram) == 1, others) if word[0] == "w"]
        its_own = WordTokenizer.from_words(words)
        options = {"classes": 4} if kind == "classes" else {}
        texts = [" ".join(random.Random(seed).choices(words, k=9)) for seed in range(30)]
        other = NGramForCausalLM.fit(texts, its_own, 2, "absolute_discounting", progress=False, **options)
    assert its_own.get_vocab() != tokenizer.get_vocab()
    mixed = NGramForCausalLM.interpolate([one, other], tokenizer, TEXTS, progress=False)
    for model, own in ((mixed, tokenizer), saved_and_loaded(mixed, tokenizer, tmp_path / "mixed")):
        for text in TEXTS:
            first, second = (
                part.score(torch.tensor([[t.bos_token_id, *t(text).input_ids, t.eos_token_id]]))[0, 1:].double().exp()
                for part, t in ((one, tokenizer), (other, its_own))
            )
            found = model.score(torch.tensor([[own.bos_token_id, *own(text).input_ids, own.eos_token_id]]))[0, 1:]
            weights = model.config.mixture_weights
            torch.testing.assert_close(
                found.double().exp(), weights[0] * first + weights[1] * second, rtol=1e-5, atol=0
            )
    sums = mixed(torch.tensor([tokenizer("w0 w1w1").input_ids])).logits.exp().sum(-1)
    each = [
        part(torch.tensor([t("w0 w1w1").input_ids])).logits.exp().sum(-1)
        for part, t in ((one, tokenizer), (other, its_own))
    ]
    torch.testing.assert_close(sums, weights[0] * each[0] + weights[1] * each[1], rtol=1e-4, atol=0)


def test_the_order_of_the_models_does_not_matter(tmp_path):
    grams, others = grams_in_other_order()
    pair = [read(tmp_path / "1.arpa", arpa_of(grams)), read(tmp_path / "2.arpa", arpa_of(others))]
    weights = []
    for (one, tokenizer), (other, _) in (pair, pair[::-1]):
        mixed = NGramForCausalLM.interpolate([one, other], tokenizer, TEXTS[:2], progress=False)
        weights.append(mixed.config.mixture_weights)
    assert weights[0] == pytest.approx(weights[1][::-1], abs=1e-5)


def test_models_of_one_tokenizer_share_their_tables(tmp_path):
    texts = ["the cat sat", "the dog ran"]
    tokenizer = WordTokenizer.train(texts, progress=False)
    parts = [NGramForCausalLM.fit(texts, tokenizer, n, "add_alpha", progress=False) for n in (1, 2)]
    mixed = NGramForCausalLM.interpolate(parts, tokenizer, ["the cat ran"], progress=False)
    assert mixed.trie.tries[1].keys_2.data_ptr() == parts[1].trie.keys_2.data_ptr()


def test_words_that_the_tokenizer_lacks_are_refused_by_name(tmp_path):
    one, tokenizer = unigram(tmp_path / "1.arpa", a=1 / 2, b=1 / 4)
    other, its_own = unigram(tmp_path / "2.arpa", a=1 / 2, c=1 / 4)
    with pytest.raises(ValueError, match="a model has 'c', which the tokenizer lacks; give a list with") as caught:
        NGramForCausalLM.interpolate([one, other], tokenizer, ["a"], progress=False)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="1 tokenizers for 2 models; give one, or one for each"):
        NGramForCausalLM.interpolate([one, other], [tokenizer], ["a"], progress=False)
    # Without <unk> in the files, as here, P(b) is that of the first model alone: 1/2 of 1/4.
    mixed = NGramForCausalLM.interpolate([one, other], [tokenizer, its_own], weights=[0.5, 0.5])
    ids = mixed.own_tokenizer.convert_tokens_to_ids(["a", "b", "c", "</s>", "<unk>"])
    probs = mixed(torch.tensor([[mixed.config.bos_token_id]])).logits[0, 0].exp()[ids]
    assert probs.tolist() == pytest.approx([0.5, 0.125, 0.125, 0.25, 0])


def test_fusion_refuses_an_ngram_that_numbers_words_differently(tmp_path):
    _, tokenizer = unigram(tmp_path / "1.arpa", a=1 / 2, b=1 / 4)
    other, _ = unigram(tmp_path / "2.arpa", b=1 / 2, a=1 / 4)
    with pytest.raises(ValueError, match="2 tokens, such as 'a', have another id"):
        NGramLogitsProcessor(other, tokenizer)


def test_a_model_without_a_tokenizer_is_taken_for_one_of_the_given_numbers(tmp_path):
    one, tokenizer = unigram(tmp_path / "1.arpa", a=1 / 2, b=1 / 4)
    other, its_own = unigram(tmp_path / "2.arpa", b=1 / 2, a=1 / 4)
    other.own_tokenizer = None
    with pytest.warns(UserWarning, match="model 2 has no tokenizer of its own.*give a list with a tokenizer for each"):
        NGramForCausalLM.interpolate([one, other], tokenizer, ["a b b", "b a"], progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mixed = NGramForCausalLM.interpolate([one, other], [tokenizer, its_own], ["a b b", "b a"], progress=False)
    assert mixed.config.mixture_weights == pytest.approx([0.2, 0.8], abs=1e-4)
