# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Words taken out of a model and put in: every context sums to one, and other probabilities keep their proportions."""

import itertools

import numpy as np
import pytest

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.models.ngram.tools.word_lists import read_new_words, read_vocabulary
from tests.memory import memory_taken
from tests.models.ngram.arpa_ngram import SMALL
from tests.models.ngram.kenlm_ngram import grams_of, probing_file
from tests.models.ngram.tools.slow_model import all_contexts, slow_model

TEXTS = ["a b c", "a b c a", "b a c", "c a b c", "a b d", "d a b", "a c"]
ORDERS = [1, 2, 3, 4]


def fitted(order, smoothing="absolute_discounting", texts=TEXTS, **options):
    tokenizer = WordTokenizer.train(texts)
    return NGramForCausalLM.fit(texts, tokenizer, order, smoothing, **options), tokenizer


def assert_sums(model, tokenizer, words, longest):
    slow = slow_model(model, tokenizer)
    for context in all_contexts(words, longest):
        assert slow.sum_after(context) == pytest.approx(1, abs=2e-6), context


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("prune", [None, [0, 0, 1]])
def test_cut(order, prune):
    """<unk> has what the words had; n-grams of kept words stay; what is not listed keeps its proportions."""
    model, tokenizer = fitted(order, prune=prune and prune[:order])
    smaller, own = model.cut(tokenizer, ["a", "c", "none"])
    assert smaller.own_tokenizer is own
    assert sorted(own.get_vocab()) == ["</s>", "<pad>", "<s>", "<unk>", "a", "c"]
    before, after = slow_model(model, tokenizer), slow_model(smaller, own)
    lost = sum(10 ** before.log10((), word) for word in ("b", "d", "<unk>"))
    assert 10 ** after.log10((), "<unk>") == pytest.approx(lost, rel=1e-6)
    kept = {gram: p for gram, p in before.probs.items() if {*gram} <= {"a", "c", "<s>", "</s>", "<unk>", "<pad>"}}
    assert after.probs.keys() == kept.keys()
    assert all(after.probs[gram] == p for gram, p in kept.items() if gram != ("<unk>",))
    assert_sums(smaller, own, ["a", "c", "<unk>"], order)
    model.cut(tokenizer, TEXTS[0].split())  # the model itself is as it was
    np.testing.assert_array_equal(list(slow_model(model, tokenizer).probs.values()), list(before.probs.values()))


def test_a_cut_to_all_words_changes_nothing():
    model, tokenizer = fitted(3)
    same, own = model.cut(tokenizer, ["a", "b", "c", "d"])
    assert own.get_vocab() == tokenizer.get_vocab()
    for old, new in zip(model.tables().log10_probs, same.tables().log10_probs, strict=True):
        np.testing.assert_array_equal(new, old)
    for old, new in zip(model.tables().log10_backoffs, same.tables().log10_backoffs, strict=True):
        np.testing.assert_allclose(new, old, atol=1e-6)


def test_cut_equals_a_slow_one():
    """The weights of a model in dictionaries, from what is left and what the shorter context gives to the others."""
    model, tokenizer = fitted(4)
    slow = slow_model(model, tokenizer)
    smaller, own = model.cut(tokenizer, ["a", "b"])
    found = slow_model(smaller, own)
    for context in sorted(found.contexts(), key=len)[1:]:
        listed = [gram[-1] for gram in found.probs if gram[:-1] == context]
        left = 1 - sum(10 ** slow.log10(context, word) for word in listed)
        lower = 1 - sum(10 ** found.log10(context[1:], word) for word in listed)
        assert 10 ** found.backoffs[context] == pytest.approx(left / lower, rel=1e-4), context


