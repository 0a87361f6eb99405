# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Tools on models that are as small, or as full, as models can be."""

import numpy as np
import pytest

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from tests.models.ngram.tools.slow_model import all_contexts, slow_model

FULL = ["a a", "a", ""]  # after every word, every word of the vocabulary is listed


def without_unknown(order):
    """A model of one word, without `<unk>`: every word and the end are listed after `<s>` and after the word."""
    tokenizer = WordTokenizer.from_words(["a"], unk_token=None)
    return NGramForCausalLM.fit(FULL, tokenizer, order, "add_alpha"), tokenizer


def check_sums(model, tokenizer, words):
    slow = slow_model(model, tokenizer)
    for context in all_contexts(words, model.config.order - 1):
        assert slow.sum_after(context) == pytest.approx(1, abs=1e-6), context


@pytest.mark.parametrize("order", [1, 2, 3])
def test_one_word_after_which_every_word_is_listed(order):
    model, tokenizer = without_unknown(order)
    for smaller in (model.prune(0), model.prune(1e-3), model.prune(float("inf"))):
        check_sums(smaller, tokenizer, ["a"])
    larger, own = model.extend(tokenizer, {"b": 0.25})
    check_sums(larger, own, ["a", "b"])
    slow = slow_model(larger, own)
    assert 10 ** slow.log10((), "b") == pytest.approx(0.25)
    if order > 1:  # what is listed keeps its probability, and nothing is left
        assert slow.log10(("<s>",), "b") == -np.inf
    alike, own = model.extend(tokenizer, {"b": "a"})
    check_sums(alike, own, ["a", "b"])
    static = NGramForCausalLM.interpolate([model, model], tokenizer, weights=[0.5, 0.5], static=True, progress=False)
    check_sums(static, tokenizer, ["a"])


def test_no_word_has_a_probability_for_a_new_one():
    tokenizer = WordTokenizer.from_words([])
    model = NGramForCausalLM.fit([""], tokenizer, 2, "add_alpha")
    with pytest.raises(ValueError, match="no word of the model has a probability"):
        model.extend(tokenizer, {"b": None})
    check_sums(*model.extend(tokenizer, {"b": "<unk>"}), ["b", "<unk>"])


def test_the_longest_ngrams_are_all_pruned(tmp_path):
    texts = ["the cat sat", "the cat ran", "the dog ran", "a dog sat on the mat"]
    tokenizer = WordTokenizer.train(texts)
    model = NGramForCausalLM.fit(texts, tokenizer, 3, "absolute_discounting").prune(0.1)
    assert model.config.ngram_counts[2] == 0
    model.save_pretrained(tmp_path / "folder")
    model.save_arpa(tmp_path / "lm.arpa", tokenizer)
    model.save_kenlm(tmp_path / "lm.trie", tokenizer, kenlm_type="trie")
    model.save_kenlm(tmp_path / "lm.bin", tokenizer)
    texts = [*texts, "a cat on a mat"]
    ids = [tokenizer(text, return_tensors="pt").input_ids for text in texts]
    expected = [model.score(one).sum().item() for one in ids]
    loaded = NGramForCausalLM.from_pretrained(tmp_path / "folder")
    assert [loaded.score(one).sum().item() for one in ids] == expected
    for name, read in (("lm.arpa", "from_arpa"), ("lm.trie", "from_kenlm"), ("lm.bin", "from_kenlm")):
        again, own = getattr(NGramForCausalLM, read)(tmp_path / name)
        assert again.config.order == 3
        found = [again.score(own(text, return_tensors="pt").input_ids).sum().item() for text in texts]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    smaller, own = model.cut(tokenizer, ["the", "cat"])
    check_sums(smaller, own, ["the", "cat", "<unk>"])
    larger, own = model.extend(tokenizer, {"cow": "dog", "owl": 0.01})
    check_sums(larger, own, ["the", "cow", "owl"])


def test_words_and_weights_of_zero(tmp_path):
    """Listed with p = 0 after a context, and weights of -99: nothing else becomes possible, and sums stay one."""
    (tmp_path / "lm.arpa").write_text(
        "\\data\\\nngram 1=5\nngram 2=4\n\n\\1-grams:\n-99\t<s>\t-99\n-0.60206\t</s>\n-0.60206\t<unk>\n"
        "-0.60206\ta\t-0.1249387\n-0.60206\tb\n\n\\2-grams:\n-0.30103\t<s> a\n-0.30103\t<s> b\n-99\t<s> </s>\n"
        "-0.4771213\ta b\n\n\\end\\\n"
    )
    model, tokenizer = NGramForCausalLM.from_arpa(tmp_path / "lm.arpa")
    for one, own in (
        (model.prune(0), tokenizer),
        (model.prune(1e-3), tokenizer),
        model.cut(tokenizer, ["a"]),
        model.extend(tokenizer, {"c": 0.1}),
    ):
        check_sums(one, own, [word for word in own.get_vocab() if word in "abc"])
