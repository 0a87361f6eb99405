# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models of points at the command line: measures, sequences that go on, drawings and maps."""

from __future__ import annotations

import json

import pytest
import torch
from transformers import set_seed

from hf_lecture_models.loading import load_model
from hf_lecture_models.models.graves import GravesConfig, GravesForSequencePrediction

POINTS = [[0, 0, 0], [3, 1, 0], [4, 1, 1]]


@pytest.fixture(scope="session")
def drawer(tmp_path_factory):
    path = tmp_path_factory.mktemp("points") / "drawer"
    set_seed(0)
    GravesForSequencePrediction(GravesConfig(hidden_size=8, quantization_step=1, scale=3.0)).save_pretrained(path)
    return path


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text(f"{json.dumps(POINTS)}\n{json.dumps(POINTS[:1])}\n", encoding="utf-8")
    return path


def test_measures(run, drawer, file):
    status, out, err = run("evaluate", drawer, "sequence_prediction", file, "--json")
    assert (status, err) == (0, "")
    measured, (model, _) = json.loads(out), load_model(drawer)
    longer, shorter = (torch.tensor([points]).float() for points in (POINTS, POINTS[:1]))
    bits = (model.code_lengths(longer).sum() + model.code_lengths(shorter).sum()) / 4
    nats = -(model.log_density(longer).sum() + model.log_density(shorter).sum()) / 4
    assert measured["bits_per_point"] == pytest.approx(bits.item(), rel=1e-5)
    assert measured["nats_per_point"] == pytest.approx(nats.item(), rel=1e-5)
    assert (measured["points"], measured["sequences"]) == (4, 2)


def test_sequences_go_on(run, drawer, file):
    status, out, err = run("predict", drawer, file, "--top-k", 2)
    assert (status, err) == (0, "")
    expected = load_model(drawer)[0].generate_points(2, 1.0, 0, torch.tensor([POINTS]).float())[0]
    assert torch.tensor(json.loads(out.splitlines()[0])).allclose(expected, atol=1e-3)
    assert len(out.splitlines()) == 2
    row = json.loads(run("predict", drawer, file, "--json")[1].splitlines()[1])
    assert row["points"] == POINTS[:1]
    assert len(row["predictions"][0]["points"]) == 20
    assert run("predict", drawer, "-", "--top-k", 1, stdin=f"{json.dumps(POINTS)}\n")[0] == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[[1, 2]]", "row 1: points have 2 numbers, and the model reads 3 with the pen"),
        ("[[1, 2, 3]]", "row 1: the last number of a point is the pen, 0 or 1"),
        ("[[1, NaN, 0]]", "row 1: a number is NaN or infinite"),
        ("[]", "row 1: points are []; give a list of points"),
        ("[[0.5, 1, 0]]", "row 1: a number is no multiple of model.quantization_step, 1"),
    ],
)
def test_lines_that_are_refused(run, drawer, tmp_path, line, message):
    (tmp_path / "bad.jsonl").write_text(f"{line}\n", encoding="utf-8")
    for verb in (("predict", drawer), ("evaluate", drawer, "sequence_prediction")):
        status, _, err = run(*verb, tmp_path / "bad.jsonl")
        assert status == 1
        assert message in err
    status, _, err = run("predict", drawer, "-", stdin="[[1, 1, 0]]\n[[1, Infinity, 0]]\n")
    assert status == 1
    assert "standard input, line 2" in err


def test_drawings(run, drawer, tmp_path):
    arguments = ("see", "strokes", drawer, "--number", 3, "--points", 4, "--seed", 5)
    status, out, err = run(*arguments, "--output", tmp_path / "drawn.svg")
    assert (status, err) == (0, "")
    expected = load_model(drawer)[0].generate_points(4, 1.0, 5, num_sequences=3)
    assert torch.tensor([json.loads(line) for line in out.splitlines()]).allclose(expected, atol=1e-3)
    assert (tmp_path / "drawn.svg").read_text(encoding="utf-8").startswith("<svg ")
    assert [json.loads(line)["points"] for line in run(*arguments, "--json")[1].splitlines()] == [
        json.loads(line) for line in out.splitlines()
    ]
    status, _, err = run(*arguments, "-o", tmp_path / "drawn.png")
    assert (status, "drawings are written as .svg" in err) == (1, True)


def test_map_of_the_next_point(run, drawer, file, tmp_path):
    pytest.importorskip("matplotlib")
    status, out, err = run("see", "density", drawer, file, "-o", tmp_path / "map.svg")
    assert (status, err) == (0, "")
    assert len(out.splitlines()) == 12
    assert "the pen is lifted after the point with probability 0." in out
    assert "own.jsonl, row 1, under drawer" in (tmp_path / "map.svg").read_text(encoding="utf-8")
    row = json.loads(run("see", "density", drawer, file, "--json")[1])
    assert sum(component["weight"] for component in row["components"]) == pytest.approx(1, abs=1e-5)
    status, _, err = run("see", "density", drawer, file, "--row", 3)
    assert (status, "has 2 sequences, and no row 3" in err) == (1, True)


def test_other_models_draw_nothing(run, network):
    status, _, err = run("see", "strokes", network)
    assert (status, "predicts no points: a model of lecture_graves does" in err) == (1, True)
