# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Ctrl-C and SIGTERM while a verb or a training script writes: exit status 130 or 143, and nothing half-written."""

import shutil
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from hf_lecture_models.comparison import baselines
from hf_lecture_models.loading import load_model
from tests.forked_python import ForkedPython

ROOT = Path(__file__).resolve().parents[2]

# Runs a program that gets a signal when its first file, or folder, is written and about to be renamed.
PROGRAM = """
import os, runpy, sys
import hf_lecture_models.io.files as files

number, program = int(sys.argv[1]), sys.argv[2]
files._fsync = lambda path: os.kill(os.getpid(), number)
sys.argv = sys.argv[2:]
if program == "hf-lecture":
    from hf_lecture_cli import main
    main()
else:
    runpy.run_path(program, run_name="__main__")
"""

# What runs, the extra that it needs, and what stays because the same command goes on from it.
WRITERS = {
    "convert to ARPA": (["hf-lecture", "convert", "trigram", "new.arpa.gz"], None, set()),
    "convert from ARPA": (["hf-lecture", "convert", "lm.arpa", "new"], None, set()),
    "convert to ONNX": (["hf-lecture", "convert", "lstm", "new.onnx"], "onnxscript", set()),
    "neighbours": (["hf-lecture", "neighbours", "lstm", "cat", "-k", "2", "--picture", "x.png"], "matplotlib", set()),
    "blimp": (["hf-lecture", "blimp", "trigram", "--data", "pairs"], "matplotlib", {"blimp"}),
    "publish": (["hf-lecture", "publish", "trigram", "me/trigram", "--dry-run"], None, set()),
    "quickstart": (["hf-lecture", "quickstart", "--tiny"], "accelerate", set()),
    "ladder": (["hf-lecture", "ladder", "text.txt", "--tiny"], "accelerate", {"ladder.unfinished"}),
    "fit_ngram": ([ROOT / "training/fit_ngram.py", ROOT / "training/recipes/ngram.yaml"], None, set()),
    "train_causal_lm": (
        [ROOT / "training/train_causal_lm.py", ROOT / "training/recipes/recurrent_tiny.yaml", "--output_dir", "new"],
        "accelerate",
        {"new"},
    ),
    "finetune_glue": (
        [ROOT / "training/finetune_glue.py", ROOT / "training/recipes/bag_of_words_tiny.yaml", "--output_dir", "new"],
        "evaluate",
        {"new"},
    ),
}


@pytest.fixture
def place(folder, network, tmp_path):
    """A folder with everything that the writers read."""
    for model in (folder, network):
        shutil.copytree(model, tmp_path / model.name)
    load_model(str(folder))[0].save_arpa(tmp_path / "lm.arpa", load_model(str(folder))[1])
    (tmp_path / "text.txt").write_text("\n".join(f"the cat saw the dog number {n % 7}" for n in range(99)), "utf-8")
    (tmp_path / "pairs").mkdir()
    pair = '{"sentence_good": "the cat ran", "sentence_bad": "cat the ran", "UID": "x", "field": "syntax", '
    (tmp_path / "pairs" / "x.jsonl").write_text(pair + '"linguistics_term": "order"}\n', encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    return tmp_path


# Programs of either kind; what all programs do with SIGTERM is shown by two.
TERMINATED = ("convert to ARPA", "train_causal_lm")


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
    command, needed, kept = WRITERS[writer]
    if needed is not None:
        pytest.importorskip(needed)
    before = {path.name for path in place.iterdir()}
    process = ForkedPython(
        "-c", PROGRAM, signal.Signals[name].value, *command, cwd=place, TMPDIR=str(place / "temporary")
    )
    _, err = process.communicate()
    assert process.returncode == status, err
    assert "Traceback" not in err
    assert {path.name for path in place.iterdir()} - before == kept
    assert not [path for path in place.rglob("*") if ".partial" in path.name]
    # onnxruntime leaves a file with the number of its session.
    assert {path.name for path in (place / "temporary").iterdir()} <= {".ses"}


@pytest.mark.parametrize(("name", "error"), [("SIGINT", KeyboardInterrupt), ("SIGTERM", SystemExit)])
def test_a_signal_in_a_network_of_a_comparison_ends_the_comparison(tmp_path, monkeypatch, name, error):
    from hf_lecture_models.comparison.quickstart import make_comparison

    monkeypatch.setattr(baselines, "train_causal_lm", lambda *_, **__: SimpleNamespace(stopped=name))
    with pytest.raises(error) as caught:
        baselines.train_network(make_comparison(tiny=True), tmp_path, "quickstart_rnn")
    assert getattr(caught.value, "code", None) == (143 if name == "SIGTERM" else None)
