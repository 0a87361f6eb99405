# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Estimation: hand arithmetic, an independent implementation, sums to one, and what bad input gets."""

from __future__ import annotations

import inspect
import math
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hf_lecture_models.models.ngram.checks_ngram import SMOOTHINGS
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import sort_keys
from hf_lecture_models.models.ngram.fitting_ngram import fit_ids
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.splitting import SplitTexts
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.models.ngram.reference_ngram import ReferenceNGram

# Stupid back-off gives none; Pitman-Yor is sampled, and has a test file of its own.
DISTRIBUTIONS = tuple(name for name in SMOOTHINGS if name not in ("stupid_backoff", "pitman_yor"))

TEXTS = ["a b", "a c"]  # <s> a b </s>, <s> a c </s>


@pytest.fixture(autouse=True)
def _allow_fallback_discounts():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*too few, or artificial text")
        yield


def next_probs(model, context):
    """(vocab,) probabilities after a context of ids; an unattended `<s>` stands for no context at all."""
    if not context:
        logits = model(torch.tensor([[0]]), attention_mask=torch.tensor([[0]])).logits
    else:
        logits = model(torch.tensor([context]), logits_to_keep=1).logits
    return logits[0, -1].double().exp()


def after(model, tokenizer, context, word):
    return next_probs(model, tokenizer.convert_tokens_to_ids(context.split()))[
        tokenizer.convert_tokens_to_ids(word)
    ].item()


def fit(smoothing, order=2, texts=TEXTS, **options):
    tokenizer = WordTokenizer.train(TEXTS, progress=False)  # 5 events: <unk> a b c </s>
    return NGramForCausalLM.fit(
        texts, tokenizer, order=order, smoothing=smoothing, progress=False, **options
    ), tokenizer


# Counts: a 2, b 1, c 1, </s> 2, together 6; <s>a 2, ab 1, ac 1, b</s> 1, c</s> 1.


# Absolute discounting. Bigrams: n_1 = 4, n_2 = 1: D = 4/6. Words: n_1 = 2, n_2 = 2: D = 2/6.
P_B_DISCOUNTED = (1 - 1 / 3) / 6 + (4 * (1 / 3) / 6) / 5
# Kneser-Ney. Different words before: a 1 (<s>), b 1, c 1, </s> 2 (b, c), together 5: n_1 = 3, n_2 = 1: D = 3/5.
P_B_KNESER_NEY = (1 - 3 / 5) / 5 + (4 * (3 / 5) / 5) / 5
# Modified: no bigram occurs three times, so the discounts are 0.5, 1, 1.5.
P_B_MODIFIED = (1 - 0.5) / 5 + ((3 * 0.5 + 1) / 5) / 5
HALF = {"alpha": 0.5}

# Smoothing, its options, and P of a word after a context.
BY_HAND = [
    ("maximum_likelihood", {}, "<s>", "a", 2 / 2),
    ("maximum_likelihood", {}, "a", "b", 1 / 2),
    ("maximum_likelihood", {}, "a", "a", 0),
    ("maximum_likelihood", {}, "<unk>", "a", 2 / 6),  # unseen context: its longest seen suffix, none
    ("add_alpha", {}, "a", "b", (1 + 1) / (5 + 2)),
    ("add_alpha", {}, "a", "a", (0 + 1) / (5 + 2)),
    ("add_alpha", {}, "<unk>", "a", 1 / 5),
    ("add_alpha", HALF, "a", "b", (1 + 0.5) / (2 + 0.5 * 5)),
    ("add_alpha", {**HALF, "order": 3}, "<s> a", "b", (1 + 0.5) / (2 + 0.5 * 5)),
    ("add_alpha", {**HALF, "order": 3}, "<s>", "a", (2 + 0.5) / (2 + 0.5 * 5)),
    ("add_alpha", {**HALF, "order": 3}, "b a", "b", 1 / 5),  # "b a" is unseen, though "a b" is not
    ("absolute_discounting", {}, "<unk>", "b", P_B_DISCOUNTED),
    ("absolute_discounting", {}, "a", "b", (1 - 2 / 3) / 2 + (2 * (2 / 3) / 2) * P_B_DISCOUNTED),  # 73/270
    ("kneser_ney", {}, "<unk>", "b", P_B_KNESER_NEY),  # 0.176
    ("kneser_ney", {}, "a", "b", (1 - 2 / 3) / 2 + (2 * (2 / 3) / 2) * P_B_KNESER_NEY),  # 0.284
    ("modified_kneser_ney", {}, "<unk>", "b", P_B_MODIFIED),  # 0.2
    ("modified_kneser_ney", {}, "a", "b", (1 - 0.5) / 2 + (2 * 0.5 / 2) * P_B_MODIFIED),  # 0.35
]


