# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Readers of sequences of points, and what they refuse."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from hf_lecture_models.tasks.strokes.rows import (
    DIGITS,
    SUNSPOTS,
    PointRowsRecipe,
    as_points,
    fingerprint_points,
    read_points,
)

SEQUENCES = [[[3, 1, 0], [4, 1, 1]], [[0, 0, 1]]]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, lines):
    opened = gzip.open(name, "wt") if name.endswith(".gz") else Path(name).open("w")  # noqa: SIM115
    with opened as file:
        file.writelines(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    return PointRowsRecipe(train_files=[name])


def write_npz(**arrays):
    np.savez("own.npz", **arrays)
    return PointRowsRecipe(train_files=["own.npz"], validation_files=["own.npz"], test_files=["own.npz"])


@pytest.mark.parametrize("name", ["own.jsonl", "own.jsonl.gz"])
def test_json_lines(name):
    rows = read_points(write(name, [SEQUENCES[0], {"points": SEQUENCES[1]}]), "train")
    assert [own.tolist() for own in rows.columns["points"]] == SEQUENCES
    assert {own.dtype for own in rows.columns["points"]} == {np.dtype("float32")}
    assert rows.columns["given"] == [0, 0]
    assert rows.where(1) == f"{name}, row 2"


def test_arrays():
    points = np.array(SEQUENCES[0] + SEQUENCES[1], dtype=np.int16)
    recipe = write_npz(
        train=points, train_len=np.array([2, 1], np.int32), valid=points[:2], valid_len=np.array([2], np.int32)
    )
    assert [own.tolist() for own in read_points(recipe, "train").columns["points"]] == SEQUENCES
    assert len(read_points(recipe, "validation")) == 1
    with pytest.raises(ValueError, match="own.npz has no arrays test and test_len"):
        read_points(recipe, "test")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["[[1, 2"], "own.jsonl, line 1 is no JSON"),
        ([SEQUENCES[0], []], "own.jsonl, row 2: points are .*; give a list of points"),
        ([SEQUENCES[0], [[]]], "row 2: points have .0. numbers; give all the same"),
        ([SEQUENCES[0], [[1, 2, 3], [1, 2]]], "row 2: points have .2, 3. numbers; give all the same"),
        ([SEQUENCES[0], [[1, 2]]], "row 2 has points of 2 numbers, and own.jsonl, row 1 of 3"),
        (["[[1, NaN, 0]]"], "row 1: a number is NaN or infinite"),
        (["[[1, Infinity, 0]]"], "row 1: a number is NaN or infinite"),
        ([[[1, 1e40, 0]]], "row 1: a number is NaN or infinite"),
        (['[["a", 1, 0]]'], "row 1: points are .*; they must be numbers"),
        ([[[True, 1, 0]]], "they must be numbers"),
        (["[[1" + "0" * 400 + ", 1, 0]]"], "row 1: a number is NaN or infinite in float32"),
        (["[[" + "1" * 5000 + ", 1, 0]]"], "line 1 is no JSON: Exceeds the limit"),
        ([SEQUENCES[0], "[" * 100_000], "own.jsonl, line 2 is no JSON: maximum recursion depth"),
        (["[" * 500 + "1" + "]" * 500], "row 1: points are .*; they must be numbers"),
        (["3"], "row 1: points are 3; give a list of points"),
        ([], "own.jsonl holds no sequence of points"),
    ],
)
def test_lines_that_are_refused(lines, message):
    recipe = write("own.jsonl", lines)
    with pytest.raises(ValueError, match=message):
        read_points(recipe, "train")


def test_blank_lines_and_a_byte_order_mark_are_skipped():
    rows = read_points(write("own.jsonl", ["\ufeff[[3, 1, 0], [4, 1, 1]]", "", SEQUENCES[1], " "]), "train")
    assert [own.tolist() for own in rows.columns["points"]] == SEQUENCES


@pytest.mark.parametrize("at", [20, 40, -7, -3])
def test_a_damaged_gzip_file_is_refused(at):
    """In its data, in its checksum, and in its length."""
    recipe = write("own.jsonl.gz", [SEQUENCES[0]] * 3 + [[[n, n + 1, 1] for n in range(40)]])
    content = bytearray(Path("own.jsonl.gz").read_bytes())
    content[at] ^= 0xFF
    Path("own.jsonl.gz").write_bytes(content)
    with pytest.raises((OSError, ValueError), match=r"own\.jsonl\.gz, (after )?line \d+") as caught:
        read_points(recipe, "train")
    assert "\n" not in str(caught.value)
    Path("own.jsonl.gz").write_bytes(content[:30])
    with pytest.raises(OSError, match=r"own\.jsonl\.gz, after line 0: damaged gzip file"):
        read_points(recipe, "train")


