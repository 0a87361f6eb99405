# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Witten-Bell: hand arithmetic, tables of another program, what `<unk>` gets, and what no context loses."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.files.arpa_format import BEGIN
from hf_lecture_models.models.ngram.fitting_ngram import fit_ids
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer

TEXTS = ["a b c", "a b c a", "b a c", "c a b c", "a b d", "d a b", "a c"]
# log10 p and log10 back-off of a float64 implementation of the published formulas, which equals SRILM 1.7.3 to 1e-6
# (ngram-count -order 3 -unk -wbdiscount [-interpolate] -gt3min 1), but for <unk> of the first, which is 1e-3 off there.
INTERPOLATED = """
</s> -0.6375323 | <unk> -1.6106602 | a -0.5853543 -0.5642714 | b -0.6968463 -0.39794 | c -0.6968463 -0.60206
d -1.0791812 -0.30103 | <s> a -0.3390297 -0.4771213 | <s> b -0.785175 -0.30103 | <s> d -0.9164539 -0.30103
a </s> -0.8132038 | a b -0.2929766 -0.4259687 | a c -0.6259283 -0.4771213 | c </s> -0.2536788 | d a -0.4203285 -0.30103
<s> a b -0.1740639 | <s> a c -0.6098713 | a b </s> -0.7054041 | a b d -0.756962 | b c a -0.4868085 | d a b -0.1222377
"""
BACKING_OFF = """
</s> -0.6863809 | <unk> -0.8325089 | a -0.6283889 -0.2088838 | b -0.7533277 0.0921462 | c -0.7533277 -0.3493347
d -1.2304489 -0.0483047 | <s> a -0.4393327 -0.0377886 | <s> b -1.0413927 -0.2552725 | <s> d -1.0413927 -0.1760913
a </s> -1.0413927 | a b -0.3424227 -0.1249387 | a c -0.7403627 -0.1760913 | c </s> -0.30103 | d a -0.60206 -0.0377886
<s> a b -0.30103 | <s> a c -0.7781513 | a b </s> -0.90309 | a b d -0.90309 | b c a -0.69897 | d a b -0.30103
"""


def fit(texts, order, smoothing="witten_bell", **options):
    tokenizer = WordTokenizer.train(texts, progress=False, **options)
    return NGramForCausalLM.fit(texts, tokenizer, order, smoothing, progress=False), tokenizer