@pytest.mark.parametrize(
    ("change", "expected", "held_out"),
    [
        (
            lambda m, t: m.cut(t, ["a", "b", "c"]),
            {"<unk>": -0.9672075, "a": -0.5853543, "<s>": -0.1990005, "a b": -0.1755935, "c": -0.60206},
            [-3.4038, -1.969684, -3.592346],
        ),
        (
            lambda m, t: m.extend(t, {"quokka": 0.005, "vosk": 0.005}),
            {"<unk>": -1.615025, "quokka": -2.30103, "<s>": -0.4518455, "a b": -0.4259687, "c": -0.606216},
            [-3.324236, -1.969684, -4.516759],
        ),
        (
            lambda m, t: m.extend(t, dict.fromkeys(["quokka", "vosk"], 10**-1.6106602 / 4), from_unknown=True),
            {"<unk>": -1.9116902, "quokka": -2.2127202, "<s>": -0.4393327, "a b": -0.4259687, "c": -0.60206},
            [-3.315715, -1.969684, -4.794393],
        ),
    ],
    ids=["cut", "from all words", "from <unk>"],
)
def test_figures_of_a_reference(change, expected, held_out):
    """log10 of P, or of the back-off weights of contexts, and of texts, of an implementation that SRILM agrees with."""
    slow = slow_model(*change(*fitted(3, "witten_bell")))
    for words, value in expected.items():
        gram = tuple(words.split())
        is_context = gram in (("<s>",), ("a", "b"), ("c",))
        assert (slow.backoffs if is_context else slow.probs)[gram] == pytest.approx(value, abs=2e-6), gram
    for text, value in zip(["a b c d", "c a b", "b q a"], held_out, strict=True):
        words = ["<s>", *(word if word in slow.words else "<unk>" for word in text.split()), "</s>"]
        found = sum(slow.log10(tuple(words[max(0, i - 2) : i]), words[i]) for i in range(1, len(words)))
        assert found == pytest.approx(value, abs=5e-6), text


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("from_unknown", [False, True])
def test_words_with_probabilities(order, from_unknown):
    model, tokenizer = fitted(order)
    before = slow_model(model, tokenizer)
    unknown = 10 ** before.log10((), "<unk>")
    larger, own = model.extend(tokenizer, {"x": unknown / 4, "y": unknown / 8}, from_unknown)
    after = slow_model(larger, own)
    assert 10 ** after.log10((), "x") == pytest.approx(unknown / 4, rel=1e-6)
    assert 10 ** after.log10((), "y") == pytest.approx(unknown / 8, rel=1e-6)
    scale = 1 if from_unknown else 1 - unknown * 3 / 8
    for word in before.words:
        expected = 10 ** before.log10((), word) * scale
        if from_unknown and word == "<unk>":
            expected = unknown * 5 / 8
        assert 10 ** after.log10((), word) == pytest.approx(expected, rel=1e-6)
    longer = {gram: p for gram, p in before.probs.items() if len(gram) > 1}
    assert {gram: p for gram, p in after.probs.items() if len(gram) > 1} == longer
    assert_sums(larger, own, ["a", "b", "x", "<unk>"], min(order, 3))


def test_a_word_without_a_probability_has_the_least_one():
    model, tokenizer = fitted(2)
    larger, own = model.extend(tokenizer, {"x": None})
    slow = slow_model(model, tokenizer)
    least = min(10 ** slow.log10((), word) for word in "abcd")
    assert 10 ** slow_model(larger, own).log10((), "x") == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("order", ORDERS)
def test_words_like_another(order):
    """P of a text with new words: that of the text with the word they are like, over 3 for each of the three words."""
    model, tokenizer = fitted(order)
    larger, own = model.extend(tokenizer, {"x": "b", "y": "b", "z": "<unk>"})
    before, after = slow_model(model, tokenizer), slow_model(larger, own)
    old = {"x": "b", "y": "b", "z": "<unk>"}
    for *context, word in itertools.product(["a", "b", "x", "y", "z"], repeat=min(order, 3)):
        plain = tuple(old.get(one, one) for one in context), old.get(word, word)
        share = {"b": 3, "x": 3, "y": 3, "z": 2, "<unk>": 2}.get(word, 1)
        expected = before.log10(*plain) - np.log10(share)
        assert after.log10(tuple(context), word) == pytest.approx(expected, abs=1e-6)
    assert_sums(larger, own, ["a", "b", "x"], min(order, 3))
    sizes = [sum(len(gram) == n for gram in after.probs) for n in range(1, order + 1)]
    expected = [0] * order
    for gram in before.probs:
        expected[len(gram) - 1] += np.prod([{"b": 3, "<unk>": 2}.get(word, 1) for word in gram])
    assert sizes == larger.config.table_sizes == expected


