# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Bars are for terminals: none in a pipe, and one on a (pseudo) terminal.

Bars that begin after five seconds, and lines in a log: tests/io/test_progress.py, by a clock that the tests move.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

for package in ("accelerate", "datasets", "matplotlib"):
    pytest.importorskip(package)
pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")


ROOT = Path(__file__).parents[2]

TRAIN = """
layout: stream
batch_size: 2
sequence_length: 6
train_files: [texts.jsonl]
tokenizer: {type: bpe, vocab_size: 40}
model: {model_type: lecture_recurrent, hidden_size: 8, num_hidden_layers: 1}
output_dir: out
"""


FIT = """
order: 2
train_files: [texts.jsonl]
output_dir: out
"""


# Scripts with a recipe, and the bars that a run of any length shows.
SCRIPTS = {
    "train_causal_lm.py": (TRAIN, ("Generating train split", "step/s")),
    "fit_ngram.py": (FIT, ("Generating train split",)),
}


def on_a_terminal(command, **options):
    """Exit status and standard error of a command for which that is a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, **options)
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the last writer is gone
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    return process.wait(), seen.decode()


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("script", SCRIPTS)
def test_bars_are_shown_on_a_terminal_only(tmp_path, monkeypatch, script, terminal):
    recipe, bars = SCRIPTS[script]
    (tmp_path / "recipe.yaml").write_text(recipe)
    texts = ["the cat saw the dog", "a dog saw a cat", "the dog ran", "the cat ran"]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    command = [sys.executable, ROOT / "training" / script, "recipe.yaml"]
    # Data that were read before show no bar.
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    if terminal:
        status, errors = on_a_terminal(command, cwd=tmp_path)
        assert status == 0, errors
        for bar in bars:
            assert bar in errors
        assert "\r" in errors.replace("\r\n", "\n")
    else:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "\r" not in done.stderr + done.stdout
        assert "Generating train split" not in done.stderr
        assert "out" in done.stdout.splitlines()[-1]
