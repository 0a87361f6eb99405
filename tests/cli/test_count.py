# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture count`: texts and count files into a count file, or a model."""

import gzip
import json
import re

import numpy as np
import pytest

from hf_lecture_models.loading import load_model
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.models.ngram.count_files.slow_counts import lines_of, slow_counts

TEXTS = ["the cat sat", "a dog saw the cat", "", "the dog ran"]


@pytest.fixture
def files(tmp_path):
    """Texts and their first half, in files."""
    (tmp_path / "all.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    (tmp_path / "first.txt").write_text("\n".join(TEXTS[:2]) + "\n", encoding="utf-8")
    (tmp_path / "second.txt.gz").write_bytes(gzip.compress(("\n".join(TEXTS[2:]) + "\n").encode()))
    return tmp_path


def expected(order):
    return lines_of(slow_counts([text.split() for text in TEXTS], order))


def test_texts_of_all_files_are_counted(run, files):
    status, out, err = run("count", files / "first.txt", files / "second.txt.gz", "-o", files / "new.counts")
    assert (status, err) == (0, "")
    assert out == f"texts: 4\n{files / 'new.counts'}: 9 1-grams, 13 2-grams, 11 3-grams\n"
    assert (files / "new.counts").read_text().splitlines() == expected(3)
    status, out, _ = run("count", "-o", files / "in.counts.gz", "--order", 2, stdin="\n".join(TEXTS) + "\n")
    assert status == 0
    assert gzip.decompress((files / "in.counts.gz").read_bytes()).decode().splitlines() == expected(2)


def test_count_files_are_added(run, files):
    for name in ("first.txt", "second.txt.gz"):
        assert run("count", files / name, "--output", files / f"{name}.counts")[0] == 0
    parts = [files / "first.txt.counts", files / "second.txt.gz.counts"]
    assert run("count", *parts, "-o", files / "sum.counts")[0] == 0
    assert (files / "sum.counts").read_text().splitlines() == expected(3)
    # A text and a count file; a count file of another name; fewer orders.
    assert run("count", parts[0], files / "second.txt.gz", "-o", files / "both.counts")[0] == 0
    assert (files / "both.counts").read_text().splitlines() == expected(3)
    (files / "sum.counts").rename(files / "sum.3grams")
    _, out, _ = run("count", "--counts", files / "sum.3grams", "--order", 2, "-o", files / "two", "--json")
    assert json.loads(out) == {"output": str(files / "two"), "texts": 4, "ngrams": [9, 13]}
    assert (files / "two").read_text().splitlines() == expected(2)
    with pytest.warns(UserWarning, match="is read as a text, but its lines end in counts; give --counts"):
        assert run("count", files / "sum.3grams", "-o", files / "x.counts")[0] == 1  # some lines begin with <s>


@pytest.mark.parametrize("target", ["lm.arpa", "folder"])
def test_a_model_comes_from_counts(run, files, target):
    run("count", files / "all.txt", "-o", files / "all.counts", "--order", 2)
    options = ("--model", files / target, "--smoothing", "add_alpha", "--json")
    status, out, err = run("count", files / "all.counts", *options)
    assert (status, err) == (0, "")
    facts = {"output": None, "texts": 4, "ngrams": [9, 13], "model": str(files / target), "model_ngrams": [10, 13]}
    assert json.loads(out) == facts
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    fitted = NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="add_alpha", progress=False)
    model, its_tokenizer = load_model(str(files / target))
    if target == "folder":
        assert its_tokenizer.get_vocab() == tokenizer.get_vocab()
        assert np.array_equal(model.tables().log10_probs[1], fitted.tables().log10_probs[1])
    fitted.save_arpa(files / "a.arpa", tokenizer)
    model.save_arpa(files / "b.arpa", its_tokenizer)
    assert sorted((files / "a.arpa").open()) == sorted((files / "b.arpa").open())


def test_held_out_texts_set_the_weights(run, files):
    options = ("--model", files / "lm.arpa", "--smoothing", "jelinek_mercer", "--order", 2)
    status, _, err = run("count", files / "first.txt", *options)
    assert status == 2
    assert "--smoothing jelinek_mercer needs --held-out" in " ".join(err.split())
    status, out, _ = run("count", files / "first.txt", *options, "--held-out", files / "all.txt")
    assert status == 0
    assert "lm.arpa: " in out


def test_what_is_refused(run, files, folder):
    (files / "lm").write_text("\\data\\\nngram 1=1\n")
    (files / "there.counts").write_text("before")
    (files / "bad.counts").write_text("a b\n")
    (files / "short.counts").write_text("a\t1\n")
    new = files / "new.counts"
    for arguments, code, message in [
        ((files / "all.txt",), 2, "give --output COUNTS, --model OUT or both"),
        ((files / "all.txt", "-o", new, "--smoothing", "katz"), 2, "--smoothing and --held-out need --model"),
        (("-", "--counts", "-o", new), 2, "standard input is a text"),
        ((files / "all.txt", "-o", files / "there.counts"), 1, "there.counts is there already"),
        ((files / "all.txt", "-o", files / "new.arpa"), 1, "--output is .*new.arpa, which has the name of a model"),
        ((files / "all.txt", "--model", new), 1, "would be a folder"),
        ((files / "all.txt", "--model", files / "new", "--smoothing", "x"), 1, "--smoothing is 'x'; it must be one of"),
        ((files / "missing.txt", "-o", new), 1, "there is no file"),
        ((files, "-o", new), 1, "has no 1gms/vocab.gz"),
        ((files / "lm", "-o", new), 1, "lm is a model; name texts, or files of counts"),
        ((files / "all.txt", folder, "-o", new), 1, "is a model; name texts, or files of counts"),
        ((files / "bad.counts", "-o", new), 1, "bad.counts, line 1: the count is 'b'"),
        ((files / "short.counts", "--order", 2, "-o", new), 1, "--order is 2, but the longest .* have 1 words"),
        ((files / "short.counts", "--model", files / "new"), 1, "no n-gram has </s>"),
    ]:
        status, out, err = run("count", *arguments)
        assert (status, out) == (code, "")
        assert re.search(message, err)
    assert not new.exists()
    assert (files / "there.counts").read_text() == "before"
