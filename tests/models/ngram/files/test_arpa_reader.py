# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Reading ARPA files: what they mean, which spellings are accepted, and every fault refused by name."""

from __future__ import annotations

import contextlib
import gzip
import math
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.files.arpa_reader import read_arpa
from hf_lecture_models.models.ngram.files.arpa_writer import write_arpa
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from tests.memory import memory_taken
from tests.models.ngram.arpa_ngram import (
    SMALL,
    assert_same_log10,
    assert_same_tables,
    changed,
    kenlm_model,
    log10_of,
)


def test_a_file_gives_words_and_tables(arpa):
    words, tables = read_arpa(arpa)
    assert words == ["<unk>", "the", "cat", "Senjō", "sat", "<s>", "</s>", "<pad>"]
    assert tables.sizes == [8, 8, 5]
    unigrams = dict(zip(words, tables.log10_probs[0].tolist(), strict=True))
    assert unigrams["the"] == np.float32(-0.6020599)
    assert [word for word in words if unigrams[word] == -math.inf] == ["Senjō", "<s>", "<pad>"]
    assert tables.log10_backoffs[0][words.index("<s>")] == np.float32(-0.30103)
    assert tables.log10_backoffs[0][words.index("sat")] == 0
    v = tables.vocab_size
    unk_the = np.searchsorted(tables.keys[0], 0 * v + words.index("the"))
    assert tables.log10_backoffs[1][unk_the] == -math.inf
    assert tables.log10_probs[2][np.searchsorted(tables.keys[1], unk_the * v + words.index("cat"))] == np.float32(-0.95)


def test_decimals_beside_the_middle_of_two_float32_are_rounded_once():
    from hf_lecture_models.models.ngram.files.arpa_format import ArpaLines
    from hf_lecture_models.models.ngram.files.arpa_reader import _numbers

    lines = ArpaLines.__new__(ArpaLines)
    above, middle, below = (
        b"-1.00000005960464477539062500001",
        b"-1.000000059604644775390625",
        b"-1.0000000596046447753",
    )
    values = _numbers(lines, 1, [above, middle, below], "log-probability")
    assert values.tolist() == [-1.0000001192092896, -1.0, -1.0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("\n", "\r\n", id="CRLF"),
        pytest.param("\t", " ", id="blanks between columns"),
        pytest.param(" ", "  ", id="two blanks"),
        pytest.param("\\data\\", "\ufeff\\data\\", id="byte order mark"),
        pytest.param("\\data\\", "\n# made by hand\n\n\\data\\", id="comment before the data"),
        pytest.param("<unk>", "<UNK>", id="<UNK>"),
        pytest.param("-99", "-inf", id="-inf"),
        pytest.param("-99", "-123456", id="less than -99"),
        pytest.param("\n\n", "\n", id="no blank lines"),
        pytest.param("\n\n", "\n \n\n", id="more blank lines"),
        pytest.param("-0.95\t<unk> the cat", "-0.95\t<unk> the cat\t0", id="a back-off of 0 at the highest order"),
        pytest.param("ngram 3=5", "ngram 3 =    5", id="padded count"),
        pytest.param("\\end\\\n", "\\end\\", id="no last line end"),
    ],
)
def test_other_spellings_mean_the_same(arpa, tmp_path, old, new):
    other = tmp_path / "other.arpa"
    text = SMALL.replace(old, new)
    if old == "\n\n" and new == "\n":
        text = text.replace("5\n\\1", "5\n\n\\1")  # the blank line that ends the counts
    other.write_bytes(text.encode())
    words, tables = read_arpa(arpa)
    words_again, tables_again = read_arpa(other)
    assert words_again == words
    assert_same_tables(tables, tables_again)


