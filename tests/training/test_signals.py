# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""SIGTERM at any moment of a training script: nothing half-written; tests/cli/test_signals.py has the worst moments."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from tests.forked_python import ForkedPython

TRAINING = Path(__file__).resolve().parents[2] / "training"
SCRIPTS = {
    "fit_ngram": ["recipes/ngram.yaml", "--arpa", "model.arpa.gz"],
    "train_causal_lm": ["recipes/recurrent_tiny.yaml", "--save_every", "1", "--evaluate_every", "1"],
    "finetune_glue": ["recipes/bag_of_words_tiny.yaml", "--save_every", "1"],
    "finetune_squad": ["recipes/bert_squad_tiny.yaml", "--save_every", "1"],
    "finetune_tagging": ["recipes/recurrent_tagger_tiny.yaml", "--save_every", "1"],
}


# One that estimates and one that trains; the others are the same loop.
FIXED_PART = ("fit_ngram", "train_causal_lm")


@pytest.mark.slow
@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize(
    "script", [pytest.param(name, marks=[] if name in FIXED_PART else pytest.mark.nightly) for name in SCRIPTS]
)
def test_sigterm_at_any_moment_leaves_nothing_half_written(tmp_path: Path, script: str, exists: bool) -> None:
    recipe, *options = SCRIPTS[script]
    command = [TRAINING / f"{script}.py", TRAINING / recipe, *options, "--output_dir", "run"]
    moments = random.Random(time.time_ns())
    for number in range(8):
        place = tmp_path / str(number)
        (place / "run" if exists else place).mkdir(parents=True)
        process = ForkedPython(*command, cwd=place)
        time.sleep(moments.random())
        process.terminate()
        _, err = process.communicate()
        # A shell calls it 143, too, when SIGTERM comes before the script has begun to listen.
        assert process.returncode in (128 + signal.SIGTERM, -signal.SIGTERM, 0), err
        assert "Traceback" not in err
        assert not list(place.rglob("*.partial*"))
