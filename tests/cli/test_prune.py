# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture prune`."""

import json

import pytest

from hf_lecture_models.loading import load_model


def counts_of(path):
    return load_model(str(path))[0].config.ngram_counts


def test_a_threshold_a_number_and_bytes(run, folder, tmp_path):
    before = counts_of(folder)
    status, out, err = run("prune", folder, tmp_path / "a.arpa", "--threshold", "1e-3", "--json")
    assert (status, err) == (0, "")
    told = json.loads(out)
    assert told["threshold"] == 1e-3
    assert told["ngrams"] == counts_of(tmp_path / "a.arpa")
    assert sum(told["ngrams"]) < sum(before)
    number = str(sum(told["ngrams"]))
    status, out, _ = run("prune", folder, tmp_path / "b", "--ngrams", number)
    assert (status, counts_of(tmp_path / "b")) == (0, told["ngrams"])
    assert f"bytes before: {told['bytes_before']}\nbytes: {told['bytes']}\n" in out
    status, _, _ = run("prune", tmp_path / "a.arpa", tmp_path / "c.arpa.gz", "--bytes", str(told["bytes"] - 1))
    assert status == 0
    assert sum(counts_of(tmp_path / "c.arpa.gz")) < sum(told["ngrams"])


def test_counts_and_another_model(run, folder, tmp_path):
    (tmp_path / "seen.txt").write_text("the cat saw the dog\nthe cat ran\n", encoding="utf-8")
    counts = ["--counts", tmp_path / "seen.txt"]
    status, out, err = run("prune", folder, tmp_path / "a", *counts, "--at-most", "0,1", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["threshold"] is None
    assert counts_of(tmp_path / "a")[1:] == [2, 1]  # <s> the, the cat; <s> the cat
    missing = ("--at-most", "0,1", "--counts", tmp_path / "missing.txt")
    assert run("prune", folder, tmp_path / "b", *missing)[2].endswith("there is no file " + str(missing[-1]) + "\n")
    weighted = ["--criterion", "weighted_difference", "--threshold", "0.5"]
    status, _, _ = run("prune", folder, tmp_path / "b", *counts, *weighted)
    assert (status, counts_of(tmp_path / "b")[1] < counts_of(folder)[1]) == (0, True)
    for name, option in (("c", "--history-model"), ("d", "--history_model")):
        assert run("prune", folder, tmp_path / name, "--threshold", "1e-3", option, tmp_path / "a")[0] == 0
    assert counts_of(tmp_path / "c") == counts_of(tmp_path / "d")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{folder}", "text.txt", "--threshold", "1"], "text.txt is there already"),
        (["{folder}", "x.json", "--threshold", "1"], "x.json would be a folder"),
        (["{network}", "x", "--threshold", "1"], "holds RecurrentForCausalLM; name an n-gram model"),
        (["{folder}", "x", "--threshold", "1", "--history-model", "{network}"], "holds RecurrentForCausalLM"),
        (["{folder}", "x", "--threshold", "nan"], "--threshold is nan; give a number of at least 0"),
        (["{folder}", "x", "--bytes", "many"], "--bytes is 'many'; give a size such as '10MB'"),
        (["{folder}", "x", "--at-most", "0,1"], "--at-most needs --counts, a text"),
        (["{folder}", "x", "--at-most", "a", "--counts", "text.txt"], "--at-most is 'a'; give numbers with commas"),
        (["{folder}", "x", "--ngrams", "2"], "--ngrams is 2, and 9 are the fewest"),
        (["{folder}", "x", "--threshold", "1", "--counts", "text.txt"], "--counts are not read by the entropy"),
    ],
)
def test_what_is_refused(run, folder, network, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("the cat\n", encoding="utf-8")
    filled = [argument.format(folder=folder, network=network) for argument in arguments]
    status, out, err = run("prune", *filled)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


@pytest.mark.parametrize("options", [[], ["--threshold", "1", "--ngrams", "20"]])
def test_one_of_four(run, folder, tmp_path, options):
    status, _, err = run("prune", folder, tmp_path / "x", *options)
    assert status == 2
    assert "give one of --threshold, --ngrams, --bytes and --at-most" in err
