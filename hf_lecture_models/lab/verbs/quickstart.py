# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture quickstart`: the ladder of models on English text that comes with Python."""

from pathlib import Path

from hf_lecture_models.lab.comparison.quickstart import run_quickstart


def run(output: Path, tiny: bool, seed: int) -> None:
    """Train, compare, save and reload the models in the folder `output`."""
    run_quickstart(output, tiny=tiny, seed=seed)
