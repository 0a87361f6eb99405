# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models of different words as one mixture: a word that a model lacks has p = 0 there, and ends its context."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from hf_lecture_models import BpeTokenizer
from hf_lecture_models.models.ngram.interpolation_ngram import UnitedModels
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.tables_ngram import classes_of, tables_of
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.models.ngram.kenlm_ngram import arpa_of, probing_file, random_grams, trie_file

pytestmark = pytest.mark.filterwarnings("ignore:.*too few, or artificial text")

TEXTS = ["the cat sat on the mat", "the dog sat on the cat", "a bird sang to the cat"]
OTHERS = ["the fish swam to the boat", "the cat saw a fish", "a dog saw the boat and sang"]
HELD_OUT = ["the cat saw the boat", "a bird swam to the dog", "the unseen fish sat on the mat"]


def fitted(texts, order=3, tokenizer=None, **options):
    tokenizer = tokenizer or WordTokenizer.train(texts, progress=False)
    return NGramForCausalLM.fit(texts, tokenizer, order, "absolute_discounting", progress=False, **options)


def own_probs(model, line):
    """P of each word of a line, after `<s>`, by the model itself: 0 for a word that it lacks, contexts cut after it."""
    tokenizer, found, context = model.own_tokenizer, [], ["<s>"]
    for word in [*line.split(), "</s>"]:
        if word != "<unk>" and word not in tokenizer.get_vocab():
            found.append(0.0)
            context = []
            continue
        ids = tokenizer.convert_tokens_to_ids([*context, word])
        if context:
            rows = model(torch.tensor([ids[:-1]])).logits[0, -1]
        else:
            orders = [model.config.order] if model.config.components is None else [3, 2]
            rows = model.trie.distributions(torch.full((sum(orders) - len(orders), 1), -1))[0]
        found.append(rows[ids[-1]].double().exp().item())
        context.append(word)
    return np.array(found)


def mixed_probs(model, tokenizer, line):
    ids = [tokenizer.bos_token_id, *tokenizer(line, add_special_tokens=False).input_ids, tokenizer.eos_token_id]
    return model.score(torch.tensor([ids]))[0, 1:].double().exp().numpy()


def known_to_some(models, line):
    words = set().union(*(model.own_tokenizer.get_vocab() for model in models))
    return " ".join(word if word in words else "<unk>" for word in line.split())


KINDS = ["fit", "classes", "8 bits", "mixture", "arpa", "probing", "trie", "8 bits of classes"]


def second(kind, folder):
    if kind in ("arpa", "probing", "trie"):
        grams = random_grams(3)
        names = ["the", "boat", "fish", "swam", "saw", "to", "a", "and", "cat", "dog", "sang", "unlike"]
        new = dict(zip([word for (word,) in filter(lambda g: len(g) == 1, grams)][3:], names, strict=True))
        grams = {tuple(new.get(word, word) for word in gram): values for gram, values in grams.items()}
        kinds = {"arpa": lambda: arpa_of(grams).encode(), "probing": lambda: probing_file(grams)}
        (folder / "file").write_bytes(kinds.get(kind, lambda: trie_file(grams))())
        return (NGramForCausalLM.from_arpa if kind == "arpa" else NGramForCausalLM.from_kenlm)(folder / "file")[0]
    if kind == "mixture":
        return NGramForCausalLM.interpolate([fitted(OTHERS), fitted(OTHERS[:2], 2)], weights=[0.9, 0.1], progress=False)
    model = fitted(OTHERS, **({"classes": 4} if "classes" in kind else {}))
    return model.quantise(8) if "8 bits" in kind else model


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_first", [True, False])
def test_each_words_probability(tmp_path, kind, is_first):
    models = [fitted(TEXTS), second(kind, tmp_path)][:: 1 if is_first else -1]
    mixed = NGramForCausalLM.interpolate(models, weights=[0.3, 0.7], progress=False)
    tokenizer = mixed.own_tokenizer
    mixed.save_pretrained(tmp_path / "mixed")
    tokenizer.save_pretrained(tmp_path / "mixed")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "mixed")
    for trie in mixed.trie.tries:
        tables_of(trie).check()
        if (classes := classes_of(trie)) is not None:
            classes.check()
    for line in [*HELD_OUT, *TEXTS, *OTHERS, "boat boat bird bird boat the"]:
        parts = [own_probs(model, known_to_some(models, line)) for model in models]
        expected = 0.3 * parts[0] + 0.7 * parts[1]
        for model, own in ((mixed, tokenizer), (loaded, AutoTokenizer.from_pretrained(tmp_path / "mixed"))):
            np.testing.assert_allclose(mixed_probs(model, own, line), expected, rtol=2e-5)
    words = known_to_some(models, HELD_OUT[1])
    logits = mixed(torch.tensor([tokenizer(words).input_ids])).logits
    assert not logits.isnan().any()
    at = tokenizer.convert_tokens_to_ids([*words.split()[1:], "</s>"])
    by_rows = logits[0, 1:].exp()[range(len(at)), at]
    np.testing.assert_allclose(by_rows, mixed_probs(mixed, tokenizer, words)[1:], rtol=2e-5)