def test_order_of_entries_does_not_matter(arpa, tmp_path):
    lines = SMALL.splitlines()
    shuffled = list(lines)
    for title in ("\\2-grams:", "\\3-grams:"):
        start = lines.index(title) + 1
        end = lines.index("", start)
        shuffled[start:end] = random.Random(1).sample(lines[start:end], end - start)
    assert shuffled != lines
    (tmp_path / "shuffled.arpa").write_text("\n".join(shuffled), encoding="utf-8")
    assert_same_tables(read_arpa(arpa)[1], read_arpa(tmp_path / "shuffled.arpa")[1])


def test_gzip_is_known_by_its_content(arpa, tmp_path):
    content, half = SMALL.encode(), len(SMALL) // 2
    two_members = gzip.compress(content[:half]) + gzip.compress(content[half:])
    for name, packed in {"packed.arpa": gzip.compress(content), "plain.gz": content, "two.gz": two_members}.items():
        (tmp_path / name).write_bytes(packed)
        assert_same_tables(read_arpa(arpa)[1], read_arpa(tmp_path / name)[1])


def test_small_blocks_give_the_same(arpa, tmp_path, monkeypatch):
    words, tables = read_arpa(arpa)
    bad = changed(tmp_path, ("-0.125\tcat", "0.125\tcat"))
    for size in (1, 7, 100):
        monkeypatch.setattr("hf_lecture_models.models.ngram.files.arpa_format.BLOCK_BYTES", size)
        monkeypatch.setattr("hf_lecture_models.models.ngram.files.arpa_writer.ROWS_PER_WRITE", size)
        assert_same_tables(tables, read_arpa(arpa)[1])
        write_arpa(tables, words, tmp_path / "again.arpa")
        assert_same_tables(tables, read_arpa(tmp_path / "again.arpa")[1])
        with pytest.raises(ValueError, match=f"line {line_of('-0.125')}:"):
            read_arpa(bad)


def line_of(start: str) -> int:
    return next(number for number, line in enumerate(SMALL.splitlines(), 1) if line.startswith(start))


NGRAM1 = "-0.90309\tsat\n"