def test_both_kinds_of_words_together():
    model, tokenizer = fitted(3)
    larger, own = model.extend(tokenizer, {"x": "b", "y": 0.2, "z": 0.1})
    slow = slow_model(larger, own)
    assert 10 ** slow.log10((), "y") == pytest.approx(0.2)
    assert slow.log10((), "x") == pytest.approx(slow.log10((), "b"))
    assert_sums(larger, own, ["a", "b", "x", "y"], 2)


def test_an_arpa_file_without_an_unknown_word(tmp_path):
    """Its <unk> has p = 0, and gets the probability of the words that go."""
    text = SMALL.replace("\t<unk>", "\tfoo") if "<unk>" in SMALL else SMALL
    (tmp_path / "lm.arpa").write_text(text, encoding="utf-8")
    model, tokenizer = NGramForCausalLM.from_arpa(tmp_path / "lm.arpa")
    words = sorted(word for word in tokenizer.get_vocab() if not word.startswith("<"))  # Senjō, with p = 0, is first
    with pytest.raises(ValueError, match="'x' cannot be like '<unk>', to which the model gives the probability 0"):
        model.extend(tokenizer, {"x": "<unk>"})
    smaller, own = model.cut(tokenizer, words[:-1])
    assert smaller.tables().log10_probs[0][own.unk_token_id] > -np.inf
    smaller.save_arpa(tmp_path / "again.arpa", own)
    again, its = NGramForCausalLM.from_arpa(tmp_path / "again.arpa")
    assert its.get_vocab().keys() == own.get_vocab().keys()
    assert again.config.table_sizes == smaller.config.table_sizes


def test_options_of_the_tokenizer_stay():
    texts = ["A dog, a cat.", "A cat!"]
    tokenizer = WordTokenizer.train(texts, lower_case=True, split_punctuation=True)
    model = NGramForCausalLM.fit(texts, tokenizer, 2, "add_alpha")
    for changed, own in (model.cut(tokenizer, ["a", "cat"]), model.extend(tokenizer, {"cow": "dog"})):
        assert (own.lower_case, own.split_punctuation) == (True, True)
        assert changed.config.vocab_size == len(own)
    classes = WordTokenizer.train(["a 12", "the dog 12"], unknown_words="classes", min_count=2)
    model = NGramForCausalLM.fit(["a 12", "the dog 13"], classes, 2, "add_alpha")
    assert model.cut(classes, ["12"])[1].tokenize("13 12 a") == ["<unk:number>", "12", "<unk>"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, t: m.cut(t, ["A", "B"]), "none of the 2 words of the vocabulary is a word of the model"),
        (lambda m, t: m.cut(t, "a b"), "give a list of words"),
        (lambda m, t: m.cut(WordTokenizer.train(["a"]), ["a"]), "the tokenizer.s bos_token_id is"),
        (lambda m, t: m.extend(t, {}), "`words` is empty"),
        (lambda m, t: m.extend(t, {"a": 0.1}), "the word 'a' is in the model already"),
        (lambda m, t: m.extend(t, {"x y": 0.1}), "holds white space"),
        (lambda m, t: m.extend(t, {"x": "none"}), "'x' cannot be like 'none': this is no word of the model"),
        (lambda m, t: m.extend(t, {"x": "</s>"}), "cannot be like '</s>'"),
        (lambda m, t: m.extend(t, {"x": "y", "y": "a"}), "cannot be like 'y'"),
        (lambda m, t: m.extend(t, {"x": 1.0}), "must be above 0 and below 1"),
        (lambda m, t: m.extend(t, {"x": float("nan")}), "must be above 0 and below 1"),
        (lambda m, t: m.extend(t, {"x": 0.6, "y": 0.4}), "take a probability of 1, but all words have 1"),
        (lambda m, t: m.extend(t, {"x": 0.5}, True), "but <unk> has"),
    ],
)
def test_what_is_refused(call, message):
    model, tokenizer = fitted(2)
    with pytest.raises(ValueError, match=r".*" + message.replace("(", r"\(")):
        call(model, tokenizer)


