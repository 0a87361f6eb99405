# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A trigram and an untrained LSTM in folders, and two ways to run a command on them."""

import os
import shutil
import sys

import pytest
from transformers import set_seed

from hf_lecture_cli import app
from hf_lecture_models.loading import load_model
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.forked_python import HF_LECTURE, ForkedPython

TEXTS = ["the cat saw the dog", "a dog saw a cat", "the dog ran", "the cat ran", "", "a cat"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A trigram."""
    path = tmp_path_factory.mktemp("cli") / "trigram"
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=3, smoothing="add_alpha", alpha=0.1, progress=False)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture(scope="session")
def network(tmp_path_factory):
    """An untrained LSTM: what it says depends on all that it has read."""
    path = tmp_path_factory.mktemp("cli") / "lstm"
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    config = RecurrentConfig(vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, **ids)
    set_seed(0)
    RecurrentForCausalLM(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture
def place(folder, network, tmp_path):
    """A folder with everything that the commands of `writers` read."""
    for model in (folder, network):
        shutil.copytree(model, tmp_path / model.name)
    load_model(str(folder))[0].save_arpa(tmp_path / "lm.arpa", load_model(str(folder))[1])
    (tmp_path / "text.txt").write_text("\n".join(f"the cat saw the dog number {n % 7}" for n in range(99)), "utf-8")
    (tmp_path / "pairs").mkdir()
    pair = '{"sentence_good": "the cat ran", "sentence_bad": "cat the ran", "UID": "x", "field": "syntax", '
    (tmp_path / "pairs" / "x.jsonl").write_text(pair + '"linguistics_term": "order"}\n', encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    return tmp_path


@pytest.fixture
def run(monkeypatch, capsys):
    """Exit status, output and errors of a command, without the seconds that a new process costs."""

    def in_this_process(*arguments, stdin=None):
        if stdin is not None:
            reader, writer = os.pipe()
            os.write(writer, stdin.encode() if isinstance(stdin, str) else stdin)
            os.close(writer)
            monkeypatch.setattr(sys, "stdin", os.fdopen(reader))
        with pytest.raises(SystemExit) as stop:
            app([str(argument) for argument in arguments], prog_name="hf-lecture")
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return in_this_process


@pytest.fixture
def start():
    """Start a command as a process with pipes; it is gone when the test is."""
    started = []

    def launch(*arguments):
        started.append(ForkedPython(*HF_LECTURE, *arguments))
        return started[-1]

    yield launch
    for process in started:
        process.kill()