FAULTS = {
    "too large a count": ([("ngram 2=8", "ngram 2=9")], 23, "counts 9 2-grams, but the section ends behind 8"),
    "too small a count": ([("ngram 2=8", "ngram 2=7")], 23, "counts 7 2-grams, but here is one more"),
    "count of none": ([("ngram 2=8", "ngram 2=0")], 16, "counts 0 2-grams, but here is one more"),
    "negative count": ([("ngram 2=8", "ngram 2=-8")], 3, "the count of 2-grams is negative: -8"),
    "huge count": ([("ngram 3=5", "ngram 3=99999999999")], 4, "too small \\(\\d+ bytes\\) for 99999999999 3-grams"),
    "count beyond any integer": ([("ngram 3=5", "ngram 3=" + "9" * 5000)], 4, "'ngram N=COUNT'"),
    "count that is none": ([("ngram 3=5", "ngram 3=five")], 4, "'ngram N=COUNT'"),
    "order 0": ([("ngram 1=7", "ngram 0=7")], 2, "of order 0, expected order 1"),
    "no orders": ([("ngram 1=7\nngram 2=8\nngram 3=5\n", "")], 2, "a model has at least order 1"),
    "skipped order": ([("ngram 2=8\n", "")], 3, "of order 3, expected order 2"),
    "NaN": ([("-0.6020599", "nan")], 10, "'nan'; it must be 0 or negative"),
    "positive": ([("-0.4\tthe", "0.4\tthe")], 18, "'0.4'; it must be 0 or negative"),
    "positive by a hair": ([("-0.4\tthe", "1e-40\tthe")], 18, "must be 0 or negative"),
    "infinity": ([("-0.4\tthe", "inf\tthe")], 18, "must be 0 or negative"),
    "no number": ([("-0.4\tthe", "-0.4x\tthe")], 18, "the log-probability '-0.4x' is not a number"),
    "Python's number": ([("-0.4\tthe", "-0_1.4\tthe")], 18, "'-0_1.4' is not a number"),
    "weight NaN": ([("-0.20412", "nan")], 18, "the back-off weight is 'nan'"),
    "weight infinite": ([("-0.20412", "inf")], 18, "the back-off weight is 'inf'"),
    "weight beyond float32": ([("-0.20412", "1e300")], 18, "the back-off weight is '1e300'"),
    "weight that is none": ([("-0.20412", "much")], 18, "the back-off weight 'much' is not a number"),
    "weight at the highest order": ([("the cat sat", "the cat sat\t-0.5")], 27, "of the highest order have none"),
    "no data": ([("\\data\\\n", "")], 1, "stands where \\\\data\\\\ was expected"),
    "no end": ([("\\end\\\n", "")], 31, "the file ends where \\\\end\\\\ was expected; it is cut off"),
    "text behind the end": ([("\\end\\\n", "\\end\\\nmore\n")], 33, "'more' follows \\\\end\\\\"),
    "missing section": ([("\\2-grams:\n", "")], 15, "stands where \\\\2-grams: was expected"),
    "unannounced section": ([("ngram 3=5\n", "")], 15, "the back-off weight is '-0.1'; n-grams of the highest"),
    "sections out of order": ([("\\2-grams:", "\\3-grams:")], 15, "stands where \\\\2-grams: was expected"),
    "duplicate word": ([(NGRAM1, "-1\tcat\n")], 13, "the 1-gram 'cat' stands in line 11 too"),
    "duplicate 2-gram": ([("the sat", "the cat")], 19, "the 2-gram stands in line 18 too"),
    "duplicate 3-gram": ([("the cat </s>", "the cat sat")], 28, "the 3-gram stands in line 27 too"),
    "no prefix": ([("<s> the cat", "<s> sat cat")], 26, "its first 2 words are no 2-gram"),
    "unknown spelling of a word": ([("the cat </s>", "the Cat </s>")], 28, "the word 'Cat' is not among the 1-grams"),
    "too few columns": ([("-0.4\tthe cat\t-0.20412", "-0.4\tthe")], 18, "has 2 columns, where a 2-gram has 3 or 4"),
    "too many columns": (
        [("the cat\t-0.20412", "the cat sat\t-0.2\t0")],
        18,
        "has 6 columns, where a 2-gram has 3 or 4",
    ),
    "no sentence begin": ([("\t<s>\t", "\t<S>\t")], 13, "lack <s>, without which no text has a probability"),
    "no sentence end": ([("</s>\t0\n-0.6", "</S>\t0\n-0.6")], 13, "lack </s>"),
    "two unknown words": ([("\tSenjō", "\t<UNK>")], 12, "two spellings of the unknown word"),
    "padding as a word": ([("\tSenjō", "\t<pad>")], 12, "the name that the tokenizer gives to padding"),
    "NUL": ([("the sat", "the\0sat")], 19, "a NUL, vertical tab"),
    "form feed": ([("the sat", "the\fsat")], 19, "form feed"),
    "bare carriage return": ([("the sat", "the sat\r-1")], 19, "bare carriage return"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_refused_with_file_line_and_rule(tmp_path, fault):
    replacements, line, rule = FAULTS[fault]
    path = changed(tmp_path, *replacements)
    with pytest.raises(ValueError, match=rule) as caught:
        NGramForCausalLM.from_arpa(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert "; " in str(caught.value)  # the fix


def test_other_files_are_refused_by_name(tmp_path):
    path = tmp_path / "model"
    binary = b"mmap lm http://kheafield.com/code format version 5\n\0" + bytes(100)
    for content, rule in [
        (b"", "the file is empty"),
        (binary, "KenLM's binary format.*from_kenlm"),
        (random.Random(0).randbytes(300_000), "is this an ARPA file"),
        (SMALL.encode("utf-16"), "is this an ARPA file, in UTF-8"),
        (SMALL.encode("latin1", "replace").replace(b"Senj?", b"Senj\xf6"), r"'Senj\\\\xf6' is not UTF-8; convert"),
        (b"\n\n# nothing\n", "ends before"),
        (b"\\data\\\nngram 1=" + b"1" * 2_000_000, "longer than"),
        (b"x" * 3_000_000, "line 1: the line is longer than"),
        (b"\x1f\x8b" + bytes(50), "gzip data that follow are cut off or damaged"),
        (b"PK\x03\x04\n", "where .* was expected; is this an ARPA file"),
    ]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rule) as caught:
            NGramForCausalLM.from_arpa(path)
        assert str(caught.value).startswith(str(path))
    with pytest.raises(FileNotFoundError):
        NGramForCausalLM.from_arpa(tmp_path / "absent.arpa")
    with pytest.raises(IsADirectoryError):
        NGramForCausalLM.from_arpa(tmp_path)


def test_invalid_utf8_in_an_ngram_is_named(tmp_path):
    path = tmp_path / "a.arpa"
    path.write_bytes(SMALL.encode().replace(b"the sat", b"the s\xfft"))
    with pytest.raises(ValueError, match="line 19: the word .* is not UTF-8"):
        read_arpa(path)


def test_truncation_at_any_byte_is_refused(tmp_path):
    path = tmp_path / "cut.arpa"
    for text in (SMALL, SMALL.replace("\n", "\r\n")):
        content = text.encode()
        whole = content.index(b"\\end\\") + len(b"\\end\\")
        for size in range(len(content)):
            path.write_bytes(content[:size])
            if size < whole:
                with pytest.raises(ValueError, match=str(path)):
                    read_arpa(path)
            else:
                assert read_arpa(path)[1].sizes == [8, 8, 5]


def test_truncated_and_damaged_gzip_is_refused(tmp_path):
    path = tmp_path / "cut.arpa.gz"
    content = gzip.compress(SMALL.encode())
    for size in range(2, len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match="cut off or damaged|cut off"):
            read_arpa(path)
    for place in range(10, len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        with pytest.raises(ValueError, match=str(path)):
            read_arpa(path)


@pytest.mark.slow
def test_gzip_bombs_are_refused(tmp_path):
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=9) as bomb:
        bomb.write(SMALL.split("\\1-grams:")[0].encode())
        for _ in range(40):
            bomb.write(b"\n" * 1_000_000)
    with pytest.raises(ValueError, match="unpack to more than 200 times their size"):
        read_arpa(path)


PIECES = [
    b"-99",
    b"0",
    b"-0.5",
    b"1e-3",
    b"nan",
    b"\t",
    b" ",
    b"\n",
    b"\\",
    b"the",
    b"cat sat",
    b"<s>",
    b"</s>",
    b"<unk>",
]
PIECES += [b"\0", b"\xff", b"9", b"-", b"\r\n", b"ngram 2=8", b"\\2-grams:", b"\\end\\", "ō".encode()]


@st.composite
def damaged(draw) -> bytes:
    content = SMALL.encode()
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["insert", "replace", "delete", "line", "swap"]))
        lines = content.split(b"\n")
        place = draw(st.integers(0, len(content)))
        row = draw(st.integers(0, len(lines) - 1))
        if kind == "insert":
            content = content[:place] + draw(st.sampled_from(PIECES)) + content[place:]
        elif kind == "replace":
            content = content[:place] + draw(st.sampled_from(PIECES)) + content[place + draw(st.integers(1, 8)) :]
        elif kind == "delete":
            content = content[:place] + content[place + draw(st.integers(1, 20)) :]
        elif kind == "line":
            content = b"\n".join(lines[:row] + lines[row + 1 :])
        else:
            other = draw(st.integers(0, len(lines) - 1))
            lines[row], lines[other] = lines[other], lines[row]
            content = b"\n".join(lines)
    return content