@pytest.mark.parametrize("kind", ["fit", "classes", "mixture"])
def test_distributions_sum_to_one(tmp_path, kind):
    models = [fitted(TEXTS), second(kind, tmp_path), fitted(["zebra zebra mat", "mat"], 1)]
    mixed = NGramForCausalLM.interpolate(models, held_out=[*HELD_OUT, "zebra"], progress=False)
    tokenizer = mixed.own_tokenizer
    rng = random.Random(0)
    words = sorted(tokenizer.get_vocab().keys() - {"<s>", "</s>", "<pad>"})
    rows = [tokenizer.convert_tokens_to_ids(["<s>", *rng.choices(words, k=5)]) for _ in range(50)]
    sums = mixed(torch.tensor(rows)).logits.double().exp().sum(-1)
    np.testing.assert_allclose(sums, 1, atol=1e-5)
    generated = mixed.generate(torch.tensor(rows[:4]), max_new_tokens=8, do_sample=True, pad_token_id=0)
    assert mixed.score(generated).isfinite().all()
    loss = mixed(torch.tensor(rows), labels=torch.tensor(rows)).loss
    assert loss.isfinite()


def test_a_word_that_no_model_gives_any_probability():
    """-inf of all components stays -inf: by the words' scores, and by whole rows."""
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    models = [NGramForCausalLM.fit(TEXTS[:1], tokenizer, n, "maximum_likelihood", progress=False) for n in (1, 2)]
    mixed = NGramForCausalLM.interpolate(models, weights=[0.5, 0.5])
    ids = torch.tensor([tokenizer("the bird sat").input_ids])
    assert mixed.score(ids)[0].tolist()[2] == -torch.inf
    logits = mixed(ids).logits
    assert not logits.isnan().any()
    assert logits[0, 1, ids[0, 2]] == -torch.inf


def test_weights_are_found_as_by_the_probabilities():
    models = [fitted(TEXTS), fitted(OTHERS)]
    together = UnitedModels(models)
    found = together.measure(HELD_OUT, progress=False)
    lines = [known_to_some(models, line) for line in HELD_OUT]
    probs = np.stack([np.concatenate([own_probs(model, line) for line in lines]) for model in models])
    np.testing.assert_allclose(found.probs, probs, rtol=1e-5)
    words = [word for line in HELD_OUT for word in [*line.split(), "</s>"]]
    for model, known in zip(models, found.is_known, strict=True):
        assert known.tolist() == [word in model.own_tokenizer.get_vocab() for word in words]
    grid = np.linspace(0.0005, 0.9995, 1000)
    best = grid[np.argmax([np.log(weight * probs[0] + (1 - weight) * probs[1]).sum() for weight in grid])]
    mixed = NGramForCausalLM.interpolate(models, held_out=HELD_OUT, progress=False)
    assert mixed.config.mixture_weights[0] == pytest.approx(best, abs=2e-3)


def test_the_tokenizer_of_all_words():
    one, other = fitted(TEXTS), fitted(OTHERS)
    mixed = NGramForCausalLM.interpolate([one, other], weights=[0.5, 0.5])
    words = mixed.own_tokenizer.get_vocab()
    assert words.keys() == one.own_tokenizer.get_vocab().keys() | other.own_tokenizer.get_vocab().keys()
    assert mixed.config.vocab_size == len(words)
    # One that has all words is taken as it is, given alone, or first in a list.
    larger = WordTokenizer.from_words([word for word in words if word[0] != "<"] + ["more"])
    for tokenizer in (larger, [larger, other.own_tokenizer]):
        first = fitted(TEXTS, tokenizer=larger)
        mixed = NGramForCausalLM.interpolate([first, other], tokenizer, weights=[0.5, 0.5])
        assert mixed.own_tokenizer is larger
    for given in (one.own_tokenizer, other.own_tokenizer):
        with pytest.raises(ValueError, match="which the tokenizer lacks; give a list with a tokenizer for each model"):
            NGramForCausalLM.interpolate([one, other], given, weights=[0.5, 0.5])


def test_spellings_and_settings_of_tokenizers():
    options = {"lower_case": True, "split_punctuation": True, "eos_token": "[end]"}
    models = [fitted(texts, tokenizer=WordTokenizer.train(texts, **options)) for texts in (["A, b"], ["c. A"])]
    mixed = NGramForCausalLM.interpolate(models, weights=[0.5, 0.5])
    assert mixed.own_tokenizer.tokenize("C, B. a") == ["c", ",", "b", ".", "a"]
    assert mixed.own_tokenizer.convert_ids_to_tokens(mixed.config.eos_token_id) == "[end]"
    plain = fitted(["A d"])
    with pytest.raises(ValueError, match="their tokenizers differ in lower_case; estimate all models with one setting"):
        NGramForCausalLM.interpolate([models[0], plain], weights=[0.5, 0.5])


