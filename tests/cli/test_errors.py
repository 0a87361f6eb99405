# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What goes wrong is one line that says what to do, and an exit status; signals leave nothing unfinished."""

import json
import os
import shutil
import signal
import sys
from types import SimpleNamespace

import pytest
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

from hf_lecture_models.cli.app import run_verb
from hf_lecture_models.loading import load_model
from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentModel


def test_errors_are_one_line_that_says_what_to_do(run, folder, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "weights.bin").write_bytes(b"\0")
    (tmp_path / "latin.txt").write_bytes(b"ok\ncaf\xe9\n")
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in folder.iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    (broken / "model.safetensors").write_bytes(b"\0" * 20)
    cases = [
        (["score", tmp_path / "nowhere"], "there is no folder"),
        (["score", "no-such-model"], "no folder or ARPA file no-such-model"),
        (["score", tmp_path / "empty"], "no config.json"),
        (["score", tmp_path / "weights.bin"], "is a file"),
        (["rank", folder, tmp_path / "nothing.txt"], "there is no file"),
        (["predict", folder, tmp_path / "nothing.txt"], "there is no file"),
        (["translate", folder, tmp_path / "nothing.txt"], "there is no file"),
        (["generate", folder, "a prompt"], "--prompt"),
        (["score", folder, tmp_path / "latin.txt"], "line 2: not UTF-8"),
        (["score", tmp_path / "missing.arpa"], "there is no ARPA file"),
        (["convert", tmp_path / "missing.arpa", tmp_path / "new"], "there is no ARPA file"),
        (["score", folder, tmp_path / "empty"], "is a folder: name text files"),
        (["exec", "python", tmp_path / "missing.py"], "there is no file"),
        (["exec", "python", "-m", "no_such_module.part"], "there is no module no_such_module.part"),
        (["exec", "python", "-u", "x"], "python -c CODE"),
        (["score", broken], ""),
        (["convert", tmp_path / "nowhere", tmp_path / "x.arpa"], "there is no folder"),
        (["exec", "no-such-program"], "no console script no-such-program"),
        (["exec", "transfomers"], "did you mean transformers"),
    ]
    for arguments, message in cases:
        status, _, err = run(*arguments)
        assert status == 1, arguments
        last = err.splitlines()[-1]
        assert last.startswith(f"hf-lecture {arguments[0]}: "), err
        assert message in last
        assert "Traceback" not in err


def test_all_files_are_checked_before_the_first_is_scored(run, folder, tmp_path):
    (tmp_path / "texts.txt").write_text("the cat\n", encoding="utf-8")
    for command in ("score", "rank", "generate"):
        status, out, err = run(command, folder, tmp_path / "texts.txt", tmp_path / "missing.txt")
        assert (status, out, len(err.splitlines())) == (1, "", 1)
        assert "there is no file" in err
        assert ("--prompt" in err) == (command == "generate")


def test_a_model_that_lacks_weights_is_refused(run, folder, tmp_path):
    headless, renamed = tmp_path / "headless", tmp_path / "renamed"
    RecurrentModel(RecurrentConfig(vocab_size=9, hidden_size=4, num_hidden_layers=1)).save_pretrained(headless)
    AutoTokenizer.from_pretrained(folder).save_pretrained(headless)
    shutil.copytree(folder, renamed)
    config = {"model_type": "lecture_recurrent", "vocab_size": 9, "hidden_size": 4, "num_hidden_layers": 1}
    (renamed / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for model in (headless, renamed):
        status, out, err = run("score", model, stdin="the cat\n")
        assert (status, out, len(err.splitlines())) == (1, "", 1)
        assert str(model) in err
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tied = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_embd=4, n_layer=1, n_head=1))
    tied.save_pretrained(tmp_path / "tied")
    tokenizer.save_pretrained(tmp_path / "tied")
    assert load_model(str(tmp_path / "tied"))[0].config.model_type == "gpt2"
    del tied.transformer.wpe
    tied.save_pretrained(tmp_path / "tied")
    assert "transformer.wpe.weight; name a folder that GPT2LMHeadModel" in run("score", tmp_path / "tied")[2]


@pytest.fixture
def verb(monkeypatch):
    """A verb that sends a signal to its own process, half way through."""
    seen = []

    def run_it(number):
        try:
            os.kill(os.getpid(), number)
            seen.append("finished")
        finally:
            seen.append("tidied up")

    monkeypatch.setitem(sys.modules, "hf_lecture_models.cli.probe", SimpleNamespace(run=run_it))
    return seen


@pytest.mark.parametrize(("name", "status", "message"), [("SIGINT", 130, "interrupted\n"), ("SIGTERM", 143, "")])
def test_a_signal_ends_a_verb_as_an_exception_does(verb, capsys, name, status, message):
    number = signal.Signals[name]
    before = signal.signal(number, lambda *_: pytest.fail("the verb's own handler is not in place"))
    try:
        outside = signal.getsignal(number)
        with pytest.raises(SystemExit) as stop:
            run_verb("score", "cli.probe", {"number": number})
        assert (stop.value.code, verb) == (status, ["tidied up"])
        assert capsys.readouterr().err == message
        assert signal.getsignal(number) is outside
    finally:
        signal.signal(number, before)


def test_a_signal_that_the_process_ignores_stays_ignored(verb):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run_verb("score", "cli.probe", {"number": signal.SIGINT})
        assert verb == ["finished", "tidied up"]
    finally:
        signal.signal(signal.SIGINT, before)
