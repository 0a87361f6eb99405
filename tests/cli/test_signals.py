# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Ctrl-C and SIGTERM while a verb or a training script writes: exit status 130 or 143, and nothing half-written."""

import signal
from types import SimpleNamespace

import pytest

from hf_lecture_models.lab.comparison import baselines
from tests.cli.writers import WRITERS
from tests.forked_python import ForkedPython

# Runs a program that gets a signal when its first file, or folder, is written and about to be renamed.
PROGRAM = """
import os, runpy, sys
import hf_lecture_models.io.files as files

number, program = int(sys.argv[1]), sys.argv[2]
files.sync = lambda path: os.kill(os.getpid(), number)
sys.argv = sys.argv[2:]
if program == "hf-lecture":
    from hf_lecture_cli import main
    main()
else:
    runpy.run_path(program, run_name="__main__")
"""

# Programs of either kind; what all programs do with SIGTERM is shown by two.
TERMINATED = ("convert to ARPA", "train_causal_lm")


@pytest.mark.cases(2, 4)
@pytest.mark.parametrize(
    ("writer", "name", "status"),
    [
        pytest.param(
            writer,
            name,
            status,
            marks=pytest.mark.slow if "ONNX" in writer or (status == 143 and writer not in TERMINATED) else [],
        )
        for writer in WRITERS
        for name, status in (("SIGINT", 130), ("SIGTERM", 143))
    ],
)
def test_a_signal_leaves_nothing_half_written(place, writer, name, status):
    if (needed := WRITERS[writer].needs) is not None:
        pytest.importorskip(needed)
    before = {path.name for path in place.iterdir()}
    process = ForkedPython(
        "-c",
        PROGRAM,
        signal.Signals[name].value,
        *WRITERS[writer].arguments(out=""),
        cwd=place,
        TMPDIR=str(place / "temporary"),
    )
    _, err = process.communicate()
    assert process.returncode == status, err
    assert "Traceback" not in err
    assert {path.name for path in place.iterdir()} - before == {WRITERS[writer].kept} - {None}
    assert not [path for path in place.rglob("*") if ".partial" in path.name]
    # onnxruntime leaves a file with the number of its session.
    assert {path.name for path in (place / "temporary").iterdir()} <= {".ses"}


@pytest.mark.parametrize(("name", "error"), [("SIGINT", KeyboardInterrupt), ("SIGTERM", SystemExit)])
def test_a_signal_in_a_network_of_a_comparison_ends_the_comparison(tmp_path, monkeypatch, name, error):
    from hf_lecture_models.lab.comparison.quickstart import make_comparison

    monkeypatch.setattr(baselines, "train_causal_lm", lambda *_, **__: SimpleNamespace(stopped=name))
    with pytest.raises(error) as caught:
        baselines.train_network(make_comparison(tiny=True), tmp_path, "quickstart_rnn")
    assert getattr(caught.value, "code", None) == (143 if name == "SIGTERM" else None)
