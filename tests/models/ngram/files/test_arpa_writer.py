# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Writing ARPA files: to the digit, and back bit for bit."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_lecture_models.models.ngram.files.arpa_reader import read_arpa
from hf_lecture_models.models.ngram.files.arpa_writer import write_arpa
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from tests.models.ngram.arpa_ngram import (
    SMALL,
    assert_same_tables,
    random_tables,
)


def entries(text: str) -> set[str]:
    return {line for line in text.splitlines() if line}


def test_written_lines_are_the_lines_read(arpa, tmp_path):
    model, tokenizer = NGramForCausalLM.from_arpa(arpa)
    model.save_arpa(tmp_path / "again.arpa", tokenizer)
    again = (tmp_path / "again.arpa").read_text(encoding="utf-8")
    respelled = {
        "0\t<s>\t-0.30103": "-99\t<s>\t-0.30103",
        "-0.3010300\t<s> the\t-0.1": "-0.30103\t<s> the\t-0.1",
        "-0.90309\tsat": "-0.90309\tsat\t0",
        "-0.75\tthe sat": "-0.75\tthe sat\t0",
    }
    assert entries(again) == {respelled.get(line, line) for line in entries(SMALL)}
    assert again.startswith("\\data\\\nngram 1=7\nngram 2=8\nngram 3=5\n\n\\1-grams:\n-1.146128\t<unk>\t0\n-99\t<s>\t")
    assert again.endswith("\n\n\\end\\\n")


@pytest.mark.parametrize("name", ["again.arpa", "again.arpa.gz"])
def test_reading_back_is_bit_identical(arpa, tmp_path, name):
    words, tables = read_arpa(arpa)
    write_arpa(tables, words, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b" if name.endswith("gz") else b"\\data\\")
    words_again, tables_again = read_arpa(tmp_path / name)
    assert words_again == words
    assert_same_tables(tables, tables_again)


log10s = st.floats(min_value=-98, max_value=0, width=32) | st.just(-math.inf) | st.sampled_from([-0.0, -1e-45, -1e-7])


@settings(max_examples=60)
@given(st.data())
def test_any_tables_come_back_bit_identical(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.arpa"
    letters = st.text(st.characters(exclude_characters="\t\n\v\f\r \0", exclude_categories=["Cs"]), min_size=1)
    reserved = {"<s>", "</s>", "<unk>", "<UNK>", "<pad>"}
    some = data.draw(st.lists(letters.filter(lambda word: word not in reserved), unique=True, max_size=5))
    words = [*(["<unk>"] if data.draw(st.booleans()) else []), *some, "<s>", "</s>", "<pad>"]
    numbers = data.draw(st.lists(log10s, min_size=3, max_size=20))
    rng = random.Random(data.draw(st.integers(0, 1000)))
    tables = random_tables(rng, words, data.draw(st.integers(1, 4)), numbers, [*numbers, 0.5, 1e30])
    write_arpa(tables, words, path)
    words_again, tables_again = read_arpa(path)
    assert words_again == words
    assert_same_tables(tables, tables_again)


@settings(max_examples=300)
@given(st.floats(width=32, allow_nan=False, max_value=0, min_value=-98))
def test_any_float32_is_spelled_shortly_and_read_back(number):
    from hf_lecture_models.models.ngram.files.arpa_format import ArpaLines
    from hf_lecture_models.models.ngram.files.arpa_reader import _numbers
    from hf_lecture_models.models.ngram.files.arpa_writer import _digits

    value = np.array([number], np.float32)
    text = _digits(value)[0]
    lines = ArpaLines.__new__(ArpaLines)
    assert _numbers(lines, 1, [text], "log-probability").tobytes() == value.tobytes()
    digits = text.split(b"e")[0].lstrip(b"-0.").replace(b".", b"")
    assert len(digits.rstrip(b"0")) <= 9


def test_padding_inside_ngrams_is_refused(arpa, tmp_path):
    words, tables = read_arpa(arpa)
    tables.keys[0][-1] = words.index("</s>") * tables.vocab_size + words.index("<pad>")
    with pytest.raises(ValueError, match="<pad> occurs in n-grams"):
        write_arpa(tables, words, tmp_path / "out.arpa")


def test_a_full_disk_leaves_the_old_file(arpa, tmp_path, monkeypatch):
    words, tables = read_arpa(arpa)
    before = arpa.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hf_lecture_models.models.ngram.files.arpa_writer._digits", fail)
    with pytest.raises(OSError, match="No space left"):
        write_arpa(tables, words, arpa)
    assert arpa.read_bytes() == before
    assert list(tmp_path.iterdir()) == [arpa]
