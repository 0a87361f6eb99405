# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What goes wrong is one line that says what to do, and an exit status; signals leave nothing unfinished."""

import os
import signal
import sys
from types import SimpleNamespace

import pytest

from hf_lecture_models.cli.app import run_verb


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
