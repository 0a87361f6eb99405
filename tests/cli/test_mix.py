# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture mix`: weights given or found, mixtures as folders and as ARPA files, and what it says of a text."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch

from hf_lecture_models.loading import load_model
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer

OTHERS = ["the bird saw a fish", "a bird sang to the dog", "the dog sang"]
HELD_OUT = ["the cat saw a bird", "the dog ran to the unseen fish", "a dog sang"]
EVENTS = 18


@pytest.fixture
def other(tmp_path):
    """A 2-gram of other words, in an ARPA file."""
    tokenizer = WordTokenizer.train(OTHERS, progress=False)
    model = NGramForCausalLM.fit(OTHERS, tokenizer, 2, "add_alpha", progress=False)
    model.save_arpa(tmp_path / "other.arpa", tokenizer)
    return tmp_path / "other.arpa"


@pytest.fixture
def held_out(tmp_path):
    (tmp_path / "held.txt").write_text("\n".join(HELD_OUT) + "\n", encoding="utf-8")
    return tmp_path / "held.txt"


def perplexity(name):
    """Of the held-out text with its unknown word, by the saved model."""
    model, tokenizer = load_model(str(name))
    rows = [[tokenizer.bos_token_id, *tokenizer(t, add_special_tokens=False).input_ids] for t in HELD_OUT]
    nats = [model.score(torch.tensor([[*row, tokenizer.eos_token_id]])).double().sum().item() for row in rows]
    return math.exp(-sum(nats) / EVENTS)


@pytest.mark.parametrize("out", ["mixture", "mixture.arpa", "mixture.arpa.gz"])
def test_weights_of_a_text(run, folder, other, held_out, tmp_path, out):
    static = [] if out == "mixture" else ["--static"]
    target = tmp_path / out
    status, printed, err = run("mix", folder, other, target, *static, "--held_out", held_out, "--json")
    assert (status, err) == (0, "")
    found = json.loads(printed)
    assert (found["events"], found["impossible_events"], found["output"]) == (EVENTS, 0, str(target))
    assert [entry["model"] for entry in found["models"]] == [str(folder), str(other)]
    assert sum(entry["weight"] for entry in found["models"]) == pytest.approx(1)
    assert found["models"][0]["standard_error"] == pytest.approx(found["models"][1]["standard_error"])  # 1 - the other
    # bird, to, unseen, fish, sang; and cat, ran, unseen
    assert [entry["unknown"] for entry in found["models"]] == [5, 3]
    assert [entry["perplexity"] for entry in found["models"]] == [None, None]  # infinite
    assert found["mixture"]["unknown"] == 1
    kind = "static_mixture" if static else "mixture"
    assert found[kind]["perplexity"] == pytest.approx(perplexity(target), rel=1e-4)
    assert ("static_mixture" in found) == bool(static)
    assert len(found["ngrams"]) == (3 if static else 2)  # one table of three orders, or the tables of two models
    assert run("score", target, stdin="the cat saw a bird\n")[0] == 0


def test_each_models_perplexity_of_its_own_words(run, folder, other, held_out, tmp_path):
    found = json.loads(run("mix", folder, other, tmp_path / "out", "--held-out", held_out, "--json")[1])
    for entry in found["models"]:
        model, tokenizer = load_model(entry["model"])
        nats = []
        for line in HELD_OUT:
            context = [tokenizer.bos_token_id]
            for word in [*line.split(), "</s>"]:
                if word not in tokenizer.get_vocab():
                    # A word of the other model is no <unk>: after it, a context begins.
                    context = [tokenizer.unk_token_id] if word == "unseen" else []
                    continue
                context.append(tokenizer.convert_tokens_to_ids(word))
                if len(context) > 1:
                    nats.append(model.score(torch.tensor([context]))[0, -1].item())
                else:
                    nats.append(float(model.tables().log10_probs[0][context[0]]) * math.log(10))
        assert entry["perplexity_without_unk"] == pytest.approx(math.exp(-np.mean(nats)), rel=1e-4)