def test_tokenizers_that_cannot_be_united():
    words = fitted(TEXTS)
    classes = fitted(OTHERS, tokenizer=WordTokenizer.train(OTHERS, unknown_words="classes"))
    spelled = fitted(OTHERS, tokenizer=WordTokenizer.train(OTHERS, unknown_words="spelled"))
    pieces = fitted(OTHERS, tokenizer=BpeTokenizer.train(OTHERS, vocab_size=300))
    for other, kind in (
        (classes, "WordTokenizer with unknown_words='classes'"),
        (spelled, "WordTokenizer with unknown_words='spelled'"),
        (pieces, "BpeTokenizer"),
    ):
        for pair in ([words, other], [other, words]):
            with pytest.raises(ValueError, match=f"and the words of a {kind} cannot be united with others") as caught:
                NGramForCausalLM.interpolate(pair, weights=[0.5, 0.5])
            assert "\n" not in str(caught.value)


def test_a_model_without_an_unknown_word():
    """`<unk>` has the p 0 where a model lacks it; without it in any, the mixture's tokenizer refuses unknown words."""
    none = fitted(TEXTS, tokenizer=WordTokenizer.train(TEXTS, unk_token=None))
    other = fitted(OTHERS)
    mixed = NGramForCausalLM.interpolate([none, other], weights=[0.25, 0.75])
    line = "the unseen cat"
    expected = 0.25 * own_probs(none, line) + 0.75 * own_probs(other, known_to_some([other, none], line))
    np.testing.assert_allclose(mixed_probs(mixed, mixed.own_tokenizer, line), expected, rtol=1e-5)
    both = [none, fitted(OTHERS, tokenizer=WordTokenizer.train(OTHERS, unk_token=None))]
    mixed = NGramForCausalLM.interpolate(both, weights=[0.25, 0.75])
    assert mixed.own_tokenizer.unk_token is None
    with pytest.raises(ValueError, match="unseen"):
        mixed.own_tokenizer(line)


def test_a_mixture_counts_as_one_model():
    words, classes, other = fitted(TEXTS), fitted(TEXTS, 2, classes=3), fitted(OTHERS)
    inner = NGramForCausalLM.interpolate([words, other], weights=[0.4, 0.6])
    nested = NGramForCausalLM.interpolate([inner, classes], weights=[0.5, 0.5])
    flat = NGramForCausalLM.interpolate([words, other, classes], weights=[0.2, 0.3, 0.5])
    assert nested.config.mixture_weights == pytest.approx([0.2, 0.3, 0.5])
    tokenizer = flat.own_tokenizer
    assert nested.own_tokenizer.get_vocab() == tokenizer.get_vocab()
    for line in HELD_OUT:
        np.testing.assert_array_equal(mixed_probs(nested, tokenizer, line), mixed_probs(flat, tokenizer, line))
    nested = NGramForCausalLM.interpolate([inner, classes], held_out=HELD_OUT, progress=False)
    first, second, third = nested.config.mixture_weights
    assert first / second == pytest.approx(0.4 / 0.6)
    found = UnitedModels([inner, classes]).measure(HELD_OUT, progress=False).probs
    derivative = (found / (np.array([first + second, third]) @ found)).mean(1)
    assert derivative.max() == pytest.approx(1, abs=1e-3)


def test_what_is_asked_for():
    models = [fitted(TEXTS), fitted(OTHERS)]
    for options in ({}, {"held_out": HELD_OUT, "weights": [0.5, 0.5]}):
        with pytest.raises(ValueError, match="give `held_out`, texts to set the weights by, or `weights`: one of"):
            NGramForCausalLM.interpolate(models, **options)
    models[1].own_tokenizer = None
    with pytest.raises(ValueError, match="model 2 has no tokenizer of its own; give `tokenizer`"):
        NGramForCausalLM.interpolate(models, weights=[0.5, 0.5])


def test_any_tokenizer_of_equal_words_is_taken():
    """Not only word tokenizers: what is mixed over one vocabulary needs no union."""
    tokenizer = BpeTokenizer.train(TEXTS, vocab_size=300)
    again = BpeTokenizer(tokenizer_object=Tokenizer.from_str(tokenizer.backend_tokenizer.to_str()))
    models = [fitted(TEXTS, n, tokenizer=own) for n, own in ((2, tokenizer), (3, again))]
    mixed = NGramForCausalLM.interpolate(models, weights=[0.5, 0.5])
    assert mixed.own_tokenizer is tokenizer