def test_models_that_cannot_be_changed(tmp_path):
    tokenizer = WordTokenizer.train(TEXTS)
    fit = NGramForCausalLM.fit
    one = fit(TEXTS, tokenizer, 2, "add_alpha")
    models = {
        "has n-grams of classes": fit(TEXTS, tokenizer, 2, "add_alpha", classes=2),
        "interpolates several models": NGramForCausalLM.interpolate(
            [one, fit(TEXTS, tokenizer, 1, "add_alpha")], tokenizer, TEXTS
        ),
        "stupid back-off": fit(TEXTS, tokenizer, 2, "stupid_backoff"),
        "is quantised": one.quantise(8),
    }
    (tmp_path / "lm.bin").write_bytes(probing_file(grams_of()))
    models["hashes of its n-grams"] = NGramForCausalLM.from_kenlm(tmp_path / "lm.bin")[0]
    for message, model in models.items():
        for call in (lambda m: m.cut(tokenizer, ["a"]), lambda m: m.extend(tokenizer, {"x": "a"})):
            with pytest.raises(ValueError, match=message):
                call(model)
    spelled = WordTokenizer.train(TEXTS, unknown_words="spelled")
    with pytest.raises(ValueError, match="spells unknown words"):
        fit(TEXTS, spelled, 2, "add_alpha").cut(spelled, ["a"])


def test_a_list_of_many_new_words():
    """It is longer than the name of a file may be."""
    many = {f"word{n}": "the" for n in range(2000)}
    assert read_new_words(",".join(f"{word}:{like}" for word, like in many.items())) == many


def test_vocabularies_and_new_words_from_files(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("a\tAH0\n\nb 17\na EY1\n", encoding="utf-8")
    assert read_vocabulary(path) == ["a", "b"]
    path.write_text(" \n", encoding="utf-8")
    with pytest.raises(ValueError, match="has no words"):
        read_vocabulary(path)
    path.write_text("12:30 1e-3\nnew\nx 1984\n\n", encoding="utf-8")
    assert read_new_words(str(path)) == {"12:30": 1e-3, "new": None, "x": "1984"}
    path.write_text("x a b\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 1: write a word"):
        read_new_words(str(path))
    for source, message in (
        ("x:a,x:b", "there twice"),
        (":a", "write a word"),
        ("x:", "write a word"),
        ("", "no words"),
    ):
        with pytest.raises(ValueError, match=message):
            read_new_words(source)


def test_memory_is_at_most_four_times_the_model():
    """With the result, which is as large as the model."""
    rng, words = np.random.default_rng(0), [f"w{i}" for i in range(500)]
    texts = [" ".join(rng.choice(words, 40)) for _ in range(1500)]
    model, tokenizer = fitted(3, texts=texts)
    size = sum(buffer.nbytes for buffer in model.buffers())
    for call in (
        lambda: model.cut(tokenizer, words[:-1]),
        lambda: model.extend(tokenizer, {"x": 1e-5}),
        lambda: model.extend(tokenizer, {"x": "w1"}),
    ):
        with memory_taken() as memory:
            changed, _ = call()
        assert abs(sum(buffer.nbytes for buffer in changed.buffers()) / size - 1) < 0.05
        assert memory.python < 4 * size


def test_quantised_files_of_kenlm_sum_to_one_afterwards(tmp_path):
    """Their contexts do not; a word like another one changes no sum."""
    model, tokenizer = fitted(3, "witten_bell")
    model.save_kenlm(tmp_path / "lm.bin", tokenizer, kenlm_type="trie", quantise_probs=2)
    quantised, own = NGramForCausalLM.from_kenlm(tmp_path / "lm.bin")
    before = slow_model(quantised, own)
    wrong = [context for context in before.contexts() if abs(before.sum_after(context) - 1) > 0.01]
    assert wrong
    for changed, words in (quantised.cut(own, ["a", "b", "c"]), quantised.extend(own, {"x": 0.01})):
        after = slow_model(changed, words)
        sums = [after.sum_after(context) for context in after.contexts()]
        assert sums == pytest.approx([1] * len(sums), abs=2e-6)
    like = slow_model(*quantised.extend(own, {"x": "a"}))
    assert [like.sum_after(c) for c in wrong] == pytest.approx([before.sum_after(c) for c in wrong], abs=1e-6)