@pytest.mark.parametrize(("smoothing", "options", "context", "word", "expected"), BY_HAND)
def test_probabilities_by_hand(smoothing, options, context, word, expected):
    model, tokenizer = fit(smoothing, **options)
    assert after(model, tokenizer, context, word) == pytest.approx(expected)


def test_estimates_by_hand():
    assert fit("absolute_discounting")[0].config.discounts == [[pytest.approx(1 / 3)], [pytest.approx(2 / 3)]]
    assert fit("kneser_ney")[0].config.discounts == [[pytest.approx(3 / 5)], [pytest.approx(2 / 3)]]
    with pytest.warns(UserWarning, match="2-grams that occur 1, 2, 3, 4 times number 4, 1, 0, 0"):
        fit("modified_kneser_ney")


def test_modified_discounts_by_hand():
    # Once: a b c </s>, twice: d e, three times: f, four times: g. So n = 4, 2, 1, 1 and Y = 4 / (4 + 2 * 2).
    tokenizer = WordTokenizer.train(["a b c d e f g"], progress=False)
    model = NGramForCausalLM.fit(["a b c d d e e f f f g g g g"], tokenizer, order=1, progress=False)
    assert model.config.discounts == [[1 - 2 * 0.5 * 2 / 4, 2 - 3 * 0.5 * 1 / 2, 3 - 4 * 0.5 * 1 / 1]]


def test_jelinek_mercer_by_hand():
    # Training: a 1, </s> 1; 3 events. Held out: p = lambda/2 + (1-lambda)/3 five times, once p = (1-lambda)/3.
    # d/dlambda = 0: 5 (1 - lambda) = 1 (2 + lambda), lambda = 1/2.
    tokenizer = WordTokenizer.train(["a"], progress=False)
    model = NGramForCausalLM.fit(
        ["a"], tokenizer, order=1, smoothing="jelinek_mercer", held_out=["a a a a x"], progress=False
    )
    assert model.config.interpolation_weights == [pytest.approx(1 / 2, abs=1e-3)]
    assert after(model, tokenizer, "<unk>", "a") == pytest.approx(1 / 2 * 1 / 2 + 1 / 2 * 1 / 3, abs=1e-3)


def test_jelinek_mercer_weights_are_the_best():
    rng = np.random.default_rng(1)
    texts = ["".join(rng.choice(["ab", "ac", "b", "ca"], 8)) for _ in range(20)]
    tokenizer, options = ByteTokenizer(), {"order": 3, "smoothing": "jelinek_mercer", "progress": False}
    model = NGramForCausalLM.fit(texts[:10], tokenizer, held_out=texts[10:], **options)
    rows = [[tokenizer.bos_token_id, *text.encode(), tokenizer.eos_token_id] for text in texts[10:]]

    def log_likelihood(weights):
        reference = ReferenceNGram(
            [text.encode() for text in texts[:10]], 3, "jelinek_mercer", set(range(259)) - set(model.config.non_events),
            tokenizer.bos_token_id, tokenizer.eos_token_id, weights=weights,
        )  # fmt: skip
        return sum(math.log(reference.prob(row[t], row[:t])) for row in rows for t in range(1, len(row)))

    weights = model.config.interpolation_weights
    best = log_likelihood(weights)
    for n in range(3):
        for step in (-0.01, 0.01):
            other = [min(max(w + step * (k == n), 1e-4), 0.9999) for k, w in enumerate(weights)]
            assert log_likelihood(other) <= best + 1e-4


BOS, EOS, PAD = 5, 6, 7  # beside words 0 to 4
WORDS = st.lists(st.integers(0, 3), max_size=6)


def config(order, smoothing, **options):
    return NGramConfig(
        vocab_size=8, order=order, smoothing=smoothing, bos_token_id=BOS, eos_token_id=EOS, pad_token_id=PAD, **options
    )


def estimate(texts, order, smoothing, held_out=((0, 1, 2),), **options):
    ids, lengths = np.array([w for t in texts for w in t], np.int64), np.array([len(t) for t in texts])
    other = (np.array([w for t in held_out for w in t]), np.array([len(t) for t in held_out]))
    return fit_ids(ids, lengths, config(order, smoothing, **options), other)


