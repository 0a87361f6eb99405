# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture see`: what it prints is what `analysis` and `evaluation` compute, and the pictures come with it."""

import json
import math
import re

import pytest
from transformers import set_seed

from hf_lecture_models.analysis.attention_maps import get_attention_maps
from hf_lecture_models.analysis.gradient_flow import measure_gradient_flow, untrained
from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.loading import load_model
from hf_lecture_models.models.bert import LectureBertConfig, LectureBertForMaskedLM
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.wordpiece import WordPieceTokenizer
from tests.cli.conftest import TEXTS

TEXT = "the cat saw the dog"


@pytest.fixture(scope="session")
def bert(tmp_path_factory):
    path = tmp_path_factory.mktemp("see") / "bert"
    tokenizer = WordPieceTokenizer.train([text for text in TEXTS if text], vocab_size=60, progress=False)
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    set_seed(0)
    LectureBertForMaskedLM(LectureBertConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def svg(path):
    return path.read_text(encoding="utf-8")


def test_attention(run, bert, tmp_path):
    maps = get_attention_maps(*load_model(str(bert)), TEXT)
    status, out, err = run("see", "attention", bert, TEXT, "--layer", 2, "--head", 1, "-o", tmp_path / "map.svg")
    assert (status, err) == (0, "")
    title, *lines = out.splitlines()
    assert title == f"layer 2, head 1; uniform: {1 / len(maps.text.tokens):.3f}"
    assert [line.split("\t")[0] for line in lines] == list(maps.text.tokens)
    best = maps.of(2, 1)[1].topk(3)
    expected = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    assert lines[1].split("\t")[1] == "  ".join(f"{maps.text.tokens[i]} {value:.3f}" for i, value in expected)
    comments = " ".join(re.findall("<!-- (.*?) -->", svg(tmp_path / "map.svg")))
    assert "Colour: share of the row's largest weight. bert: [CLS] " in comments
    out = run("see", "attention", bert, TEXT, "--word", "cat", "-o", tmp_path / "word.png")[1]
    assert "of 4 heads" in out.splitlines()[2]
    assert len(out.splitlines()) == 3
    assert (tmp_path / "word.png").read_bytes().startswith(b"\x89PNG")
    row = json.loads(run("see", "attention", bert, "the cat", "--pair", "a dog", "--json")[1])
    assert (row["layers"], row["heads"], row["tokens"].count("[SEP]")) == (2, [2, 2], 2)
    row = json.loads(run("see", "attention", bert, TEXT, "--all", "--layer", 1, "-o", tmp_path / "a.pdf", "--json")[1])
    assert len(row["weights"]) == 2
    assert (tmp_path / "a.pdf").exists()


def test_gradients(run, network, tmp_path):
    model, tokenizer = load_model(str(network))
    options = ["--untrained", "--json", "--output", tmp_path / "flow.svg"]
    trained, fresh = map(json.loads, run("see", "gradients", network, TEXT, *options)[1].splitlines())
    assert trained["norms"] == pytest.approx(measure_gradient_flow(model, tokenizer, TEXT).norms.tolist())
    assert fresh["norms"] == pytest.approx(measure_gradient_flow(untrained(model), tokenizer, TEXT).norms.tolist())
    assert fresh["model"] == "lstm, untrained"
    assert "<!-- lstm, untrained -->" in svg(tmp_path / "flow.svg")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "lstm").symlink_to(network)
    (tmp_path / "lstm").symlink_to(network)
    out = run("see", "gradients", tmp_path / "lstm", TEXT, "--beside", tmp_path / "other" / "lstm")[1]
    assert f"{tmp_path}/lstm: |dh_L/du_l| by distance L - l\n    0  " in out
    assert f"{tmp_path}/other/lstm: " in out, "two of the same name are told apart"
    assert out.count("singular values of a step's Jacobian: ") == 2


def test_segmentation(run, bert, tmp_path):
    """Of a folder that holds a tokenizer alone."""
    load_model(str(bert))[1].save_pretrained(tmp_path / "pieces")
    status, out, err = run("see", "segmentation", tmp_path / "pieces", "dogs", "-o", tmp_path / "steps.svg")
    assert (status, err) == (0, "")
    assert out.splitlines()[0].split() == ["dogs", "word"]
    words = [json.loads(line) for line in run("see", "segmentation", bert, "the dog", "--json")[1].splitlines()]
    assert [word["word"] for word in words] == ["the", "dog"]
    assert words[0]["steps"][-1]["symbols"] == words[0]["tokens"]
    assert "<!-- “dogs” -->" in svg(tmp_path / "steps.svg")


def test_surprisal(run, folder, network, bert, tmp_path):
    options = ["--beside", network, "--beside", bert]
    status, out, err = run("see", "surprisal", folder, TEXT, *options, "-o", tmp_path / "bits.svg")
    assert (status, err) == (0, "")
    head, *rows, total = [line.split() for line in out.splitlines()]
    assert head == ["word", "trigram", "lstm", "bert"]
    assert [row[0] for row in rows] == [*TEXT.split(), "end"]
    assert rows[-1][3] == "-", "BERT has no end of text"
    for column, path in ((1, folder), (2, network)):
        (score,) = score_texts(*load_model(str(path)), [TEXT])
        assert [row[column] for row in rows] == [f"{-value / math.log(2):.2f}" for value in score.log_probs]
        assert total[column] == f"{-score.log_prob / math.log(2):.2f}"
    assert "<!-- bert -->" in svg(tmp_path / "bits.svg")
    out = run("see", "surprisal", folder, *options)[1]
    assert out.splitlines()[0] == "The parcel was secured by grey tape ."
    assert out.count("  trigram: ") == 5
    assert "more probable: the" in out


