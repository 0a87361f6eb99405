# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Paths for libraries that read the name of a file as a pattern of names: `datasets`, DuckDB and Spark."""

import glob
import os
import re

_BACKSLASHED = re.compile(r"([][{}*?\\])")


def literal_pattern(path: str | os.PathLike[str]) -> str:
    """Return a pattern for `datasets` (by fsspec) and DuckDB that matches this file or folder alone.

    >>> literal_pattern("/runs/order=3/t[12]*.jsonl")
    '/runs/order=3/t[[]12][*].jsonl'
    """
    return glob.escape(os.path.abspath(path))


def datasets_pattern(path: str | os.PathLike[str]) -> str:
    """Return `literal_pattern` for a path that `datasets` can open.

    Raises:
        ValueError: `datasets` would read the path as an address (`::`), or put a variable's value into it (`$HOME`).
    """
    absolute = os.path.abspath(path)
    if "::" in absolute or os.path.expandvars(absolute) != absolute:
        raise ValueError(f"{path}: datasets cannot open a path that holds '::' or a variable as $HOME; rename the file")
    return literal_pattern(path)


def spark_pattern(path: str | os.PathLike[str]) -> str:
    """Return a pattern for Spark that matches this file or folder alone.

    >>> spark_pattern("/runs/order=3/t[12]*.parquet")
    '/runs/order=3/t\\\\[12\\\\]\\\\*.parquet'
    """
    return _BACKSLASHED.sub(r"\\\1", os.path.abspath(path))