@pytest.mark.parametrize("smoothing", DISTRIBUTIONS)
@settings(max_examples=40)
@given(
    texts=st.lists(WORDS, min_size=1, max_size=8),
    order=st.integers(1, 4),
    context=st.lists(st.integers(0, 4), max_size=4),
    from_start=st.booleans(),
    thresholds=st.sampled_from([None, [0, 1], [0, 0, 1], [0, 1, 2]]),
)
# Good and Turing's line has the slope -1 here, up to rounding.
@example(texts=[[]] * 6 + [[0, 0, 0, 0, 1, 3], [1, 2]], order=1, context=[], from_start=False, thresholds=None)
def test_equals_the_reference_and_sums_to_one(smoothing, texts, order, context, from_start, thresholds):
    order = min(order, max(map(len, texts)) + 2)
    prune = thresholds and thresholds[:order]
    model = estimate(texts, order, smoothing, alpha=0.3, prune=prune)
    reference = ReferenceNGram(
        texts, order, smoothing, {0, 1, 2, 3, 4, EOS}, BOS, EOS, 0.3, model.config.interpolation_weights, prune or (0,)
    )
    row = [BOS] * from_start + context
    for length in range(len(row) + 1):
        probs = next_probs(model, row[:length])
        expected = torch.tensor([reference.prob(w, row[:length]) for w in range(8)], dtype=torch.double)
        torch.testing.assert_close(probs, expected, atol=2e-6, rtol=1e-5)
        assert probs.sum().item() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("smoothing", DISTRIBUTIONS)
