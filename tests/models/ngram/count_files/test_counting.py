# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Counts of texts, their sums, and the files that are written from them."""

import gzip
import lzma

import numpy as np
import pytest

from hf_lecture_models import CharTokenizer, WordTokenizer
from hf_lecture_models.models.ngram.count_files import word_counts, writing_counts
from hf_lecture_models.models.ngram.count_files.counting_texts import count_texts
from hf_lecture_models.models.ngram.count_files.reading_counts import read_counts
from hf_lecture_models.models.ngram.count_files.writing_counts import write_counts
from tests.models.ngram.count_files.slow_counts import as_dictionary, lines_of, random_texts, slow_counts


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_counts_are_those_of_a_dictionary(order):
    texts = random_texts(200)
    counts = count_texts(texts, order, progress=False)
    slow = slow_counts([text.split() for text in texts], order)
    assert as_dictionary(counts) == slow
    assert counts.words == sorted(counts.words)
    assert counts.order == order
    for gram in (("<s>",), ("w0", "w1")[:order], ("w0",) * order, ("nowhere",), ("w0",) * (order + 1)):
        assert counts.count(" ".join(gram)) == slow[gram]
    assert as_dictionary(counts.up_to(1)) == {gram: count for gram, count in slow.items() if len(gram) == 1}


def test_texts_come_from_files_and_may_have_marks(tmp_path):
    texts = ["the cat", "", "a dog ran"]
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress("\n".join(texts).encode()))
    (tmp_path / "marked.txt").write_text("".join(f"<s> {text} </s>\n" for text in texts), encoding="utf-8")
    expected = slow_counts([text.split() for text in texts], 3)
    for path in ("a.txt.gz", "marked.txt"):
        assert as_dictionary(count_texts(tmp_path / path, progress=False)) == expected
    assert expected["<s>", "</s>"] == 1  # of the blank text


def test_orders_longer_than_every_text_have_no_ngrams():
    assert count_texts(["a b"], 6, progress=False).sizes == [4, 3, 2, 1, 0, 0]


def test_tokens_are_counted_as_words():
    texts = ["The Cat, the cat", "a cat"]
    tokenizer = WordTokenizer.train(texts[:1], lower_case=True, split_punctuation=True, progress=False)
    expected = slow_counts([["the", "cat", ",", "the", "cat"], ["<unk>", "cat"]], 2)
    assert as_dictionary(count_texts(texts, 2, tokenizer, progress=False)) == expected
    counts = count_texts(texts, 3, CharTokenizer.train(texts, progress=False), progress=False)
    assert as_dictionary(counts) == slow_counts(map(list, texts), 3)
    with pytest.raises(ValueError, match="the token ' ' is empty or holds white space, which a count file cannot hold"):
        write_counts(counts, "/dev/null/x")


@pytest.mark.parametrize(
    ("texts", "order", "message"),
    [
        ([], 3, "the corpus is empty"),
        (["a b"], 0, "order is 0"),
        (["a </s> b"], 2, "</s> is inside a text"),
        (["<s> a <s> b </s>"], 2, "has <s> inside"),
    ],
)
def test_what_cannot_be_counted_is_refused(texts, order, message):
    with pytest.raises(ValueError, match=message):
        count_texts(texts, order, progress=False)


def test_sums_are_the_counts_of_both_corpora():
    texts = random_texts(300, seed=1)
    for cut in (1, 100, 299):
        first, second = count_texts(texts[:cut], 4, progress=False), count_texts(texts[cut:], 4, progress=False)
        together = first + second
        assert as_dictionary(together) == slow_counts([text.split() for text in texts], 4)
        whole = count_texts(texts, 4, progress=False)
        assert together.words == whole.words
        for ours, theirs in zip(together.ngrams + together.occurrences, whole.ngrams + whole.occurrences, strict=True):
            assert ours.dtype == theirs.dtype
            assert np.array_equal(ours, theirs)
    with pytest.raises(ValueError, match="counts of order 2 and of order 4 cannot be added"):
        first.up_to(2) + second


def test_rows_of_many_words_take_several_integers():
    """70,000 words take 17 bits each: three of them fit into one integer."""
    rows = np.random.default_rng(0).integers(0, 70_000, (500, 7))
    rows = np.concatenate([rows, rows[:100]])
    assert len(word_counts.packed(rows, 70_000)) == 3
    added, counts = word_counts.add_rows(rows, np.arange(600), 70_000)
    expected = {}
    for row, count in zip(map(tuple, rows.tolist()), range(600), strict=True):
        expected[row] = expected.get(row, 0) + count
    assert dict(zip(map(tuple, added.tolist()), counts.tolist(), strict=True)) == expected
    assert [*map(tuple, added.tolist())] == sorted(expected)
    again, _ = word_counts.add_rows(added, counts, 70_000)
    assert again is added  # sorted already


def test_counts_beyond_float64_are_refused():
    with pytest.raises(ValueError, match="more than 9007199254740992 times"):
        word_counts.from_rows(["a"], [np.array([[0], [0]])], [np.array([2**53, 1])])


@pytest.mark.parametrize("name", ["a.counts", "a.counts.gz", "a.counts.xz"])
@pytest.mark.parametrize("lines", [1, 50, 1 << 16])
def test_written_files_have_the_lines_of_srilm(tmp_path, monkeypatch, name, lines):
    monkeypatch.setattr(writing_counts, "LINES_PER_WRITE", lines)
    texts = random_texts(60)
    write_counts(count_texts(texts, 3, progress=False), tmp_path / name)
    data = (tmp_path / name).read_bytes()
    data = {"gz": gzip.decompress, "xz": lzma.decompress}.get(name.rpartition(".")[2], bytes)(data)
    assert data.decode().splitlines() == lines_of(slow_counts([text.split() for text in texts], 3))
    assert as_dictionary(read_counts(tmp_path / name, progress=False)) == slow_counts([t.split() for t in texts], 3)


def test_a_words_file_keeps_the_one_before_if_it_cannot_be_written(tmp_path):
    (tmp_path / "a.counts").write_text("before")
    counts = word_counts.from_rows(["a b"], [np.array([[0]])], [np.array([1])])
    with pytest.raises(ValueError, match="'a b' is empty or holds white space"):
        write_counts(counts, tmp_path / "a.counts")
    assert (tmp_path / "a.counts").read_text() == "before"


def test_the_tokenizer_of_counts_is_that_of_the_texts():
    texts = random_texts(300, seed=2)
    ours = count_texts(texts, 2, progress=False).tokenizer()
    assert ours.get_vocab() == WordTokenizer.train(texts, progress=False).get_vocab()
