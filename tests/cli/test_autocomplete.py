# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture generate --interactive`, through a pipe and through a terminal."""

import io
import sys

import pytest

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.cli import autocomplete

TEXTS = ["the cat saw the dog", "the cat ran", "a dog saw a cat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("autocomplete")
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="maximum_likelihood", progress=False)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def answers(monkeypatch, capsys, folder, typed, number=2):
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    autocomplete.run(str(folder), number)
    return capsys.readouterr().out.splitlines()


def test_through_a_pipe(monkeypatch, capsys, folder):
    lines = answers(monkeypatch, capsys, folder, "the c\n1\nr\n1\n\nxyz\n")
    assert lines[:2] == ["the c", "  1   66.667 %  cat"]
    # The number took "cat"; after it: saw 1, ran 1, end 1 of 3.
    assert lines[2] == "the cat "
    assert sorted(line.split()[-1] for line in lines[3:5]) == ["ran", "saw"]
    assert lines[5] == "      33.333 %  (the text ends here)"
    # What is typed goes on where the text stands.
    assert lines[6:8] == ["the cat r", "  1   33.333 %  ran"]
    assert lines[8] == "the cat ran "
    # An empty line begins anew.
    assert lines[-6:-2] == ["", "  1   66.667 %  the", "  2   33.333 %  a", "       0.000 %  (the text ends here)"]
    assert lines[-2:] == ["xyz", "  no word begins with 'xyz'"]
