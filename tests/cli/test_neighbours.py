# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture neighbours`: a line per word, JSON, and a picture."""

import json

import pytest

from hf_lecture_models.analysis.neighbours import nearest_neighbours
from hf_lecture_models.lab.studies.word_tests import solve_analogy
from hf_lecture_models.loading import load_model


@pytest.mark.slow
def test_neighbours(run, network, folder, tmp_path):
    model, tokenizer = load_model(str(network))
    expected = nearest_neighbours(model, tokenizer, ["cat", "the"], k=2)
    status, out, _ = run("neighbours", network, "cat", "the", "-k", 2)
    assert status == 0
    for line, found in zip(out.splitlines(), expected, strict=True):
        word, near = line.split("\t")
        assert word == found.word
        assert near.split() == [part for n in found.neighbours for part in (n.word, f"{n.similarity:.3f}")]
    options = ["-k", 5, "--json", "--output-embeddings", "--metric", "euclidean", "--output", tmp_path / "map.svg"]
    row = json.loads(run("neighbours", network, "cat", *options)[1])
    assert len(row["neighbours"]) == 5
    assert row["neighbours"][0]["similarity"] < 0
    assert "<svg" in (tmp_path / "map.svg").read_text(encoding="utf-8")
    far = nearest_neighbours(model, tokenizer, ["cat"], k=5, which="output", metric="euclidean")
    assert [n["word"] for n in row["neighbours"]] == [n.word for n in far[0].neighbours]
    # The picture's name is no word, whichever of its names the option has.
    for number, verb in enumerate((["see", "neighbours"], ["neighbours"])):
        for option in ("--output", "-o", "--picture"):
            picture = tmp_path / f"{number}{option}.svg"
            status, out, _ = run(*verb, network, "cat", "the", "-k", 2, option, picture)
            assert (status, len(out.splitlines())) == (0, 2)
            assert "<svg" in picture.read_text(encoding="utf-8")
    for arguments, message in [
        ([network, "zebra"], "'zebra' is not in the vocabulary"),
        ([network, "cat", "-k", 99], "lower k"),
        ([folder, "cat"], "no input embeddings"),
    ]:
        status, out, err = run("neighbours", *arguments)
        assert (status, out, len(err.splitlines())) == (1, "", 1)
        assert message in err


def test_analogies(run, network):
    model, tokenizer = load_model(str(network))
    words = ["cat", "dog", "the"]
    expected = solve_analogy(model, tokenizer, words, k=2)
    status, out, _ = run("neighbours", network, *words, "--analogy", "-k", 2)
    assert status == 0
    assert out.split() == [part for n in expected for part in (n.word, f"{n.similarity:.3f}")]
    row = json.loads(run("neighbours", network, *words, "--analogy", "-k", 1, "--json")[1])
    assert row["analogy"] == words
    assert row["answers"][0]["word"] == expected[0].word
    for arguments, message in [
        (["cat", "dog"], "three words"),
        (["cat", "dog", "zebra"], "'zebra' is not in the vocabulary"),
        ([*words, "-k", 99], "k must be from 1 to"),
    ]:
        status, out, err = run("neighbours", network, *arguments, "--analogy")
        assert (status, out) == (1, "")
        assert message in err
    assert run("neighbours", network, *words, "--analogy", "--metric", "euclidean")[0] == 2
