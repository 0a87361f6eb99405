# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`NGramForCausalLM.fit(counts=...)`: the tables of `fit` from texts, and what cannot be fitted from counts."""

import warnings

import numpy as np
import pytest

from hf_lecture_models import BpeTokenizer, CharTokenizer, NGramForCausalLM, WordTokenizer
from hf_lecture_models.models.ngram.checks_ngram import SMOOTHINGS
from hf_lecture_models.models.ngram.count_files.counting_texts import count_texts
from hf_lecture_models.models.ngram.count_files.fitting_counts import NEED_LOW_COUNTS
from hf_lecture_models.models.ngram.count_files.reading_counts import read_counts
from tests.models.ngram.count_files.slow_counts import lines_of, random_texts, slow_counts

pytestmark = pytest.mark.filterwarnings("ignore:.*too few, or artificial text")
TEXTS, HELD_OUT = random_texts(150), random_texts(30, seed=9)


def assert_equal(fitted, expected):
    """Both models have the same configuration, and the same tables bit for bit."""
    assert fitted.config.to_dict() == expected.config.to_dict()
    ours, theirs = fitted.tables(), expected.tables()
    for name in ("keys", "log10_probs", "log10_backoffs"):
        for one, other in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            assert (one.dtype, one.tobytes()) == (other.dtype, other.tobytes())


def both(counts, tokenizer, texts=TEXTS, **options):
    """Return the model of counts, and that of the texts."""
    options |= {"held_out": HELD_OUT if options.get("smoothing") == "jelinek_mercer" else None, "progress": False}
    fitted = NGramForCausalLM.fit(counts=counts, tokenizer=tokenizer, **options)
    assert fitted.own_tokenizer is tokenizer
    return fitted, NGramForCausalLM.fit(texts, tokenizer, **options)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("order", [1, 2, 4])
def test_the_model_is_that_of_the_texts(smoothing, order):
    counts = count_texts(TEXTS, 4, progress=False)
    for min_count in (1, 5):  # with 5, many words are <unk>
        tokenizer = WordTokenizer.train(TEXTS, min_count=min_count, progress=False)
        for prune in (None, [0, 0, 1, 2][:order]):
            if smoothing == "pitman_yor" and (prune or min_count == 5):
                continue
            assert_equal(*both(counts, tokenizer, order=order, smoothing=smoothing, prune=prune))


@pytest.mark.parametrize(
    "tokenizer",
    [
        WordTokenizer.train(TEXTS, min_count=5, unknown_words="classes", progress=False),
        WordTokenizer.train(TEXTS, min_count=5, lower_case=True, progress=False),
        WordTokenizer.train(TEXTS, progress=False, bos_token="[begin]", eos_token="[end]"),
        WordTokenizer.train(TEXTS, progress=False, bos_token="</s>"),
    ],
    ids=["classes", "lower case", "other marks", "one mark"],
)
def test_words_are_the_tokens_that_the_tokenizer_makes_of_them(tokenizer):
    assert_equal(*both(count_texts(TEXTS, 3, progress=False), tokenizer, order=3, smoothing="kneser_ney"))


@pytest.mark.parametrize(
    "tokenizer",
    [
        CharTokenizer.train(TEXTS, progress=False),
        BpeTokenizer.train(TEXTS, vocab_size=300, progress=False),
        WordTokenizer.train(TEXTS, min_count=5, lower_case=True, split_punctuation=True, progress=False),
    ],
    ids=["characters", "BPE", "split punctuation"],
)
def test_counts_of_tokens_are_fitted_as_they_are(tokenizer):
    counts = count_texts(TEXTS, 3, tokenizer, progress=False)
    assert_equal(*both(counts, tokenizer, order=3, smoothing="modified_kneser_ney"))
    with pytest.raises(ValueError, match=r"is no token of the tokenizer, which splits words: count its tokens"):
        both(count_texts(["zebras, and"], 3, progress=False), tokenizer, order=3)


def test_files_are_read_and_bring_their_own_tokenizer(tmp_path):
    lines = lines_of(slow_counts([text.split() for text in TEXTS], 3))
    (tmp_path / "one").write_text("\n".join(lines[::2]), encoding="utf-8")
    (tmp_path / "two").write_text("\n".join(lines[1::2]), encoding="utf-8")
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    expected = NGramForCausalLM.fit(TEXTS, tokenizer, order=3, progress=False)
    fitted = NGramForCausalLM.fit(counts=[tmp_path / "one", tmp_path / "two"], order=3, progress=False)
    assert_equal(fitted, expected)
    assert fitted.own_tokenizer.get_vocab() == tokenizer.get_vocab()


def test_marks_without_a_count_of_their_own(tmp_path):
    """`<s>` is never predicted, and some programs do not count it."""
    lines = lines_of(slow_counts([text.split() for text in TEXTS], 3))
    some = [line for line in lines if line.split("\t")[0] not in ("<s>", "</s>")]
    assert len(some) == len(lines) - 2
    (tmp_path / "a").write_text("\n".join(some), encoding="utf-8")
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    assert_equal(*both(read_counts(tmp_path / "a", progress=False), tokenizer, order=3))


