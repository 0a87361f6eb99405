# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Paths for libraries that take the name of a file for a pattern of names: `datasets`, DuckDB and Spark."""

import glob
import os
import re

_BACKSLASHED = re.compile(r"([][{}*?\\])")


def literal_pattern(path: str | os.PathLike[str]) -> str:
    """Return the pattern that matches one file or folder alone, whatever signs of patterns its name holds.

    `datasets` (by fsspec) and DuckDB read it so.

    >>> literal_pattern("/runs/order=3/t[12]*.jsonl")
    '/runs/order=3/t[[]12][*].jsonl'
    """
    return glob.escape(os.path.abspath(path))


def datasets_pattern(path: str | os.PathLike[str]) -> str:
    """Return `literal_pattern`, where `datasets` reads the path that it finds by it as a path.

    Raises:
        ValueError: it would take it for an address (`::`), or for one with variables of the environment (`$HOME`).
    """
    absolute = os.path.abspath(path)
    if "::" in absolute or os.path.expandvars(absolute) != absolute:
        raise ValueError(f"{path}: datasets cannot open a path that holds '::' or a variable as $HOME; rename the file")
    return literal_pattern(path)


def spark_pattern(path: str | os.PathLike[str]) -> str:
    """Return `literal_pattern` as Spark reads it.

    >>> spark_pattern("/runs/order=3/t[12]*.parquet")
    '/runs/order=3/t\\\\[12\\\\]\\\\*.parquet'
    """
    return _BACKSLASHED.sub(r"\\\1", os.path.abspath(path))