def expect_refused_or_as_kenlm(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, tokenizer = NGramForCausalLM.from_arpa(path)
    except ValueError as error:
        assert str(error).startswith(str(path))  # noqa: PT017
        return
    # kenlm is run on accepted files only: others crash it (a negative count).
    if 0 in model.config.table_sizes or model.config.order < 2:
        return
    # A weight over 1 can make a p over 1, whose sign kenlm loses, or make up for kenlm's -99.
    if any((weights > 0).any() for weights in model.tables().log10_backoffs):
        return
    try:
        reference = kenlm_model(path)
    except OSError:
        return
    words = [word for word in tokenizer.convert_ids_to_tokens(range(len(tokenizer) - 3)) if word != "<unk>"]
    unknown = ["dog"] if tokenizer.unk_token else []
    for seed in range(5):
        sentence = " ".join(random.Random(seed).choices(words + unknown, k=6))
        if sentence.split() != sentence.split(" ") or len(tokenizer(sentence).input_ids) != 7:
            continue
        expected = reference.score(sentence)
        assert_same_log10(log10_of(model, tokenizer, sentence), expected, sentence)


@settings(max_examples=250)
@given(damaged())
def test_damaged_files_are_refused_or_read_as_kenlm_does(tmp_path_factory, content):
    expect_refused_or_as_kenlm(tmp_path_factory.getbasetemp() / "damaged.arpa", content)


@pytest.mark.slow
@pytest.mark.nightly
@settings(max_examples=20_000)
@given(damaged())
def test_many_damaged_files(tmp_path_factory, content):
    expect_refused_or_as_kenlm(tmp_path_factory.getbasetemp() / "damaged.arpa", content)


def write_large(path: Path, vocabulary: int = 8000, bigrams: int = 100_000, trigrams: int = 180_000) -> None:
    """About 10 MB with the proportions of a real model."""
    rng = np.random.default_rng(0)
    v = vocabulary + 4
    words = ["<unk>", *(f"word{i}" for i in range(vocabulary)), "<s>", "</s>", "<pad>"]
    pairs = np.unique(rng.integers(0, vocabulary, bigrams) * v + rng.integers(1, vocabulary, bigrams))
    triples = np.unique(rng.integers(0, len(pairs), trigrams) * v + rng.integers(1, vocabulary, trigrams))
    sizes = [v, len(pairs), len(triples)]
    probs = [-6 * rng.random(size, np.float32) for size in sizes]
    probs[0][-3], probs[0][-1] = -np.inf, -np.inf
    write_arpa(
        NGramTables(v, [pairs, triples], probs, [-rng.random(size, np.float32) for size in sizes[:2]]), words, path
    )


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize(
    "kind",
    [
        "whole",
        *(
            pytest.param(kind, marks=pytest.mark.slow)
            for kind in ("huge count", "negative count", "cut", "garbage", "one line", "gzip")
        ),
    ],
)
def test_memory_stays_under_twice_the_file(arpa, tmp_path, kind):
    """Of a file that is refused, under once its size."""
    NGramForCausalLM.from_arpa(arpa)  # imports what it needs
    path = tmp_path / "large.arpa"
    write_large(path)
    content = path.read_bytes()
    size = len(content)
    assert 9e6 < size < 12e6
    bad = {
        "whole": content,
        "huge count": content.replace(b"ngram 3=", b"ngram 3=9999999", 1),
        "negative count": content.replace(b"ngram 3=", b"ngram 3=-", 1),
        "cut": content[: size - 5_000],
        "garbage": random.Random(0).randbytes(size),
        "one line": content.replace(b"\n", b" "),
        "gzip": gzip.compress(content, 1),
    }[kind]
    path.write_bytes(bad)
    with memory_taken() as memory, contextlib.suppress(ValueError):
        NGramForCausalLM.from_arpa(path)
    assert (memory.python + memory.torch) / size < (2 if kind in ("whole", "gzip") else 1)