def fit_lines(tmp_path, lines, order=3, **options):
    (tmp_path / "a.counts").write_text("\n".join(lines), encoding="utf-8")
    return NGramForCausalLM.fit(counts=tmp_path / "a.counts", order=order, progress=False, **options)


ALL = {" ".join(gram): count for gram, count in slow_counts([["a", "b"], ["a", "c"], ["b", "a"]], 3).items()}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({gram: 0 for gram in ALL if gram.count(" ") < 2}, "no 1-grams, but n-grams of up to 3 words; every order"),
        ({gram: 0 for gram in ALL if gram.startswith("<s>")}, "no n-gram has <s>, .* where texts begin"),
        ({gram: 0 for gram in ALL if gram.endswith("</s>")}, "no n-gram has </s>, .* where texts end"),
        ({"b </s>": 0}, "the n-gram 'a b </s>' is counted, but its last 2 words are not"),
        ({"<s> a": 0}, "the n-gram '<s> a b' is counted, but its first 2 words are not"),
        ({"c": 0}, "the n-gram 'c </s>' is counted, but its first word is not"),
        ({"a b": 5}, "'a' occurs 3 times, but the 2-grams with a word after it occur 7 times"),
        ({"b": 1}, "'b' occurs 1 times, but the 2-grams with a word after it occur 2 times"),
        ({"</s> <s>": 2}, "'</s> <s>' has the mark of a text's bound inside"),
    ],
)
def test_counts_of_no_texts_are_refused(tmp_path, changes, message):
    lines = [f"{gram}\t{count}" for gram, count in (ALL | changes).items() if count]
    with pytest.raises(ValueError, match=message):
        fit_lines(tmp_path, lines, smoothing="add_alpha")


def test_counts_of_the_whole_are_taken_by_the_same_call(tmp_path):
    """Without a change, nothing is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_lines(tmp_path, [f"{gram}\t{count}" for gram, count in ALL.items()], smoothing="add_alpha")


def cut_lines(least=3):
    """Lines of counts without those below `least`."""
    slow = slow_counts([text.split() for text in TEXTS], 3)
    return slow, lines_of({gram: count for gram, count in slow.items() if count >= least})


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_without_low_counts_smoothings_that_are_set_by_them_are_refused(tmp_path, smoothing):
    slow, lines = cut_lines()
    options = {"smoothing": smoothing, "held_out": HELD_OUT}
    if smoothing in NEED_LOW_COUNTS:
        rule = "n-grams are missing from the counts: .* lowest count of each order is 3, 3, 3. smoothing='.*' is set by"
        with pytest.raises(ValueError, match=rule):
            fit_lines(tmp_path, lines, **options)
        return
    with pytest.warns(UserWarning, match="n-grams are missing from the counts"):
        model = fit_lines(tmp_path, lines, **options)
    if smoothing == "maximum_likelihood":
        counted = sum(c for gram, c in slow.items() if len(gram) == 2 and gram[0] == "w0" and c >= 3)
        ids = model.own_tokenizer("w0 w1", add_special_tokens=False).input_ids
        keys, probs = model.tables().keys[0], model.tables().log10_probs[1]
        found = probs[np.searchsorted(keys, ids[0] * model.config.vocab_size + ids[1])]
        assert 10 ** float(found) == pytest.approx(slow["w0", "w1"] / counted, rel=1e-6)


def test_other_arguments_are_refused_beside_counts(tmp_path):
    counts = count_texts(TEXTS, 2, progress=False)
    for name, value in {"texts": TEXTS, "classes": 3, "memory": "2GB"}.items():
        with pytest.raises(ValueError, match=f"`{name}` is given beside `counts`"):
            NGramForCausalLM.fit(counts=counts, order=2, **{name: value})
    with pytest.raises(ValueError, match="`order` is 5, but the longest n-grams of the counts have 2 words"):
        NGramForCausalLM.fit(counts=counts, progress=False)
    with pytest.raises(ValueError, match="needs held_out"):
        NGramForCausalLM.fit(counts=counts, order=2, smoothing="jelinek_mercer", progress=False)
    with pytest.raises(ValueError, match="`texts` is missing"):
        NGramForCausalLM.fit(tokenizer=counts.tokenizer())
    with pytest.raises(ValueError, match="`tokenizer` is missing"):
        NGramForCausalLM.fit(TEXTS)


def test_words_that_are_special_are_refused():
    counts = count_texts(["a <pad> b"], 2, progress=False)
    with pytest.raises(ValueError, match="the word '<pad>' of the counts is a special token"):
        NGramForCausalLM.fit(counts=counts, order=2, progress=False)
    tokenizer = CharTokenizer.train(["ab"], pad_token="b", progress=False)
    with pytest.raises(ValueError, match="the word 'b' of the counts is a special token"):
        NGramForCausalLM.fit(counts=count_texts(["a b"], 2, progress=False), tokenizer=tokenizer, order=2)
