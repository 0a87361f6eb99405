# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What published code has of io/saved_json.py: a JSON file is read, and must hold an object."""

import json
from pathlib import Path
from typing import Any


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    return json.loads(path.read_bytes())


def read_fields(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file."""
    values = read_json(path)
    check_fields(values, path.name, path)
    return values


def check_tokenizer_files(folder: Path) -> None:
    """Leave the files of a tokenizer to transformers."""


def check_fields(values: Any, name: str, source: object) -> None:
    """Raise a ValueError where the file `source` holds something else than an object of fields."""
    if not isinstance(values, dict):
        raise ValueError(f"{source} holds no object of fields: restore it, or save it again")