def stored(model, tokenizer):
    """Each stored n-gram with its log10 p and its log10 back-off, if it can be a context."""
    tables, found = model.tables(), {}
    words = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    grams = [(word,) for word in words]
    for n in range(1, tables.order + 1):
        if n > 1:
            grams = [(*grams[key // len(words)], words[key % len(words)]) for key in tables.keys[n - 2].tolist()]
        columns = [tables.log10_probs[n - 1], *tables.log10_backoffs[n - 1 : n]]
        found |= {" ".join(gram): numbers for gram, *numbers in zip(grams, *columns, strict=True)}
    return found


@pytest.mark.parametrize(("smoothing", "listed"), [("witten_bell", INTERPOLATED), ("witten_bell_backoff", BACKING_OFF)])
def test_the_tables_of_another_implementation(smoothing, listed):
    model, tokenizer = fit(TEXTS, 3, smoothing)
    found = stored(model, tokenizer)
    assert model.config.table_sizes == [8, 15, 16]
    for entry in listed.replace("\n", " | ").strip(" |").split(" | "):
        words = [part for part in entry.split() if part in tokenizer.get_vocab()]
        numbers = [float(part) for part in entry.split()[len(words) :]]
        assert found[" ".join(words)][: len(numbers)] == pytest.approx(numbers, abs=2e-7), words
    weight = found[BEGIN][1]
    assert weight == pytest.approx({"witten_bell": -0.4393327, "witten_bell_backoff": 0.012965}[smoothing], abs=2e-7)


HELD_OUT = {
    ("witten_bell", "<unk>"): [-3.315715, -1.969684, -4.493363],
    ("witten_bell_backoff", "<unk>"): [-3.144055, -2.847573, -3.706809],
    ("witten_bell", None): [-3.285395, -1.962392],
}


@pytest.mark.parametrize(("case", "expected"), HELD_OUT.items())
def test_held_out_texts(case, expected):
    """log10 P of three texts, of which the last has an unknown word."""
    model, tokenizer = fit(TEXTS, 3, case[0], unk_token=case[1])
    for text, log10_prob in zip(["a b c d", "c a b", "b q a"], expected, strict=False):
        ids = [*tokenizer(text).input_ids, tokenizer.eos_token_id]
        assert model.score(torch.tensor([ids])).double().sum() / math.log(10) == pytest.approx(log10_prob, abs=2e-6)


def after(model, tokenizer, context, word):
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(context.split())])
    return model(ids, logits_to_keep=1).logits[0, -1, tokenizer.convert_tokens_to_ids(word)].double().exp().item()


def test_by_hand():
    # a twice, b once, </s> once: N = 4, T = 3, and |V| = 4 with <unk>.
    model, tokenizer = fit(["a a b"], 2)
    p_a, p_unk = Fraction(2, 7) + Fraction(3, 7) / 4, Fraction(3, 7) / 4
    assert after(model, tokenizer, "<unk>", "a") == pytest.approx(float(p_a))
    assert after(model, tokenizer, "<unk>", "<unk>") == pytest.approx(float(p_unk))
    # After a: a and b once each, so T(a) / (T(a) + c(a)) = 2 / 4.
    assert after(model, tokenizer, "a", "a") == pytest.approx(float(Fraction(1, 4) + p_a / 2))
    assert after(model, tokenizer, "a", "<unk>") == pytest.approx(float(p_unk / 2))


def test_what_the_unknown_word_gets():
    """One share of the uniform distribution, or what the 1-grams leave, with the other unseen words."""
    model, tokenizer = fit(["a b b"], 1)  # N = 4, T = 3
    assert after(model, tokenizer, "a", "<unk>") == pytest.approx(3 / 7 / 4)
    model, tokenizer = fit(["a b b"], 1, "witten_bell_backoff")
    assert after(model, tokenizer, "a", "<unk>") == pytest.approx(3 / 7)
    assert after(model, tokenizer, "a", "b") == pytest.approx(2 / 7)
    more = WordTokenizer.from_words(["a", "b", "c", "d"])
    model = NGramForCausalLM.fit(["a b b"], more, 1, "witten_bell_backoff", progress=False)
    assert [after(model, more, "a", word) for word in ("<unk>", "c", "d")] == pytest.approx([1 / 7] * 3)


def test_where_no_word_is_unseen():
    """What the 1-grams leave is shared by all words; a longer context is scaled."""
    texts = ["a a", "a <unk>", "a", "<unk>"]  # N = 10, T = 3; a is followed by all three words
    model, tokenizer = fit(texts, 2, "witten_bell_backoff")
    counts = {"a": 4, "<unk>": 2, "</s>": 4}
    expected = [(count + 3 / 3) / (10 + 3) for count in counts.values()]
    alone = NGramForCausalLM.fit(texts, tokenizer, 1, "witten_bell_backoff", progress=False)
    assert [after(alone, tokenizer, "a", word) for word in counts] == pytest.approx(expected)
    assert [after(model, tokenizer, "a", word) for word in counts] == pytest.approx([1 / 4, 1 / 4, 2 / 4])


@pytest.mark.parametrize("smoothing", ["witten_bell", "witten_bell_backoff"])
def test_the_least_that_is_left_is_left(smoothing):
    """A context whose only follower came a million times keeps 1 / (10^6 + 1) for others, and is not raised."""
    config = NGramConfig(vocab_size=5, order=2, smoothing=smoothing, bos_token_id=0, eos_token_id=1, unk_token_id=2)
    times = 10**6
    ids = np.tile([3, 4], times)
    model = fit_ids(ids, np.array([2 * times]), config)
    logits = model(torch.tensor([[3]])).logits[0, -1].double().exp()  # 4 follows each 3
    assert logits[4].item() == pytest.approx(1, abs=1e-5)
    p_unk = {"witten_bell": 3 / (2 * times + 4) / 4, "witten_bell_backoff": 3 / (2 * times + 4)}[smoothing]
    lower = model(torch.tensor([[2]])).logits[0, -1].double().exp()
    assert lower[2].item() == pytest.approx(p_unk, rel=1e-5)
    left = 1 / (times + 1)
    free = 1 if smoothing == "witten_bell" else 1 - lower[4].item()
    assert logits[2].item() == pytest.approx(left / free * p_unk, rel=1e-4)
    assert logits.sum().item() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("smoothing", ["witten_bell", "witten_bell_backoff"])
def test_pruned_counts_go_to_the_shorter_context(smoothing):
    """T(h) counts all words that followed h: what is left is T(h) and the pruned counts, over T(h) + c(h)."""
    texts = ["a b", "a b", "a c", "a b c"]
    tokenizer = WordTokenizer.train(texts, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, 2, smoothing, prune=[0, 1], progress=False)
    shorter = NGramForCausalLM.fit(texts, tokenizer, 1, smoothing, progress=False)
    p_b, p_c = (after(shorter, tokenizer, "a", word) for word in ("b", "c"))
    left = (2 + 1) / (4 + 2)  # b three times, c once
    weight = left if smoothing == "witten_bell" else left / (1 - p_b)
    assert after(model, tokenizer, "a", "c") == pytest.approx(weight * p_c)
    expected = 3 / 6 + (left * p_b if smoothing == "witten_bell" else 0)
    assert after(model, tokenizer, "a", "b") == pytest.approx(expected)
    assert sum(after(model, tokenizer, "a", w) for w in ("a", "b", "c", "</s>", "<unk>")) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("smoothing", ["witten_bell", "witten_bell_backoff"])
def test_classes_of_words(smoothing):
    """P(word) is that of its class, by n-grams of texts whose words are the classes, times its part of the class."""
    texts = ["the cat sat on the mat", "a dog sat on the log", "the bird sang", "a cat ran"] * 3
    tokenizer = WordTokenizer.train(texts, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, 3, smoothing, classes=7, progress=False)
    classes, names = model.word_classes(), tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    class_of = {name: f"class{number}" for name, number in zip(names, classes.class_of.tolist(), strict=True)}
    of_classes = [" ".join(class_of[word] for word in text.split()) for text in texts]
    other, own = fit(of_classes, 3, smoothing)
    for text in ("the cat sat on a log", "a bird sang on the mat"):
        rows = tokenizer(text, return_tensors="pt").input_ids
        in_class = torch.from_numpy(classes.log10_probs)[rows[0, 1:]] * math.log(10)
        expected = other.score(own(" ".join(class_of[word] for word in text.split()), return_tensors="pt").input_ids)
        torch.testing.assert_close(model.score(rows)[0, 1:], expected[0, 1:] + in_class, atol=1e-5, rtol=0)
    assert model(rows).logits.exp().sum(-1).allclose(torch.ones(1), atol=1e-6)