def test_given_weights_and_lines(run, folder, other, held_out, tmp_path):
    status, out, err = run("mix", folder, other, tmp_path / "lm.arpa", "--static", "--weights", "0.3,0.7")
    assert (status, err) == (0, "")
    first, second, last = out.splitlines()
    assert (first, second) == (f"{folder}: weight 0.3000", f"{other}: weight 0.7000")
    assert last.startswith(f"{tmp_path / 'lm.arpa'}: ")
    status, out, err = run("mix", folder, other, tmp_path / "out", "--weights", "0.3,0.7", "--held-out", held_out)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"{folder}: weight 0.3000, perplexity inf, ")
    assert lines[0].endswith(" without 5 unknown words")
    assert lines[2].startswith("mixture: perplexity ")
    assert lines[3] == "events: 18; 0 have the probability 0 in all models"
    assert len(lines) == 6  # a line for the n-grams of each model
    assert load_model(str(tmp_path / "out"))[0].config.mixture_weights == [0.3, 0.7]


def test_a_model_that_is_of_no_use_is_at_its_bound(run, folder, held_out, tmp_path):
    (tmp_path / "bad.txt").write_text("ran ran ran cat cat", encoding="utf-8")
    tokenizer = load_model(str(folder))[1]
    bad = NGramForCausalLM.fit(tmp_path / "bad.txt", tokenizer, 1, "add_alpha", alpha=1e-6, progress=False)
    bad.save_pretrained(tmp_path / "bad")
    tokenizer.save_pretrained(tmp_path / "bad")
    (tmp_path / "seen.txt").write_text("the cat saw the dog\n", encoding="utf-8")
    status, out, _ = run("mix", folder, tmp_path / "bad", tmp_path / "out", "--held-out", tmp_path / "seen.txt")
    assert status == 0
    assert "bad: weight 0.0001 (at its bound: no standard error), perplexity" in out
    assert "weight 0.9999, perplexity" in out


def test_what_is_refused_before_any_work(run, folder, other, held_out, tmp_path, monkeypatch):
    def never(name):
        raise AssertionError(name)

    monkeypatch.setattr("hf_lecture_models.cli.mix.load_ngrams", never)
    new = tmp_path / "new"
    for arguments, message in (
        (
            [folder, other, tmp_path / "new.arpa", "--weights", "0.5,0.5"],
            "use --static for one model, or name a folder",
        ),
        ([folder, other, tmp_path / "new.bin", "--weights", "0.5,0.5"], "use --static for one model, or name a folder"),
        ([folder, other, folder, "--weights", "0.5,0.5"], "is there already; remove it or name another"),
        ([folder, other, new, "--weights", "0.5,a"], "--weights is '0.5,a'; give a number for each model"),
        ([folder, other, new, "--weights", "0.5,0.6"], "--weights are [0.5, 0.6], together 1.1; give numbers above 0"),
        ([folder, other, new, "--weights", "1"], "--weights are 1 for 2 models; give one for each"),
        ([folder, other, new, "--held-out", tmp_path / "none"], f"there is no file {tmp_path / 'none'}; name a text"),
    ):
        status, out, err = run("mix", *arguments)
        assert (status, out) == (1, "")
        assert message in err
        assert err.count("\n") == 1
    status, _, err = run("mix", folder, other, new)
    assert status == 2
    assert "give --weights, or --held-out FILE, a text that sets them" in err
    assert not new.exists()


def test_what_is_refused_of_the_models(run, folder, network, tmp_path):
    message = f"{folder} alone cannot be mixed; name two models or more, and OUT last (now {tmp_path / 'new'})"
    assert message in run("mix", folder, tmp_path / "new", "--weights", "0.5,0.5")[2]
    assert "name an n-gram model" in run("mix", folder, network, tmp_path / "new", "--weights", "0.5,0.5")[2]
    assert not (tmp_path / "new").exists()
