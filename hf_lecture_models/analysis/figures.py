# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Figures as files. Needs matplotlib (extra `train`)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hf_lecture_models.io.files import staged_file


@contextmanager
def figure(path: str | os.PathLike[str], width: float, height: float, panels: int = 1, rows: int = 1) -> Iterator[Any]:
    """Yield axes of a figure of so many inches and save it; no window and no global state of pyplot.

    Args:
        path: .png, .svg or .pdf; written beside and renamed.
        width, height: in inches.
        panels: axes side by side; one is yielded by itself, several as an array.
        rows: of so many panels each; the array then is (rows, panels).

    Raises:
        ImportError: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(f"drawing {path} needs matplotlib: pip install 'hf-lecture-models[train]'") from error
    drawing = Figure(figsize=(width, height), layout="constrained")
    yield drawing.subplots(rows, panels)
    with staged_file(path) as stage:
        drawing.savefig(stage, dpi=120)
