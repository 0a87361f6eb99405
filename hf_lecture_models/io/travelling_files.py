# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What published code has of io/files.py: files are written where they belong, not beside and renamed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def staged_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a folder, if it is not there, and yield it."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    yield Path(folder)