@pytest.mark.parametrize("compressed", [False, True])
def test_a_damaged_file_of_arrays_is_refused(compressed):
    """Each byte in turn: what numpy still reads is read, and all else is an error of one line that names the file."""
    save = np.savez_compressed if compressed else np.savez
    save("own.npz", train=np.arange(6.0).reshape(3, 2), train_len=np.array([2, 1]))
    recipe, content, errors = PointRowsRecipe(train_files=["own.npz"]), Path("own.npz").read_bytes(), []
    for place in range(0, len(content), 3):
        Path("own.npz").write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            read_points(recipe, "train")
        except ValueError as error:
            errors.append(error)
    assert all(str(error).startswith("own.npz") and "\n" not in str(error) for error in errors)
    assert len({type(error.__cause__) for error in errors}) > 3
    np.save("own", np.zeros((3, 2)))
    Path("own.npy").rename("own.npz")
    with pytest.raises(ValueError, match="own.npz is damaged"):
        read_points(recipe, "train")


@pytest.mark.parametrize(
    "array",
    [np.ones((2, 3)) + 1j, np.array([["1", "2", "0"]]), np.zeros((2, 3), "M8[s]"), np.zeros((2, 3), object)],
    ids=lambda array: str(array.dtype),
)
def test_only_real_numbers_are_points(array):
    """numpy would drop the imaginary parts, and read texts as numbers."""
    with pytest.raises(ValueError, match="points are an array of .*; they must be real numbers"):
        as_points(array)
    if array.dtype != object:
        with pytest.raises(ValueError, match="own.npz, row 1: points are an array of .*; they must be real numbers"):
            read_points(write_npz(train=array, train_len=np.array([len(array)])), "train")


def test_numbers_of_other_libraries_are_points():
    for given in (torch.ones(2, 3), [[np.float32(1), np.int64(1), Fraction(1)]] * 2, np.ones((2, 3), bool)):
        assert as_points(given).tolist() == [[1.0, 1.0, 1.0]] * 2
    with pytest.raises(ValueError, match=r"points are an array of shape \(3,\); give \(points, numbers\)"):
        as_points(torch.ones(3))


def test_arrays_that_are_refused():
    points, pickled = np.zeros((3, 3), np.int16), np.array([np.zeros((2, 3)), np.zeros((1, 3))], dtype=object)
    cases = [
        ({"train": points, "train_len": np.array([2, 2])}, "train_len must be at least 1 each, 3 in all"),
        ({"train": points, "train_len": np.array([3, 0])}, "train_len must be at least 1 each"),
        ({"train": points[0], "train_len": np.array([3])}, "train must be .points, numbers."),
        ({"train": points, "train_len": np.array([2**63, 2**63 + 3], np.uint64)}, "3 in all, as train has points"),
        ({"train": points, "train_len": np.array([3.0])}, "train_len whole numbers"),
        ({"train": pickled, "train_len": np.array([2, 1])}, "is damaged, or holds pickled objects"),
    ]
    for arrays, message in cases:
        recipe = write_npz(**arrays)
        with pytest.raises(ValueError, match=message):
            read_points(recipe, "train")
    Path("own.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(ValueError, match="own.npz is damaged"):
        read_points(recipe, "train")
    with pytest.raises(FileNotFoundError, match="there is no file nowhere.jsonl"):
        read_points(PointRowsRecipe(train_files=["nowhere.jsonl"]), "train")
    Path("own.txt").touch()
    with pytest.raises(ValueError, match="own.txt ends in none of"):
        read_points(PointRowsRecipe(train_files=["own.txt"]), "train")


def test_curves_are_drawn_by_seed():
    parts = [
        fingerprint_points(read_points(PointRowsRecipe(train_size=6, validation_size=6, data_seed=seed), part))
        for seed in (0, 1)
        for part in ("train", "validation")
    ]
    assert len(set(parts)) == 4
    again = read_points(PointRowsRecipe(train_size=6), "train")
    assert fingerprint_points(again) == parts[0]
    assert read_points(PointRowsRecipe(validation_size=0), "validation") is None


def test_digits_by_rows():
    rows = read_points(PointRowsRecipe(dataset_name=DIGITS, test_split="test"), "test")
    assert (len(rows), rows[0]["points"].shape) == (300, (8, 8))
    with pytest.raises(ValueError, match="has no split 'dev', only train, validation, test"):
        read_points(PointRowsRecipe(dataset_name=DIGITS, train_split="dev"), "train")
    with pytest.raises(ValueError, match="dataset_name must be one of"):
        read_points(PointRowsRecipe(dataset_name="some/points"), "train")


def test_sunspots():
    recipe = PointRowsRecipe(dataset_name=SUNSPOTS, train_split="start", validation_split="rest", test_split="test")
    try:
        import statsmodels  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="pip install statsmodels"):
            read_points(recipe, "train")
        return
    shapes = [
        (row["points"].shape, row["given"])
        for part in ("train", "validation", "test")
        for row in read_points(recipe, part)
    ]
    assert shapes == [((200, 1), 0), ((240, 1), 200), ((309, 1), 240)]
