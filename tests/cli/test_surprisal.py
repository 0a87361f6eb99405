# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture surprisal`: a CSV row for each word, with columns for each model, that adds up to `hf-lecture score`."""

import csv
import io
import json
import math
import os
from contextlib import redirect_stderr, redirect_stdout

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

from hf_lecture_models.evaluation.scoring import score_stream, score_texts
from hf_lecture_models.evaluation.surprisal import score_text
from hf_lecture_models.lab.verbs import surprisal
from hf_lecture_models.loading import load_model
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer
from hf_lecture_models.tokenization.wordpiece import WordPieceTokenizer
from tests.cli.conftest import TEXTS
from tests.memory import memory_taken

LINES = 'the cat, "zebra"\n\na dog ran\n'


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A stock BERT of 12 positions."""
    path = tmp_path_factory.mktemp("surprisal") / "bert"
    tokenizer = WordPieceTokenizer.train([text for text in TEXTS if text], vocab_size=60, progress=False)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    torch.manual_seed(0)
    BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), max_position_embeddings=12, **sizes)).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def rows_of(out):
    return list(csv.DictReader(io.StringIO(out)))


def bits_by_text(rows, model):
    sums = {}
    for row in rows:
        sums[row["text"]] = sums.get(row["text"], 0.0) + float(row[f"{model}.bits"] or 0)
    return list(sums.values())


def test_every_word_of_every_line(run, folder, network, bert):
    status, out, err = run("surprisal", folder, "--beside", network, "--beside", bert, stdin=LINES)
    assert status == 0
    rows = rows_of(out)
    columns = ["text", "number", "kind", "word", "start", "end"]
    models = [f"{model}.{column}" for model in ("trigram", "lstm", "bert") for column in ("bits", "tokens", "unknown")]
    assert list(rows[0]) == columns + models
    assert [tuple(row[column] for column in columns) for row in rows[:5]] == [
        ("1", "1", "word", "the", "0", "3"),
        ("1", "2", "word", "cat,", "4", "8"),
        ("1", "3", "word", '"zebra"', "9", "16"),
        ("1", "4", "end", "</s>", "16", "16"),
        ("2", "1", "end", "</s>", "0", "0"),
    ]
    texts = LINES.splitlines()
    for name, path in (("trigram", folder), ("lstm", network)):
        expected = [-score.log_prob / math.log(2) for score in score_texts(*load_model(str(path)), texts)]
        assert bits_by_text(rows, name) == pytest.approx(expected, rel=1e-12)
        assert [row[f"{name}.unknown"] for row in rows] == ["False", "True", "True", *["False"] * 6]
    assert [row["bert.bits"] == "" for row in rows] == [row["kind"] == "end" for row in rows]
    assert [row["bert.tokens"] == "0" for row in rows] == [row["kind"] == "end" for row in rows]
    assert err.splitlines()[0].startswith("trigram: texts 3, words 6, tokens 9, unknown 2, bits ")
    assert err.splitlines()[2].startswith("bert: ")
    assert err.endswith(", given all other tokens of the text\n")


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("json", [False, True])
def test_a_long_line_takes_little_memory(tmp_path, json):
    """At most 400 bytes for each further word of a line; with lists of its words, rows and offsets it was 1,160."""
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="add_alpha", progress=False)
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "model")
    taken = []
    for words in (4_000, 4_000, 12_000):  # the first call imports what it needs
        (tmp_path / "line.txt").write_text("the cat saw a dog " * (words // 5) + "\n", encoding="utf-8")
        with (
            open(os.devnull, "w", encoding="utf-8") as nowhere,
            redirect_stdout(nowhere),
            redirect_stderr(nowhere),
            memory_taken() as memory,
        ):
            surprisal.run(str(tmp_path / "model"), [str(tmp_path / "line.txt")], [], False, json, 16)
        taken.append(memory.python)
    assert taken[2] - taken[1] < 400 * 8_000


def test_a_stream_has_a_context(run, network, bert):
    texts = ["the cat saw the dog", "a cat"]
    out = run("surprisal", network, "--stream", stdin="\n".join(texts))[1]
    expected = [-score.log_prob / math.log(2) for score in score_stream(*load_model(str(network)), texts)]
    assert bits_by_text(rows_of(out), "lstm") == pytest.approx(expected, rel=1e-12)
    assert "BertForMaskedLM reads one text at a time" in run("surprisal", bert, "--stream", stdin="the cat")[2]


def test_windows_are_said(run, network, tmp_path):
    """A stock GPT-2 of 8 positions, with the network's tokenizer."""
    tokenizer = load_model(str(network))[1]
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 8}
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **sizes, **ids)).save_pretrained(tmp_path / "gpt2")
    tokenizer.save_pretrained(tmp_path / "gpt2")
    for text, said in (("the cat ran", False), ("the cat saw the dog the cat ran", True)):
        status, _, err = run("surprisal", tmp_path / "gpt2", stdin=text)
        assert (status, "window 8, stride 4" in err) == (0, said)


def test_json_has_the_same_rows(run, folder, bert, tmp_path):
    (tmp_path / "text.txt").write_bytes(LINES.replace("\n", "\r\n").encode())
    options = [folder, tmp_path / "text.txt", "--beside", bert]
    *lines, last = map(json.loads, run("surprisal", *options, "--json")[1].splitlines())
    rows = rows_of(run("surprisal", *options)[1])
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        for model in ("trigram", "bert"):
            found = line["models"][model]
            cells = ("" if found["bits"] is None else str(found["bits"]), str(found["tokens"]), str(found["unknown"]))
            assert cells == tuple(row[f"{model}.{column}"] for column in ("bits", "tokens", "unknown"))
        assert (line["word"], str(line["start"])) == (row["word"], row["start"])
    assert last["summary"]["trigram"]["words"] == 6


def test_what_has_no_surprisal_is_refused(run, folder, bert, place):
    for arguments, stdin, message in [
        ([folder], "", "there are no lines to read"),
        ([folder, "--beside", folder], "the cat", "a model is named twice"),
        ([bert], "cat " * 20, "text that begins with 'cat cat cat"),
        ([folder], b"\xff\xfe", "standard input, line 1: not UTF-8"),
    ]:
        status, _, err = run("surprisal", *arguments, stdin=stdin)
        assert status == 1
        assert message in err.splitlines()[-1]
    out = run("surprisal", folder, "--beside", place / "trigram", stdin="cat")[1]
    assert f"{folder}.bits" in out.splitlines()[0], "two of the same name are told apart"


def test_models_that_see_other_words_are_refused(folder):
    """A bound of the text for one tokenizer may be a word for another."""
    model, tokenizer = load_model(str(folder))[:2]
    scored = [score_text(model, tokenizer, text) for text in ("the cat", "the")]
    sums = [surprisal._Sums(model, False) for _ in scored]
    with pytest.raises(ValueError, match="see different numbers of words in line 3"):
        list(surprisal._rows(3, scored, sums, ""))