def test_every_seen_context_sums_to_one(smoothing):
    rng = np.random.default_rng(0)
    texts = [list(rng.choice(5, size=rng.integers(0, 9), p=[0.5, 0.2, 0.15, 0.1, 0.05])) for _ in range(60)]
    model = estimate(texts, 4, smoothing, held_out=texts[:20])
    reference = ReferenceNGram(
        texts, 4, smoothing, {0, 1, 2, 3, 4, EOS}, BOS, EOS, weights=model.config.interpolation_weights
    )
    contexts = sorted(context for context in reference.followers if context)
    assert {len(context) for context in contexts} == {1, 2, 3}
    for context in contexts:
        probs = next_probs(model, list(context))
        assert probs.sum().item() == pytest.approx(1, abs=1e-5)
        expected = torch.tensor([reference.prob(w, context) for w in range(8)], dtype=torch.double)
        torch.testing.assert_close(probs, expected, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("smoothing", DISTRIBUTIONS)
def test_one_token_that_begins_and_ends_texts(smoothing):
    """As GPT-2's: it is context at the beginning and an event at the end, and has a probability."""
    texts, ends = [[0, 1, 2], [0, 1], [1, 2, 0, 1]], NGramConfig(
        vocab_size=6, order=3, smoothing=smoothing, bos_token_id=5, eos_token_id=5, pad_token_id=5
    )  # fmt: skip
    ids, lengths = np.concatenate(texts), np.array([len(text) for text in texts])
    model = fit_ids(ids, lengths, ends, (ids, lengths))
    weights = model.config.interpolation_weights
    reference = ReferenceNGram(texts, 3, smoothing, set(range(6)), bos=5, eos=5, weights=weights)
    for context in ([5], [5, 0], [5, 0, 1], [1, 2], [4]):
        expected = torch.tensor([reference.prob(w, context) for w in range(6)], dtype=torch.double)
        torch.testing.assert_close(next_probs(model, context), expected, atol=2e-6, rtol=1e-5)
    row = [5, 0, 1, 5]
    scores = model.score(torch.tensor([row]), torch.ones(1, 4, dtype=torch.long))[0]
    expected = [0, *(math.log(reference.prob(row[t], row[:t])) for t in (1, 2, 3))]
    assert scores.tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("are_parts", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("largest", [9, 2**62])
def test_keys_are_sorted_stably_even_where_one_number_cannot_hold_key_and_position(largest, dtype, are_parts):
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 9, size=500)
    keys[keys == 8] = largest
    positions = np.flatnonzero(rng.random(800) < 0.7)[:500].astype(dtype)
    order = np.argsort(keys, kind="stable")
    expected = keys[order], positions[order]
    for found, wanted in zip(sort_keys(keys, positions, are_parts), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype


def test_a_larger_table_has_the_same_numbers_whatever_the_order_of_texts():
    rng = np.random.default_rng(3)
    texts = [list(rng.integers(0, 5, size=rng.integers(0, 30))) for _ in range(3000)]
    one, other = (
        estimate(texts, 3, "modified_kneser_ney").tables(),
        estimate(texts[::-1], 3, "modified_kneser_ney").tables(),
    )
    for name in ("keys", "log10_probs", "log10_backoffs"):
        for a, b in zip(getattr(one, name), getattr(other, name), strict=True):
            np.testing.assert_array_equal(a, b)


def test_fit_from_a_file_an_iterator_and_ids(tmp_path):
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    (tmp_path / "corpus.txt").write_text("a b\n\na c\n")
    options = {"order": 2, "smoothing": "kneser_ney", "progress": False}
    from_list = NGramForCausalLM.fit(["a b", "", "a c"], tokenizer, **options)
    from_file = NGramForCausalLM.fit(tmp_path / "corpus.txt", tokenizer, **options)
    from_iterator = NGramForCausalLM.fit(iter(["a b", "", "a c"]), tokenizer, **options)
    from_split_texts = NGramForCausalLM.fit(SplitTexts(["a b", "", "a c"]), tokenizer, **options)
    for model in (from_file, from_iterator, from_split_texts):
        assert all(torch.equal(a, b) for a, b in zip(from_list.buffers(), model.buffers(), strict=True))
    assert (from_list.config.bos_token_id, from_list.config.eos_token_id) == (
        tokenizer.bos_token_id,
        tokenizer.eos_token_id,
    )
    assert (from_list.config.pad_token_id, from_list.config.unk_token_id) == (
        tokenizer.pad_token_id,
        tokenizer.unk_token_id,
    )
    assert from_list.config.vocab_size == len(tokenizer)


def test_a_configuration_used_again_keeps_nothing():
    ids, lengths = np.array([0, 1, 2, 0]), np.array([3, 1])
    used = config(2, "kneser_ney")
    fit_ids(ids, lengths, used)
    used.smoothing = "maximum_likelihood"
    again = fit_ids(ids, lengths, used)
    fresh = fit_ids(ids, lengths, config(2, "maximum_likelihood"))
    assert again.config.discounts is None
    assert all(torch.equal(a, b) for a, b in zip(again.buffers(), fresh.buffers(), strict=True))


def test_a_plain_fit_reads_these_files_only():
    """Other smoothings, classes, files and out-of-core estimation are entered where they are asked for."""
    tokenizer, entered = WordTokenizer.train(TEXTS, progress=False), set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_name != "<module>":
            entered.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="kneser_ney", progress=False)
    finally:
        sys.setprofile(before)
    folder = Path(inspect.getfile(NGramForCausalLM)).parent
    files = [Path(name).relative_to(folder).as_posix() for name in entered if Path(name).is_relative_to(folder)]
    assert sorted(files) == [
        "checks_ngram.py",
        "configuration_ngram.py",
        "counting_ngram.py",
        "estimation_ngram.py",
        "fitting_ngram.py",
        "modeling_ngram.py",
        "smoothing/interpolated.py",
        "tables_ngram.py",
        "vocabulary_ngram.py",
    ]


BAD_ARGUMENTS = {
    "empty corpus": ({"texts": []}, "the corpus is empty"),
    "order 0": ({"order": 0}, "order is 0; it must be at least 1"),
    "shorter than the order": ({"order": 5}, r"no 5-gram; give longer texts or order=4 at most"),
    "unknown smoothing": ({"smoothing": "good"}, "must be one of 'maximum_likelihood', 'add_alpha'"),
    "no smoothing": ({"smoothing": None}, "to estimate a model it must be one of maximum_likelihood"),
    "alpha 0": ({"smoothing": "add_alpha", "alpha": 0.0}, "alpha is 0.0; it must be a positive number"),
    "alpha NaN": ({"smoothing": "add_alpha", "alpha": math.nan}, "alpha is nan; it must be a positive number"),
    "no held_out": ({"smoothing": "jelinek_mercer"}, "needs held_out"),
    "empty held_out": ({"smoothing": "jelinek_mercer", "held_out": []}, "empty"),
    "prune too long": ({"prune": [0, 1, 1]}, "at most order=2 thresholds"),
    "prune decreasing": ({"order": 3, "prune": [0, 2, 1]}, "do not decrease"),
    "prune negative": ({"prune": [-1, 0]}, "thresholds of 0 or more"),
}


@pytest.mark.parametrize(("options", "message"), BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS.keys())
def test_bad_arguments(options, message):
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    arguments = {"texts": TEXTS, "order": 2, "progress": False} | options
    with pytest.raises(ValueError, match=message):
        NGramForCausalLM.fit(tokenizer=tokenizer, **arguments)


def test_missing_file_is_named():
    with pytest.raises(FileNotFoundError, match=r"no_such_corpus\.txt.*give texts as a list of str"):
        NGramForCausalLM.fit("no_such_corpus.txt", ByteTokenizer(), progress=False)


def test_tokenizer_without_marks():
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    tokenizer.bos_token = None
    with pytest.raises(ValueError, match="no bos_token_id; set its bos_token"):
        NGramForCausalLM.fit(TEXTS, tokenizer, progress=False)


@pytest.mark.parametrize(
    ("ids", "lengths", "message"),
    [([1, 9], [2], "outside the vocabulary"), ([1, BOS], [2], "special token 5"), ([1, 2], [3], "add up to 3")],
)
def test_bad_ids(ids, lengths, message):
    with pytest.raises(ValueError, match=message):
        fit_ids(np.array(ids), np.array(lengths), config(2, "kneser_ney"))
