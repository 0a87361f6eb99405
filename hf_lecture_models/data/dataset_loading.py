# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Files of JSON and Parquet, and data sets of the Hub, read by the library `datasets`."""

import re
import sys
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from hf_lecture_models.data.files import BUILDERS, SUFFIXES, find_file
from hf_lecture_models.data.recipe import DataRecipe
from hf_lecture_models.data.tables import file_suffix
from hf_lecture_models.io.literal_paths import datasets_pattern
from hf_lecture_models.tokenization.corpus import read_texts

_DEEPEST = 60  # the limit of Arrow's own reader of nested types
_STRINGS, _BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?'), re.compile(r"[][{}]")


def load_files(names: Sequence[str], streaming: bool) -> Any:
    """Read `.json`, `.jsonl` or `.parquet` files, all of one kind, as a data set of the library.

    Raises:
        ValueError: a file is damaged, empty or of another kind.
        OSError: a file is missing or cannot be read.
    """
    (suffix,) = {file_suffix(name) for name in names}
    if suffix not in BUILDERS:
        raise other_kinds(names)
    paths = [find_file(name) for name in names]
    for name, path in zip(names, paths, strict=True):
        if not path.stat().st_size:
            raise ValueError(f"{name} is empty: there is no row in it")
    for name, path in zip(names, paths, strict=True) if suffix != ".parquet" else ():
        _refuse_deep_lines(name, path)
    datasets = import_datasets()
    verbosity = datasets.logging.get_verbosity()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # it logs the error that it raises
    try:
        return datasets.load_dataset(
            BUILDERS[suffix], data_files=list(map(datasets_pattern, paths)), split="train", streaming=streaming
        )
    # datasets raises any of these, even StopIteration, for a file without rows.
    except (datasets.exceptions.DatasetsError, StopIteration, ValueError, RecursionError) as error:
        reason = str(error.__cause__ or error)
        if not reason or "corresponds to no data" in reason:
            raise ValueError(f"{', '.join(names)} has no row below the names of its columns") from error
        raise ValueError(f"{', '.join(names)} cannot be read as {suffix[1:]}: {reason}") from error
    finally:
        datasets.logging.set_verbosity(verbosity)


def _refuse_deep_lines(name: str, path: Path) -> None:
    """Check a file of JSON for lines that are too long, or too deeply nested, for the library's reader.

    Raises:
        ValueError, OSError: as `read_texts`; or brackets are nested too deep.
    """
    for number, line in enumerate(read_texts(path), start=1):
        if line.count("[") + line.count("{") <= _DEEPEST:
            continue
        depths = accumulate(1 if bracket in "[{" else -1 for bracket in _BRACKETS.findall(_STRINGS.sub("", line)))
        if max(depths, default=0) > _DEEPEST:
            raise ValueError(
                f"{name}, line {number}: brackets are nested more than {_DEEPEST} deep, which no row of data needs; "
                "restore the file"
            )


def other_kinds(names: Sequence[str]) -> ValueError:
    """Return the error for files that cannot be read together."""
    return ValueError(f"{', '.join(names)}: all files must be of one kind of {', '.join(sorted(SUFFIXES))}")


def load_from_hub(recipe: DataRecipe, split: str, streaming: bool = False) -> Any:
    """Read a split of the recipe's data set on the Hub.

    Args:
        split: its name; "c/a" is the split a of the configuration c, in place of the recipe's.

    Raises:
        ValueError: the recipe names no revision.
        ConnectionError: the Hub cannot be reached.
    """
    if not recipe.dataset_revision:
        raise ValueError(f"dataset_name {recipe.dataset_name} needs dataset_revision, a commit: data change")
    config, _, name = split.rpartition("/")
    try:
        return import_datasets().load_dataset(
            recipe.dataset_name,
            config or recipe.dataset_config,
            split=name,
            revision=recipe.dataset_revision,
            streaming=streaming,
        )
    except ConnectionError as error:
        raise ConnectionError(f"{error}; name local files in place of the data set") from error


def import_datasets() -> Any:
    """Import the library `datasets`; its progress bars are shown only on a terminal.

    Raises:
        ImportError: the library is not installed.
    """
    try:
        import datasets
    except ImportError as error:
        raise ImportError("reading these data needs datasets: pip install 'hf-lecture-models[train]'") from error
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    return datasets
