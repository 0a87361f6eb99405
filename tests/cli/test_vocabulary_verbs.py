# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture cut` and `hf-lecture extend`."""

import json

import pytest

from hf_lecture_models.loading import load_model


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("the DH AH0\ncat K AE1 T\nzebra Z\n", encoding="utf-8")
    return path


def test_cut(run, folder, words, tmp_path):
    for target in ("cut.arpa", "cut.arpa.gz", "cut"):
        status, out, err = run("cut", folder, words, tmp_path / target, "--json")
        assert (status, err) == (0, "")
        told = json.loads(out)
        assert (told["words_before"], told["words_kept"], told["words_that_the_model_lacks"]) == (6, 2, 1)
        assert 0 < told["unknown_word_before"] < told["unknown_word_now"] < 1
        _, tokenizer = load_model(str(tmp_path / target))
        assert tokenizer.tokenize("the dog") == ["the", "<unk>"]
        assert told["ngrams"] == [len(tokenizer) - 1, *load_model(str(tmp_path / target))[0].config.table_sizes[1:]]
    scores = {run("score", tmp_path / name, stdin="the cat saw a dog\n")[1] for name in ("cut.arpa", "cut.arpa.gz")}
    assert len(scores) == 1
    status, out, _ = run("cut", tmp_path / "cut.arpa", words, tmp_path / "again")  # it may be repeated
    assert (status, "words before: 2\nwords kept: 2\n" in out) == (0, True)


def test_extend(run, folder, words, tmp_path):
    status, out, err = run("extend", folder, "zebra:dog,quokka:1e-3,new,cat", tmp_path / "more.arpa")
    assert (status, err) == (0, "")
    assert out.startswith("words added: 3\nwords that were there: 1\n")
    scored = [run("score", tmp_path / "more.arpa", "--json", stdin=f"the {word}\n")[1] for word in ("dog", "zebra")]
    dog, zebra = (json.loads(text.splitlines()[0])["log_prob"] for text in scored)
    assert zebra == pytest.approx(dog)
    status, out, _ = run("extend", folder, words, tmp_path / "more", "--from-unk", "--json")
    assert "cannot be like" in run("extend", folder, "zebra:none", tmp_path / "none")[2]
    assert status == 1  # DH is no word of the model
    words.write_text("the\nzebra 1e-4\n", encoding="utf-8")
    status, out, _ = run("extend", folder, words, tmp_path / "more", "--from_unk", "--json")
    assert (status, json.loads(out)["words_added"]) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cut", "{folder}", "{words}", "{words}"], "is there already"),
        (["cut", "{folder}", "{words}", "x.json"], "x.json would be a folder, but .json is the suffix of a file"),
        (["cut", "{folder}", "missing", "x"], "there is no file missing"),
        (["cut", "{network}", "{words}", "x"], "holds RecurrentForCausalLM; name an n-gram model"),
        (["cut", "nowhere/at/all", "{words}", "x"], "there is no folder"),
        (["extend", "{folder}", "the", "x"], "the model has all 1 words of 'the' already"),
        (["extend", "{folder}", "the:0.1", "x"], "the word 'the' is in the model already"),
        (["extend", "{folder}", "zebra:0.9,quokka:0.2", "x"], "take a probability of 1.1"),
        (["extend", "{folder}", ",", "x"], "has no words"),
        (["extend", "{folder}", "names.txt", "x"], "there is no file names.txt"),
        (["extend", "{folder}", "./names", "x"], "there is no file ./names"),
        (["extend", "{folder}", "zebra:2", "x"], "no word of the model, and a probability is above 0 and below 1"),
        (["cut", "{folder}", ".", "x"], "there is no file .; name one with a word in each line"),
    ],
)
def test_what_is_refused(run, folder, network, words, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    filled = [argument.format(folder=folder, network=network, words=words) for argument in arguments]
    status, out, err = run(*filled)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert message in err
    assert {path.name for path in tmp_path.iterdir()} == {"words.txt"}
