# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Checksums of the data of a run, which resumes only with the same data."""

import hashlib
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Any

from hf_lecture_models.data.files import find_file
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.data.tables import TABLE_SUFFIXES
from hf_lecture_models.io.packing import file_suffix
from hf_lecture_models.tokenization.corpus import fingerprint


def fingerprint_data(data: Rows | Iterable[str] | None) -> str:
    """Return a checksum of texts, or of the columns of rows; it does not depend on the files that they are from."""
    if data is None:
        return "none"
    if not isinstance(data, Rows):
        return fingerprint(data)
    return fingerprint(chain(data.columns, *map(partial(column_values, data), data.columns)))


def column_values(data: Rows, name: str) -> list[Any]:
    """Return the values of a column for a checksum; numbers in `.tsv` and `.csv` files are converted from text.

    Earlier versions read them as numbers, and runs that they started can still be resumed.

    >>> column_values(Rows({"label": ["0", "1", "01"]}, [("a.tsv", 2), ("b.tsv", 1)]), "label")
    [0, 1, '01']
    """
    values: list[Any] = []
    for source, length in data.sources:
        own = data.columns[name][len(values) : len(values) + length]
        is_text = bool(own) and isinstance(own[0], str) and file_suffix(source) in TABLE_SUFFIXES
        values += _as_numbers(own) if is_text else own
    return values


def _as_numbers(texts: list[str]) -> list[Any]:
    for kind in (int, float):
        try:
            numbers = list(map(kind, texts))
        except ValueError:
            continue
        is_spelled_so = kind is float or list(map(str, numbers)) == texts
        return numbers if is_spelled_so else texts
    return texts


def fingerprint_files(names: Sequence[str]) -> str:
    """Return a checksum of the contents of a recipe's files; a file that is named twice is read once.

    Raises:
        OSError: a file cannot be read.
    """
    contents = []
    for name in names:
        with find_file(name).open("rb") as file:
            contents.append(hashlib.file_digest(file, "sha256").hexdigest())
    return fingerprint(contents)
