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