def test_smoothing(run, folder, network, tmp_path):
    """Of a trigram that gives 0.1 to each of nine words, beside its own relative frequencies."""
    tokenizer = load_model(str(folder))[1]
    counts = NGramForCausalLM.fit(TEXTS, tokenizer, 3, "maximum_likelihood", progress=False)
    counts.save_pretrained(tmp_path / "counts")
    tokenizer.save_pretrained(tmp_path / "counts")
    beside = ["--beside", tmp_path / "counts"]
    status, out, err = run("see", "smoothing", folder, "a", "dog", *beside, "-o", tmp_path / "shares.svg")
    assert (status, err) == (0, "")
    head, *rows = out.splitlines()
    assert head.split() == ["trigram", "counts"]
    # "a dog" occurs once: its follower has (1 + 0.1) / (1 + 0.8) where 8 words can follow, "dog" three times.
    assert rows[0].split() == ["seen", "after", "“a", "dog”", "(1)", f"{1.1 / 1.8:.4f}", "1.0000"]
    assert rows[1].split() == ["saw", f"{1.1 / 1.8:.4f}", "1.0000"]
    assert rows[2].split() == ["seen", "after", "“dog”", "(2)", f"{0.2 / 1.8:.4f}", "0.0000"]
    assert rows[5].split()[:3] == ["all", "other", "words"]
    assert "<!-- after “a dog” -->" in svg(tmp_path / "shares.svg")
    parts = [json.loads(line) for line in run("see", "smoothing", folder, "the", *beside, "--json")[1].splitlines()]
    assert [part["model"] for part in parts] == ["trigram", "counts"]
    for part in parts:
        assert math.isclose(sum(group["share"] for group in part["groups"]), 1, abs_tol=1e-5)
        assert [group["context"] for group in part["groups"]] == [["the"], []]
    assert run("see", "smoothing", folder)[1].splitlines()[1].startswith("all other words (8)")
    for arguments, message in (
        ([network, "the"], "RecurrentForCausalLM is no n-gram model"),
        ([folder, "zebra"], "'zebra' is not in the vocabulary"),
    ):
        assert message in run("see", "smoothing", *arguments)[2]


def test_learning(run, tmp_path):
    history = [{"step": 5, "epoch": 0.5, "loss": 2.5}, {"step": 1000, "epoch": 1.0, "loss": 1.25}]
    history.append({"step": 1000, "epoch": 1.0, "validation_f1": 0.75, "validation_rows": 9})
    record = {"metric": "f1", "history": history}
    (tmp_path / "training.json").write_text(json.dumps(record), encoding="utf-8")
    status, out, err = run("see", "learning", tmp_path, "-o", tmp_path / "curve.svg")
    assert (status, err) == (0, "")
    assert [line.split() for line in out.splitlines()] == [
        ["step", "epoch", "loss", "validation", "f1"],
        ["5", "0.5", "2.5"],
        ["1,000", "1", "1.25", "0.75"],
    ]
    assert "validation f1" in svg(tmp_path / "curve.svg")
    (tmp_path / "training.json").write_text(json.dumps(record | {"best_metric": 0.75}), encoding="utf-8")
    assert [line.split()[-1] for line in run("see", "learning", tmp_path)[1].splitlines()] == ["f1", "2.5", "kept"]
    assert [json.loads(line) for line in run("see", "learning", tmp_path, "--json")[1].splitlines()] == history
    (tmp_path / "training.json").write_text(json.dumps({"metric": "f1", "history": []}), encoding="utf-8")
    assert "has no history" in run("see", "learning", tmp_path)[2]
    assert "name the folder" in run("see", "learning", tmp_path / "none")[2]


def test_neighbours_is_the_verb(run, network):
    assert run("see", "neighbours", network, "cat", "-k", 2) == run("neighbours", network, "cat", "-k", 2)


def test_what_cannot_be_seen(run, folder, network, bert, tmp_path):
    for arguments, message in [
        (
            ["attention", folder, TEXT],
            "NGramForCausalLM has no attention weights between tokens; it can show its surpr",
        ),
        (["attention", network, TEXT], "gradients (see gradients) and its surprisal"),
        (["attention", bert, TEXT, "--layer", 3, "-o", tmp_path / "x.svg"], "no layer 3: they are counted from 1 to 2"),
        (["attention", bert, TEXT, "--layer", 1, "--head", 3], "no head 3: they are counted from 1 to 2"),
        (["attention", bert, TEXT, "--word", "zebra"], "no token of the text is 'zebra'"),
        (["attention", bert, "the " * 600], "and the model reads 512 at most"),
        (["gradients", folder, TEXT], "NGramForCausalLM has no word vectors"),
        (["segmentation", folder, TEXT], "WordTokenizer neither merges nor matches"),
        (["segmentation", tmp_path / "lm.arpa", TEXT], "there is no ARPA file"),
        (["segmentation", tmp_path / "none", TEXT], "none"),
        (["segmentation", tmp_path, TEXT], "has no tokenizer"),
        (["surprisal", tmp_path, TEXT], "config.json"),
    ]:
        status, out, err = run("see", *arguments)
        assert (status, out, len(err.splitlines())) == (1, "", 1), arguments
        assert err.startswith(f"hf-lecture see {arguments[0]}: ")
        assert message in err
    assert not (tmp_path / "x.svg").exists()
