# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Count files of SRILM, and Google's tables."""

import bz2
import gzip

import pytest

from hf_lecture_models.models.ngram.count_files import reading_counts
from hf_lecture_models.models.ngram.count_files.reading_counts import read_counts
from tests.models.ngram.count_files.slow_counts import as_dictionary, lines_of, random_texts, slow_counts

SLOW = slow_counts([text.split() for text in random_texts(80)], 3)


def read(tmp_path, *files, **options):
    """Read files that hold these bytes."""
    paths = []
    for number, data in enumerate(files):
        paths.append(tmp_path / f"{number}.counts")
        paths[-1].write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_counts(paths, progress=False, **options)


@pytest.mark.parametrize("block", [7, 100, 1 << 22])
def test_lines_may_have_any_order_and_white_space(tmp_path, monkeypatch, block):
    monkeypatch.setattr(reading_counts, "BLOCK_BYTES", block)
    lines = lines_of(SLOW)
    assert as_dictionary(read(tmp_path, "\n".join(lines))) == SLOW  # without the last line's end
    assert as_dictionary(read(tmp_path, "\n".join(reversed(lines)) + "\n")) == SLOW
    assert as_dictionary(read(tmp_path, "﻿" + "\r\n".join(lines) + "\r\n")) == SLOW
    spaced = "\n \n".join(line.replace(" ", "\t  ").replace("\t", " ") for line in lines)
    assert as_dictionary(read(tmp_path, spaced)) == SLOW
    assert as_dictionary(read(tmp_path, bz2.compress("\n".join(lines).encode()))) == SLOW


def test_repeated_ngrams_are_added_and_zeros_left_out(tmp_path):
    counts = read(tmp_path, "a b\t2\na\t1\na b\t3\nc\t0\n", gzip.compress(b"a\t5\nb 1"))
    assert as_dictionary(counts) == {("a",): 6, ("b",): 1, ("a", "b"): 5}


def test_files_may_hold_one_order_each(tmp_path):
    parts = ["\n".join(line for line in lines_of(SLOW) if line.count(" ") == n) for n in (2, 0, 1)]
    assert as_dictionary(read(tmp_path, *parts)) == SLOW
    for order in (1, 2):
        expected = {gram: count for gram, count in SLOW.items() if len(gram) <= order}
        assert as_dictionary(read(tmp_path, *parts, order=order)) == expected


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a\t1\n\nb c\n", r"0.counts, line 3: the count is 'c'; it must be a whole number"),
        ("a\t1.5\n", "line 1: the count is '1.5'.*fractions"),
        ("a\t-1\n", "line 1: the count is '-1'"),
        ("a\t1_0\n", "line 1: the count is '1_0'"),
        (f"a\t{2**53 + 1}\n", "line 1: the count is '9007199254740993'; it must be a whole number up to"),
        (f"a\t{2**70}\n", "line 1: the count is"),
        ("a 1\n7\n", "line 2: '7' stands alone, where a count file has an n-gram and its count; is this a text"),
        ("a 1\n" + "w " * 70 + "\n", "line 2: the line has 70 words from 'w' on"),
        (b"a\t1\n\xff\t2\n", r"the word '\\\\xff' is not UTF-8"),
        (b"a\0b\t1\n", "line 1 and after: a NUL"),
        ("", "the count files are empty"),
        ("\n", "the count files are empty"),
        (b"SRILM_BINARY_COUNTS_001\nmaxorder 3\n", "binary count files, which are not read; write text"),
        ("the cat\t1978\t313\t215\t85\n", "edition of 2009"),
        ("a\t1999,3,2\nb\t7\n", "line 2: the line is not an n-gram of Google Books"),
        ("a\t1999\t3\t2\nb\t7\n", "line 2: the line is not an n-gram of Google Books"),
        ("a\t1999,3,2\tx,3,2\n", "line 1: the line is not an n-gram of Google Books"),
    ],
)
def test_damaged_files_are_refused_with_the_line(tmp_path, data, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, data)


def test_lines_are_numbered_over_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(reading_counts, "BLOCK_BYTES", 10)
    with pytest.raises(ValueError, match="line 101: the count is 'x'"):
        read(tmp_path, "a\t1\n" * 100 + "a x\n")
    monkeypatch.setattr(reading_counts, "MAX_LINE_BYTES", 10)
    with pytest.raises(ValueError, match="line 2: longer than 10 bytes; is this a count file?"):
        read(tmp_path, "a\t1\n" + "b" * 99)


