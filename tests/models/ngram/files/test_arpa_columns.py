# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Arrow reads and writes the same ARPA files as the code without it, and leaves to that code what is odd or wrong."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_lecture_models.models.ngram.files import arpa_columns
from hf_lecture_models.models.ngram.files.arpa_format import ArpaLines
from hf_lecture_models.models.ngram.files.arpa_reader import _numbers, read_arpa
from hf_lecture_models.models.ngram.files.arpa_writer import write_arpa
from tests.models.ngram.arpa_ngram import SMALL, random_tables

pytest.importorskip("pyarrow")
FILES = "hf_lecture_models.models.ngram.files"

# No-break spaces and U+0085 separate no words; numbers are words, too.
WORDS = ["<unk>", "the", "Senjō", "a\u00a0b", "x\u0085y", "1", "-0.5", "\\x", "z\x1fz", "<s>", "</s>", "<pad>"]
NUMBERS = [-0.5, -1.25, -98.5, -0.0, -1e-7, -1e-40, -np.inf, -0.1, -3]
# What takes the place of a column.
ODD = (
    "-99 -inf inf nan 1e400 -1e400 -1e-400 +0.5 -0.5 0 -0 -.5 -5. 1e-7 -1E-3 -0x1 -1_0 - . -nan(1) word the 1 1\0 \xff"
)
ODD_COLUMNS = [text.encode("latin1") for text in ODD.split(" ")]
ODD_COLUMNS += [b"", b" ", b" -1", b"-1 ", b"the the", b"\r", b"<UNK>", b"-1.00000005960464477539062500001"]


def odd_file(rng: random.Random, path: Path) -> bytes:
    """Return the text of a random model, often with odd lines or faults."""
    order = rng.randint(2, 4)
    write_arpa(random_tables(rng, WORDS, order, NUMBERS, [*NUMBERS, 0.5, 1e30], rng.choice([0.1, 0.3])), WORDS, path)
    lines = path.read_bytes().split(b"\n")
    if rng.random() < 0.3:  # n-grams in another order
        start = lines.index(b"\\2-grams:") + 1
        end = lines.index(b"", start)
        lines[start:end] = rng.sample(lines[start:end], end - start)
    if rng.random() < 0.5:  # weights of 1 left out
        lines = [line.removesuffix(b"\t0") for line in lines]
    for _ in range(rng.choice([0, 1, 1, 2])):
        change_line(rng, lines)
    return rng.choice([b"\n", b"\n", b"\n", b"\r\n"]).join(lines)


def change_line(rng: random.Random, lines: list[bytes]) -> None:
    place = rng.randrange(18 if rng.random() < 0.8 else 0, len(lines))  # mostly behind the 1-grams
    kind = rng.choice(["column", "column", "column", "separator", "blank", "double", "missing"])
    if kind == "column":
        separator = rng.choice([b"\t", b" "])
        columns = lines[place].split(separator)
        columns[rng.randrange(len(columns))] = rng.choice(ODD_COLUMNS)
        lines[place] = separator.join(columns)
    elif kind == "separator":
        lines[place] = lines[place].replace(
            *rng.choice([(b"\t", b" "), (b" ", b"\t"), (b" ", b"  "), (b"\t", b" \t ")])
        )
    elif kind == "missing":
        del lines[place]
    else:
        lines.insert(place, b"" if kind == "blank" else rng.choice(lines))


def outcome(path: Path) -> tuple[object, ...]:
    """Return the words and the bytes of the tables, or the error."""
    try:
        words, tables = read_arpa(path, unknown=True)
    except ValueError as error:
        return ("error", str(error))
    arrays = [*tables.keys, *tables.log10_probs, *tables.log10_backoffs]
    return (words, *((array.dtype, array.tobytes()) for array in arrays))


def same_with_and_without_arrow(path: Path, monkeypatch) -> tuple[object, ...]:
    monkeypatch.setattr(arpa_columns, "ARROW_BYTES", 1 << 40)
    without = outcome(path)
    monkeypatch.setattr(arpa_columns, "ARROW_BYTES", 0)
    assert outcome(path) == without
    return without


