# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture rank`: groups of sentences, and n-best lists of a recogniser."""

import json

import pytest

from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.loading import load_model


def test_rank_blocks_between_blank_lines(run, folder, tmp_path):
    (tmp_path / "more.txt").write_text("dog dog\nthe dog\n", encoding="utf-8")
    lines = "cat ran the\nthe cat ran\n\n\na dog\n"
    status, out, _ = run("rank", folder, "-", tmp_path / "more.txt", "--json", stdin=lines)
    groups = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [group["group"] for group in groups] == [0, 1, 2]
    assert [[entry["index"] for entry in group["ranking"]] for group in groups] == [[1, 0], [0], [1, 0]]
    _, out, _ = run("rank", folder, "--tokens", stdin=lines)
    first = out.splitlines()[0].split(maxsplit=3)
    assert (first[0], first[3]) == ("1", "the cat ran")
    assert float(first[1]) == pytest.approx(groups[0]["ranking"][0]["log_prob"], abs=1e-3)
    assert "" in out.splitlines()
    status, out, err = run("rank", folder, stdin="\n\n")
    assert (status, out) == (1, "")
    assert "nothing to rank" in err


def test_rank_lists_of_a_recogniser(run, folder):
    status, out, err = run("rank", folder, "--scores", "--weight", 0.5, "--length-bonus", 0.1, "--json", stdin=NBEST)
    first, second = (json.loads(line)["ranking"] for line in out.splitlines())
    assert (status, err) == (0, "")
    assert [entry["sequence"] for entry in first] == ["the cat ran", "cat the ran"]
    assert [entry["index"] for entry in second] == [0, 1, 2, 3]
    model, tokenizer = load_model(str(folder))
    for entry in (*first, *second):
        log_prob = score_texts(model, tokenizer, [entry["sequence"]])[0].log_prob
        words = len(entry["sequence"].split())
        assert entry["total"] == pytest.approx(entry["score"] + 0.5 * log_prob + 0.1 * words, rel=1e-5)
    _, out, err = run("rank", folder, "--scores", "--weight", 0.5, "--tokens", stdin=NBEST)
    place, total, score, log_prob, words, sentence = out.splitlines()[0].split(maxsplit=5)
    assert (place, words, sentence) == ("1", "3", "the cat ran")
    assert float(total) == pytest.approx(float(score) + 0.5 * float(log_prob), abs=1e-3)
    assert err.split() == ["total", "score", "log_prob", "words", "sentence"]
    assert [line.split()[-1] for line in out.splitlines()[1:5]] == ["the", "cat", "ran", "</s>"]


NBEST = "-1\tcat the ran\n-2.5\tthe cat ran\n\n\n-1\ta dog\n-1\ta dog\n0.5\tdog a\n-99\t\n"


def test_references_find_the_weight_of_a_recogniser(run, folder, tmp_path):
    (tmp_path / "right.txt").write_text("the cat ran\na dog\n", encoding="utf-8")
    options = ["--scores", "--references", tmp_path / "right.txt"]
    status, out, _ = run("rank", folder, *options, "--json", stdin=NBEST)
    *_, last = map(json.loads, out.splitlines())
    summary = last["summary"]
    assert status == 0
    assert summary["word_error_rate"] == summary["lowest_word_error_rate"] == 0
    assert summary["word_error_rate_without_model"] == pytest.approx(100 * (2 + 2) / 5)
    _, _, err = run("rank", folder, *options, stdin=NBEST)
    assert f"weight  {summary['weight']:.6g}" in err
    assert "word_error_rate  0.00 %" in err
    _, out, _ = run("rank", folder, *options, "--weight", 0, "--json", stdin=NBEST)
    assert json.loads(out.splitlines()[-1])["summary"]["word_error_rate"] == pytest.approx(80)
    status, _, err = run("rank", folder, *options, stdin="1\ta dog\n")
    assert (status, err.splitlines()[-1]) == (
        1,
        "hf-lecture rank: 2 references for 1 groups of hypotheses: give one line for each group",
    )


def test_damaged_lists_of_a_recogniser(run, folder, tmp_path):
    (tmp_path / "list.txt").write_text("-1\ta\n\n-1 the cat\n", encoding="utf-8")
    for files, stdin, message in [
        ([tmp_path / "list.txt"], None, "list.txt, line 3: no tab"),
        ([], "1\ta\nnan\tb\n", "standard input, line 2: the score 'nan' is no number"),
        ([], "\n", "nothing to rank"),
        ([tmp_path / "missing.txt"], None, "there is no file"),
    ]:
        status, out, err = run("rank", folder, *files, "--scores", "--weight", 1, "--json", stdin=stdin)
        assert (status, out, len(err.splitlines())) == (1, "", 1)
        assert message in err
    for options, message in [(["--weight", 1], "need --scores"), (["--scores"], "--scores needs --weight")]:
        status, _, err = run("rank", folder, *options)
        assert status == 2
        assert message in err
