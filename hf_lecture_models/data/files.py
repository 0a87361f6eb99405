# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The places and the kinds of a recipe's files."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hf_lecture_models.data.tables import TABLE_SUFFIXES
from hf_lecture_models.io.packing import file_suffix

DATA_FOLDER = "HF_LECTURE_DATA"
BUILDERS = {".json": "json", ".jsonl": "json", ".parquet": "parquet"}
"""The names that `datasets` has for the formats of files."""
READERS: dict[str, Callable[[Path, str, bool], Any]] = {}
"""How files of other formats are read: by their suffix, what returns the columns of a file, given its path, its name in
messages, and whether it must have labels; None: `datasets` reads it. The folder's `__init__` lists them."""
SUFFIXES = (*TABLE_SUFFIXES, *BUILDERS, ".txt")


def find_file(name: str) -> Path:
    """Return the path of a file: as it is named, or else in the folder of the environment variable HF_LECTURE_DATA.

    Raises:
        FileNotFoundError: the file is in neither place.
    """
    folder = os.environ.get(DATA_FOLDER)
    for path in (Path(name), *([Path(folder, name)] if folder else [])):
        if path.is_file():
            return path
    second = f"in {DATA_FOLDER}, {folder}" if folder else f"in {DATA_FOLDER}, which is not set"
    raise FileNotFoundError(f"there is no file {name}, neither in the current folder nor {second}")


def is_table(name: str) -> bool:
    """Return whether a file is a table of rows and columns, by its name.

    >>> is_table("dev.tsv.gz"), is_table("wiki.test.tokens")
    (True, False)
    """
    return file_suffix(name) in {*READERS, *TABLE_SUFFIXES, *BUILDERS}