@pytest.mark.parametrize("block_bytes", [1 << 20, 300])
def test_odd_files_give_the_same_tables_and_errors(tmp_path, monkeypatch, block_bytes):
    read: list[bool] = []
    entries = arpa_columns.read_entries
    monkeypatch.setattr(arpa_columns, "read_entries", lambda *args: read.append(True) or entries(*args))
    monkeypatch.setattr(f"{FILES}.arpa_format.BLOCK_BYTES", block_bytes)
    rng, path = random.Random(0), tmp_path / "odd.arpa"
    outcomes = []
    for _ in range(150):
        path.write_bytes(odd_file(rng, path))
        outcomes.append(same_with_and_without_arrow(path, monkeypatch))
    faults = [outcome[1] for outcome in outcomes if outcome[0] == "error"]
    assert 30 < len(faults) < 120
    assert read


@pytest.mark.parametrize("old", ["", "\t-0.20412", "\n"], ids=["as it is", "fewer weights", "CRLF"])
def test_plain_files_are_read_with_arrow(tmp_path, monkeypatch, old):
    path, whole = tmp_path / "plain.arpa", []
    path.write_bytes(SMALL.replace(old, "\r\n" if old == "\n" else "").encode() if old else SMALL.encode())
    entries = arpa_columns.read_entries
    monkeypatch.setattr(arpa_columns, "read_entries", lambda *args: whole.append(entries(*args)) or whole[-1])
    assert same_with_and_without_arrow(path, monkeypatch)[0] != "error"
    assert [len(found[1]) for found in whole if found] == [8, 5]


def test_a_column_between_single_separators_only(monkeypatch):
    vocabulary = {b"a": 0, b"b": 1}
    for text, size in [
        (b"-1 a b\n", 7),
        (b"-1 a b -2\n-1\ta\tb\nx", 17),
        (b"-1 a b", None),
        (b"-1  a b\n", None),
        (b" -1 a b\n", None),
        (b"-1 a b \n", None),
        (b"-1 a c\n", None),
        (b"inf a b\n", None),
        (b"1 a b\n", None),
        (b"-1 a b 1e39\n", None),
        (b"\n-1 a b\n", None),
    ]:
        found = arpa_columns.read_entries(b"x\n" + text, 2, 2, False, vocabulary)
        assert (found and found[3]) == size, text
    assert arpa_columns.read_entries(b"-1 a b -2\n", 0, 2, True, vocabulary) is None
    assert arpa_columns.read_entries(b"-1 a b -0\n", 0, 2, True, vocabulary) is not None


spelled = st.from_regex(rb"-?[0-9]{0,3}\.?[0-9]{0,20}(e[-+]?[0-9]{1,3})?", fullmatch=True)


@settings(max_examples=500)
@given(spelled | st.text("0123456789+-.eExX_infa", min_size=1, max_size=8).map(str.encode))
def test_a_number_is_the_same_float32_or_left_alone(text):
    try:
        value = arpa_columns._numbers(text, np.array([0]), np.array([len(text)]))
    except ValueError:
        return
    assert value.tobytes() == _numbers(ArpaLines.__new__(ArpaLines), 1, [text], "log-probability").tobytes()


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("rows", [1 << 15, 7])
def test_written_bytes_are_the_same(tmp_path, monkeypatch, order, rows):
    monkeypatch.setattr(f"{FILES}.arpa_writer.ROWS_PER_WRITE", rows)
    rng = random.Random(order)
    numbers = [*NUMBERS, -0.001, -1e-6, -9.9e-7, -0.30103, -1.0000001]
    for weights in (numbers, [*numbers, 1e6, 1e30, -12345678.0]):
        tables = random_tables(rng, WORDS, order, numbers, weights)
        for least in (0, 1 << 40):
            monkeypatch.setattr(f"{FILES}.arpa_writer.ARROW_ROWS", least)
            write_arpa(tables, WORDS, tmp_path / f"{least}.arpa", unknown_word="<UNK>")
        written = (tmp_path / "0.arpa").read_bytes()
        assert written == (tmp_path / f"{1 << 40}.arpa").read_bytes()
        assert b"\t<UNK>" in written


@settings(max_examples=500)
@given(st.lists(st.floats(width=32, allow_nan=False, max_value=9e5, min_value=-98), min_size=1))
def test_decimals_are_the_same(numbers):
    from hf_lecture_models.models.ngram.files.arpa_writer import _decimals, _digits

    values = np.array(numbers, np.float32)
    assert [text.encode() for text in _decimals(values).to_pylist()] == _digits(values).tolist()