def test_cut_off_files_are_refused(tmp_path):
    data = gzip.compress("\n".join(lines_of(SLOW)).encode())
    with pytest.raises(OSError, match="damaged gzip file .*; copy it again"):
        read(tmp_path, data[: len(data) // 2])
    with pytest.raises(FileNotFoundError):
        read_counts(tmp_path / "missing.counts", progress=False)
    with pytest.raises(ValueError, match="order is 0"):
        read_counts(tmp_path / "missing.counts", order=0, progress=False)


def web_folder(folder, counts, per_file=50):
    """Write counts as Google's Web 1T has them."""
    spelled = {"<s>": "<S>", "</s>": "</S>", "<unk>": "<UNK>"}
    for n in range(1, max(map(len, counts)) + 1):
        (folder / f"{n}gms").mkdir(parents=True)
        some = {tuple(spelled.get(word, word) for word in gram): c for gram, c in counts.items() if len(gram) == n}
        lines = lines_of(some)
        if n == 1:
            (folder / "1gms" / "vocab.gz").write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
            (folder / "1gms" / "vocab_cs.gz").write_bytes(gzip.compress(b"the same again\t1\n"))
            (folder / "1gms" / "total").write_text("123\n")
            continue
        index = ""
        for number, first in enumerate(range(0, len(lines), per_file)):
            part = lines[first : first + per_file]
            name = f"{n}gm-{number:04}.gz"
            (folder / f"{n}gms" / name).write_bytes(gzip.compress(("\n".join(part) + "\n").encode()))
            index += f"{name}\t{part[0].rpartition(chr(9))[0]}\n"
        (folder / f"{n}gms" / f"{n}gm.idx").write_text(index, encoding="utf-8")


@pytest.mark.parametrize("below", ["", "data"])
def test_web_1t_folders(tmp_path, below):
    counts = slow_counts([text.replace("w3", "<unk>").split() for text in random_texts(80)], 3)
    assert counts["<unk>",]
    web_folder(tmp_path / "web" / below, counts)
    assert as_dictionary(read_counts(tmp_path / "web", progress=False)) == counts
    expected = {gram: count for gram, count in counts.items() if len(gram) < 3}
    assert as_dictionary(read_counts(tmp_path / "web", order=2, progress=False)) == expected
    part = tmp_path / "web" / below / "2gms"
    (part / "2gm.idx").rename(part / "other.idx")
    assert as_dictionary(read_counts(tmp_path / "web", progress=False)) == counts
    (part / "other.idx").rename(part / "2gm.idx")
    (part / "2gm-0001.gz").unlink()
    with pytest.raises(FileNotFoundError, match="2gm-0001.gz is missing, which .*2gm.idx names"):
        read_counts(tmp_path / "web", progress=False)
    with pytest.raises(FileNotFoundError, match="has no 1gms/vocab.gz"):
        read_counts(part, progress=False)


def test_marks_of_google_are_words_elsewhere(tmp_path):
    web_folder(tmp_path / "web", {("<s>",): 2, ("a",): 1})
    (tmp_path / "a.counts").write_text("<S>\t3\n_START_\t4\n")
    counts = read_counts([tmp_path / "a.counts", tmp_path / "web"], progress=False)
    assert as_dictionary(counts) == {("<s>",): 2, ("a",): 1, ("<S>",): 3, ("_START_",): 4}


def test_google_books_of_2012_and_2020(tmp_path):
    lines = [
        ("the cat", [(1999, 12, 3), (2000, 5, 1)]),
        ("_START_ the", [(1800, 7, 1)]),
        ("cat _END_", [(1800, 6, 1)]),
        ("the_DET cat", [(1999, 12, 3)]),
        ("_DET_ cat", [(1999, 12, 3)]),
        ("the cat_NOUN", [(1999, 12, 3)]),
        ("cat ._.", [(1999, 12, 3)]),
        ("_ROOT_ cat", [(1999, 12, 3)]),
        ("snake_case a_nounish", [(1999, 2, 1)]),
    ]
    new = "".join("\t".join([gram, *(",".join(map(str, year)) for year in years)]) + "\n" for gram, years in lines)
    old = "".join(f"{gram}\t{y}\t{m}\t{v}\n" for gram, years in lines for y, m, v in years)
    expected = {("the", "cat"): 17, ("<s>", "the"): 7, ("cat", "</s>"): 6, ("snake_case", "a_nounish"): 2}
    assert as_dictionary(read(tmp_path, new)) == expected
    assert as_dictionary(read(tmp_path, gzip.compress(old.encode()))) == expected
    twice = {gram: 2 * count for gram, count in expected.items()}
    assert as_dictionary(read(tmp_path, new, old)) == twice
