# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture ladder`: the ladder of models on a text of one's own."""

from pathlib import Path
from typing import Any

from hf_lecture_models.lab.comparison.ladder import Request, run_ladder


def run(output: Path, **request: Any) -> None:
    """Train, compare, save and reload the models in the folder `output`; `request` holds the fields of `Request`."""
    run_ladder(Request(**request), output)
