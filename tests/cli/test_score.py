# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture score`: what goes to which stream, line by line, until Ctrl-C or a closed pipe."""

import json
import math
import signal

import pytest

from hf_lecture_models.cli import score
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.io.strict_json import strict_json
from hf_lecture_models.lab.studies.adaptation import AdaptedScorer
from hf_lecture_models.lab.studies.cache import ContinuousCache, UnigramCache
from hf_lecture_models.lab.studies.dynamic_evaluation import DynamicEvaluation
from hf_lecture_models.lab.studies.marginal import MarginalScorer
from hf_lecture_models.loading import load_model
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization import corpus
from hf_lecture_models.tokenization.unigram import UnigramTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.forked_python import PATIENCE


def test_score_prints_a_line_per_text_and_measures_at_the_end(run, folder):
    held_out = ["the cat ran", "", "a zebra ran"]
    status, out, err = run("score", folder, stdin="\n".join(held_out) + "\n")
    assert status == 0
    assert [line.split(maxsplit=4)[4:] for line in out.splitlines()] == [["the cat ran"], [], ["a zebra ran"]]
    model, tokenizer = load_model(str(folder))
    expected = evaluate_language_model(model, tokenizer, held_out)
    measures = dict(line.split(maxsplit=1) for line in err.splitlines()[1:])
    for key in ("perplexity", "perplexity_without_unk", "bits_per_byte"):
        assert float(measures[key]) == pytest.approx(expected[key], rel=1e-5)
    assert (measures["unknown"], measures["unk_token"]) == ("1", "<unk>")
    logs = [float(line.split()[0]) for line in out.splitlines()]
    assert sum(logs) == pytest.approx(expected["log_prob"], abs=1e-3)


def test_score_for_programs(run, folder, tmp_path):
    (tmp_path / "texts.txt").write_text('the cat\r\n\n"é\\', encoding="utf-8")
    status, out, err = run("score", folder, tmp_path / "texts.txt", "--json", "--tokens")
    *rows, last = map(json.loads, out.splitlines())
    assert (status, err) == (0, "")
    assert [strict_json(row) for row in rows] == out.splitlines()[:-1]
    assert [row["text"] for row in rows] == ["the cat", "", '"é\\']
    assert [token["token"] for token in rows[0]["token_log_probs"]] == ["the", "cat", "</s>"]
    assert sum(token["log_prob"] for token in rows[0]["token_log_probs"]) == pytest.approx(rows[0]["log_prob"])
    assert last["summary"]["texts"] == 3
    _, out, _ = run("score", folder, tmp_path / "texts.txt", "--json", "--probability", "prefix")
    *rows, last = map(json.loads, out.splitlines())
    assert rows[1]["log_prob"] == 0.0
    assert "perplexity" not in last["summary"]


def test_lines_of_json_are_those_of_an_encoder():
    texts = ['"', "\\", "\x00\x1f\t", "é語👩\u2028", "%s %d", "{}", ""]
    numbers = [-0.5, -math.inf, math.nan, 1e-300, -1234567.875, 0.0, -0.0]
    columns = [texts, numbers, numbers[::-1], list(range(7)), list(range(7))]
    names = ("text", "log_prob", "log_prob_per_token", "tokens", "unknown")
    for conditions in ({}, {"method": '50 % of "it"', "a%sb": "é"}):
        for details in ([None] * 7, [[{"token": "%", "id": 3, "log_prob": number}] for number in numbers]):
            rows = [dict(zip(names, row, strict=True)) | conditions for row in zip(*columns, strict=True)]
            rows = [
                row | ({} if one is None else {"token_log_probs": one}) for row, one in zip(rows, details, strict=True)
            ]
            assert list(score._json_lines(conditions, *columns, details)) == [f"{strict_json(row)}\n" for row in rows]


def test_an_ngram_looks_up_more_lines_at_once_than_a_network_reads(run, folder, network, tmp_path, monkeypatch):
    (tmp_path / "texts.txt").write_text("the cat\n" * 9, encoding="utf-8")
    sizes, score_texts = [], score.score_texts

    def remember(model, tokenizer, texts, **options):
        sizes.append(len(texts))
        return score_texts(model, tokenizer, texts, **options)

    monkeypatch.setattr(score, "score_texts", remember)
    for name in (folder, network):
        assert run("score", name, tmp_path / "texts.txt", "--batch-size", "2")[0] == 0
    assert sizes == [9, 8, 1]


def test_score_as_one_stream(run, network):
    held_out = ["the cat ran", "", "a zebra ran", "the cat ran"]
    model, tokenizer = load_model(str(network))
    expected = evaluate_language_model(model, tokenizer, held_out, stream=True)
    status, out, err = run("score", network, "--stream", "--json", "--tokens", stdin="\n".join(held_out) + "\n")
    *rows, last = map(json.loads, out.splitlines())
    assert (status, err) == (0, "")
    assert [row["text"] for row in rows] == held_out
    assert rows[0]["log_prob"] != rows[3]["log_prob"]
    for key in ("perplexity", "bits_per_byte", "stream", "tokens"):
        assert last["summary"][key] == pytest.approx(expected[key])
    assert "stream  True" in run("score", network, "--stream", stdin="the cat\n")[2]
    status, _, err = run("score", network, "--stream", "--probability", "prefix", stdin="the cat\n")
    assert status == 2
    assert "not --probability prefix" in err


