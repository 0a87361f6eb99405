# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture generate --interactive`, through a pipe and through a terminal."""

import io
import os
import select
import sys
import time

import pytest

from hf_lecture_cli import app
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.cli import autocomplete
from tests.forked_python import HF_LECTURE, PATIENCE, ForkedPython


class Terminal:
    """The command on a terminal of its own."""

    def __init__(self, folder):
        import pty

        self.ours, theirs = pty.openpty()
        command = [*HF_LECTURE, "generate", folder, "--interactive"]
        self.process = ForkedPython(*command, terminal=theirs, TERM="dumb", COLUMNS="200", INPUTRC=os.devnull)
        os.close(theirs)
        self.seen = ""

    def wait_for(self, text):
        limit = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < limit, self.seen
            if select.select([self.ours], [], [], 1)[0]:
                self.seen += os.read(self.ours, 4096).decode()
        self.seen = self.seen.partition(text)[2]

    def type(self, keys):
        os.write(self.ours, keys.encode())

    def interrupt(self):
        """Press Ctrl-C, and again where Python overlooked it: it does while it is not yet waiting for a key.

        The new line says that it was noticed: another one would then reach the end of the program.
        """
        limit = time.monotonic() + PATIENCE
        while "\n" not in self.seen:
            assert time.monotonic() < limit, self.seen
            self.type("\x03")
            while "\n" not in self.seen and select.select([self.ours], [], [], 30)[0]:
                self.seen += os.read(self.ours, 4096).decode()
        return self.process.wait(PATIENCE)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


@pytest.fixture
def terminal(folder):
    pytest.importorskip("pty")
    opened = Terminal(folder)
    yield opened
    opened.close()


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


def test_numbers_that_are_no_choice_are_text(monkeypatch, capsys, folder):
    lines = answers(monkeypatch, capsys, folder, "7\n9\n")
    assert lines == ["7", "  no word begins with '7'", "79", "  no word begins with '79'"]


def test_options_that_do_not_go_with_it(folder, capsys):
    for option in (["--sample"], ["-p", "the"], ["--json"], ["--max-new-tokens", "50"]):
        with pytest.raises(SystemExit) as stop:
            app(["generate", str(folder), "--interactive", *option], prog_name="hf-lecture")
        assert stop.value.code == 2
        assert "--interactive goes with --number alone" in " ".join(capsys.readouterr().err.split())


def test_on_a_terminal(terminal):
    readline = pytest.importorskip("readline")
    assert readline
    terminal.wait_for("Tab takes the likeliest word.")
    terminal.wait_for("> ")
    terminal.type("the c\t")
    terminal.wait_for("the cat ")
    terminal.type("\n")
    terminal.wait_for("(the text ends here)")
    terminal.wait_for("the cat > ")
    terminal.type("r\n")
    terminal.wait_for("  1   33.333 %  ran")
    terminal.wait_for("the cat r> ")
    terminal.type("1\n")
    terminal.wait_for("the cat ran > ")
    terminal.type("\x04")
    assert terminal.process.wait(PATIENCE) == 0


def test_ctrl_c_ends_it_quietly(terminal):
    terminal.wait_for("> ")
    terminal.type("the")
    terminal.wait_for("the")
    assert terminal.interrupt() == 0
    assert "Traceback" not in terminal.seen
