# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`task.json` beside a model's weights: what the model was trained for, and how its outputs become predictions.

Its `settings` are read wherever the saved model predicts. This file travels with exported models.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from transformers.utils import cached_file

from hf_lecture_models.io.saved_json import check_fields, read_json

TASK_FILE = "task.json"


def read_task_file(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a folder's `task.json`, or {} without that file.

    Raises:
        ValueError: it is damaged, or one of its fields has a wrong type.
    """
    return _read(Path(folder) / TASK_FILE)


def task_file_of(config: Any) -> dict[str, Any]:
    """Return the content of the `task.json` beside a loaded model's configuration, in a folder or on the Hub; or {}.

    >>> from transformers import BertConfig
    >>> task_file_of(BertConfig())
    {}

    Raises:
        ValueError: it is damaged, or one of its fields has a wrong type.
    """
    name, commit = config.name_or_path, getattr(config, "_commit_hash", None)
    if not name:
        return {}
    if Path(name).is_dir():
        return read_task_file(name)
    if commit is None:
        return {}
    missing = {"_raise_exceptions_for_missing_entries": False, "_raise_exceptions_for_connection_errors": False}
    path = cached_file(name, TASK_FILE, revision=commit, **missing)
    return {} if path is None else _read(Path(path))


def saved_settings(config: Any, task: str) -> dict[str, Any]:
    """Return the `settings` in the `task.json` of a loaded model, or {} if it was trained for another task.

    >>> from transformers import BertConfig
    >>> saved_settings(BertConfig(), "question_answering")
    {}

    Raises:
        ValueError: the file is damaged.
    """
    content = task_file_of(config)
    # Files of older versions have this field alone, and not among settings.
    older = {"no_answer": content["no_answer"]} if "no_answer" in content else {}
    return older | dict(content.get("settings") or {}) if content.get("name") == task else {}


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    values = read_json(path)
    if isinstance(values, dict) and "name" not in values:
        return {}  # another program's
    check_fields(values, TASK_FILE, path)
    return values