def test_a_stream_with_adaptation(run, network):
    held_out = ["the cat ran", "", "a zebra ran", "the cat ran"]
    options = ["--cache", "0.2", "--continuous-cache", "0.1", "--cache-window", "9", "--dynamic-evaluation", "0.05"]
    model, tokenizer = load_model(str(network))
    adaptation = [DynamicEvaluation(0.05), ContinuousCache(0.1, window=9), UnigramCache(0.2, window=9)]
    expected = evaluate_language_model(model, tokenizer, held_out, stream=True, score=AdaptedScorer(adaptation))
    status, out, err = run("score", network, "--stream", "--json", *options, stdin="\n".join(held_out) + "\n")
    summary = json.loads(out.splitlines()[-1])["summary"]
    assert (status, err) == (0, "")
    assert summary["perplexity"] == pytest.approx(expected["perplexity"])
    assert summary["adaptation"] == expected["adaptation"]
    assert "UnigramCache(weight=0.2" in run("score", network, "--stream", *options[:2], stdin="the cat\n")[2]
    status, _, err = run("score", network, *options[:2], stdin="the cat")
    assert status == 2
    assert "add --stream" in err


def test_adaptation_that_a_model_does_not_allow(run, folder):
    for option, message in (("--dynamic-evaluation", "no weights that learn"), ("--continuous-cache", "hidden states")):
        status, out, err = run("score", folder, "--stream", option, "0.1", stdin="the cat\n")
        assert (status, out) == (1, "")
        assert message in err


def test_an_impossible_text_is_null_for_programs(run, tmp_path):
    texts = ["the cat saw the dog", "a cat"]
    tokenizer = WordTokenizer.train(texts, unk_token=None, progress=False)
    NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha", progress=False).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    _, out, _ = run("score", tmp_path, "--json", stdin="the cat\nthe zebra\n")
    *rows, last = map(json.loads, out.splitlines())
    assert [row["log_prob"] is None for row in rows] == [False, True]
    assert last["summary"]["perplexity"] is None
    _, out, _ = run("rank", tmp_path, stdin="the zebra\nthe cat\n")
    assert [line.split()[1] == "-inf" for line in out.splitlines()] == [False, True]


def test_errors_in_standard_input(run, folder):
    status, _, err = run("score", folder, stdin=b"ok\ncaf\xe9\n")
    assert status == 1
    assert "standard input, line 2: not UTF-8" in err
    status, _, err = run("score", folder, stdin="")
    assert status == 1
    assert "no texts" in err


def test_a_line_of_standard_input_that_would_fill_the_memory(run, folder, monkeypatch):
    monkeypatch.setattr(corpus, "MAX_LINE_BYTES", 1000)
    status, _, err = run("score", folder, stdin=f"ok\n{'cat ' * 300}\n")
    assert status == 1
    assert "standard input, line 2: longer than 1000 bytes" in err


def test_lines_are_answered_as_they_come_and_ctrl_c_is_quiet(start, folder):
    process = start("score", folder, "--json")
    for text in ("the cat", "a dog"):
        process.stdin.write(f"{text}\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["text"] == text
        assert math.isfinite(answer["log_prob"])
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130
    assert process.stderr.read().split() == ["interrupted"]


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error(start, folder, tmp_path):
    (tmp_path / "many.txt").write_text("the cat saw the dog\n" * 20_000, encoding="utf-8")
    process = start("score", folder, tmp_path / "many.txt", "--json")
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(PATIENCE) in (0, 1, 141)
    assert process.stderr.read() == ""


def test_score_over_all_segmentations(run, folder, tmp_path):
    tokenizer = UnigramTokenizer.from_scores({"a": -1.0, "b": -1.0, "ab": -2.5})
    model = NGramForCausalLM.fit(["ab", "b"], tokenizer, order=2, smoothing="add_alpha", progress=False)
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path)
    status, out, _ = run("score", tmp_path, "--segmentations", "marginal", "--json", stdin="abab\n")
    row, last = map(json.loads, out.splitlines())
    expected = evaluate_language_model(model, tokenizer, ["abab"], score=MarginalScorer())
    assert (status, row["segmentations"], last["summary"]["segmentations"]) == (0, "exact", "exact")
    assert row["log_prob"] == pytest.approx(expected["log_prob"])
    status, _, err = run("score", tmp_path, "--segmentations", "marginal", "--stream", stdin="a")
    assert status != 0
    assert "neither --stream" in err
    status, _, err = run("score", folder, "--segmentations", "marginal", stdin="a")
    assert status != 0
    assert "not WordTokenizer" in err
