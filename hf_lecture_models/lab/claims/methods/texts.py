# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The texts of a claim's trial."""

from collections.abc import Mapping, Sequence
from typing import Any

from hf_lecture_models.data.files import find_file
from hf_lecture_models.lab.comparison.python_reference import python_reference
from hf_lecture_models.tokenization.corpus import read_texts

PYTHON = "python"
"""In place of file names: the language reference that comes with Python."""


def part_texts(settings: Mapping[str, Any], part: str) -> list[str]:
    """Return the texts of the "train", "validation" or "test" part, without blank ones.

    Args:
        settings: `texts` is "python", or maps each part to a file's name; `most` limits the texts of each part.

    Raises:
        FileNotFoundError: a file is neither in the current folder nor in the folder of data sets.
    """
    source = settings["texts"]
    if source == PYTHON:
        texts: Sequence[str] = getattr(python_reference(), part)
    else:
        texts = [text for text in read_texts(find_file(source[part])) if text.strip()]
    return list(texts[: settings.get("most")])
