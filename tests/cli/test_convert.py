# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture convert`: ARPA files and folders."""

import json

import pytest


def test_convert_there_and_back(run, folder, tmp_path):
    status, _, err = run("convert", folder, tmp_path / "model.arpa.gz")
    assert (status, err) == (0, "")
    assert run("convert", tmp_path / "model.arpa.gz", tmp_path / "again")[0] == 0
    (text,) = (run("score", source, "--json", stdin="the zebra ran\n")[1] for source in [folder])
    for source in (tmp_path / "again", tmp_path / "model.arpa.gz"):
        other = run("score", source, "--json", stdin="the zebra ran\n")[1]
        assert json.loads(other.splitlines()[0])["log_prob"] == pytest.approx(
            json.loads(text.splitlines()[0])["log_prob"], rel=1e-5
        )
    assert "is there already" in run("convert", folder, tmp_path / "model.arpa.gz")[2]
    assert "must be an ARPA file" in run("convert", folder, tmp_path / "other")[2]


def test_convert_to_a_finite_state_machine(run, folder, network, tmp_path):
    machine, symbols = tmp_path / "model.fst.txt", tmp_path / "model.syms"
    status, out, err = run("convert", folder, machine)
    assert (status, err) == (0, "")
    lines = [line.split("\t") for line in machine.read_text().splitlines()]
    states, arcs = {line[0] for line in lines}, sum(len(line) == 4 for line in lines)
    assert out == f"{machine}: {len(states)} states, {arcs} arcs; symbols in {symbols}\n"
    assert (lines[0][0], lines[0][2]) == ("0", "<epsilon>")
    assert run("convert", folder, tmp_path / "lm.arpa")[0] == 0
    assert run("convert", tmp_path / "lm.arpa", tmp_path / "again.fst.txt")[0] == 0
    others = [line.split("\t") for line in (tmp_path / "again.fst.txt").read_text().splitlines()]
    assert sorted(line[2:] for line in others) == sorted(line[2:] for line in lines)  # states are numbered anew
    for source, target, message in (
        (folder, machine, "is there already"),
        (folder, tmp_path / "again.fst.txt", "again.fst.txt is there already"),
        (network, tmp_path / "x.fst.txt", "only n-grams are finite-state machines"),
        (tmp_path / "none.arpa", tmp_path / "x.fst.txt", "there is no ARPA file"),
    ):
        assert message in run("convert", source, target)[2]
    machine.unlink()
    assert "model.syms is there already" in run("convert", folder, machine)[2]
