# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The three ways of splitting at white space give the same words, over all of Unicode."""

import sys
from unicodedata import category

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import WhitespaceSplit

from hf_lecture_models.tokenization import splitting
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.corpus import encode_corpus
from hf_lecture_models.tokenization.word import WordTokenizer

# White space of Rust, of Python, of Arrow, all control and format characters; then pieces of words.
SPACES = "".join(chr(code) for code in range(0xD800) if category(chr(code)) in ("Cc", "Cf", "Zs", "Zl", "Zp"))
LETTERS = "ab\0\x07é\u0301\u200d語👩\u05d0\U0010ffff<s>"
TEXTS = st.lists(st.text(st.sampled_from(SPACES + LETTERS)) | st.text(), max_size=6)


def rust_words(text):
    return [word for word, _ in WhitespaceSplit().pre_tokenize_str(text)]


def decoded(coded):
    words = iter(coded.codes)
    return [[coded.words[next(words)] for _ in range(length)] for length in coded.lengths]


def test_every_code_point_splits_as_in_rust():
    text = "a".join(chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)
    words = rust_words(text)
    assert len(words) == 26  # there are 25 characters of White_Space
    assert splitting.split_words(text) == words
    assert decoded(splitting._index_with_arrow([text])) == [words]
    # Without U+001C to U+001F, which are spaces for Python only, str.split does the work.
    separators = "\x1ca\x1da\x1ea\x1fa"
    assert splitting.split_words(text.replace(separators, "")) == [word.replace(separators, "") for word in words]


@given(TEXTS)
def test_both_paths_give_the_words_of_rust(texts):
    expected = [rust_words(text) for text in texts]
    fast, plain = splitting._index_with_arrow(texts), splitting.index_words(texts)
    for coded in (fast, plain):
        assert decoded(coded) == expected
        assert coded.codes.dtype == np.int32
        assert coded.lengths.dtype == np.int64
    assert fast.words == plain.words
    assert [splitting.split_words(text) for text in texts] == expected


def test_long_texts_go_through_arrow_and_small_ones_do_not(monkeypatch):
    def code(texts):
        raise ZeroDivisionError

    monkeypatch.setattr(splitting, "_index_with_arrow", code)
    assert splitting.index_words(["short"]).words == ["short"]
    with pytest.raises(ZeroDivisionError):
        splitting.index_words(["long " * 100_000])
    monkeypatch.setattr(splitting, "arrow", lambda: None)
    assert splitting.index_words(["long " * 100_000]).words == ["long"]


@pytest.mark.parametrize("text", ["a \ud800", "\udfff"])
def test_lone_surrogates_are_refused_on_both_paths(text, monkeypatch):
    monkeypatch.setattr(splitting, "ARROW_CHARACTERS", 0)
    with pytest.raises(ValueError, match=r"lone surrogate U\+D[8F]"):
        splitting.index_words(["fine", text])
    monkeypatch.setattr(splitting, "arrow", lambda: None)
    with pytest.raises(ValueError, match=r"lone surrogate U\+D[8F]"):
        splitting.index_words(["fine", text])


def test_chunks_hold_all_texts_in_order_and_read_them_one_by_one():
    taken = []

    def stream():
        for number in range(10):
            taken.append(number)
            yield "x" * 9

    chunks = splitting.chunk_texts(stream(), characters=25)
    assert next(chunks) == ["x" * 9] * 3
    assert taken == [0, 1, 2]
    assert [len(chunk) for chunk in chunks] == [3, 3, 1]


def test_texts_that_are_split_once_are_those_texts_to_all_readers(monkeypatch):
    lines = ["a cat", "", "a dog"]
    split, calls = splitting.SplitTexts(iter(lines)), []
    index_words = splitting.index_words
    monkeypatch.setattr(splitting, "index_words", lambda texts: calls.append(texts) or index_words(texts))
    tokenizer = WordTokenizer.train(split, progress=False)
    assert encode_corpus(tokenizer, split).ids.tolist() == [1, 2, 1, 3]
    assert calls == [lines]
    assert (list(split), len(split)) == (lines, 3)
    assert encode_corpus(CharTokenizer.train(split, progress=False), split).lengths.tolist() == [5, 0, 5]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a text", "not a single str"),
        (b"bytes", "not a bytes"),
        (7, "not a int"),
        (None, "not a NoneType"),
        (["fine", 3], r"text 1 \(from 0\) is a int"),
        (["fine", b"x"], "is a bytes"),
        ([{"text": "x"}], "is a dict"),
    ],
)
def test_what_is_no_iterable_of_str_is_refused(texts, message):
    for read in (lambda texts: list(splitting.chunk_texts(texts)), splitting.SplitTexts):
        with pytest.raises(TypeError, match=message):
            read(texts)


def test_the_progress_bar_is_silent_away_from_a_terminal(capsys):
    list(splitting.chunk_texts(["a"] * 3, progress=True, desc="counting"))
    assert capsys.readouterr() == ("", "")
