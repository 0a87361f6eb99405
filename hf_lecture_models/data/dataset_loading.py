# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Files of JSON and Parquet, and data sets of the Hub or of a folder, read by the library `datasets`."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

from hf_lecture_models.data.files import BUILDERS, SUFFIXES, find_file
from hf_lecture_models.data.recipe import DataRecipe
from hf_lecture_models.io.literal_paths import datasets_pattern
from hf_lecture_models.io.packing import file_suffix
from hf_lecture_models.io.saved_json import read_json
from hf_lecture_models.tokenization.corpus import read_texts

_DEEPEST = 60  # the limit of Arrow's own reader of nested types
_STRINGS, _BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?'), re.compile(r"[][{}]")


class MissingSplitError(ValueError):
    """The data set has no split of this name."""


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
    """Return the error for files that cannot be read together, or for a folder among them."""
    for name in names:
        if Path(name).is_dir():
            return ValueError(f"{name} is a folder, not a file; a data set of save_to_disk is named by dataset_name")
    return ValueError(f"{', '.join(names)}: all files must be of one kind of {', '.join(sorted(SUFFIXES))}")


def load_named(recipe: DataRecipe, split: str, streaming: bool = False) -> Any:
    """Read a split of the data set that the recipe names: of a local folder, or else on the Hub.

    Args:
        split: its name; "c/a" is the split a of the configuration c, in place of the recipe's.

    Raises:
        ValueError: a data set on the Hub has no revision, one of a folder has one, or as `load_folder`.
        ConnectionError: the Hub cannot be reached.
    """
    own_config, _, name = split.rpartition("/")
    config = own_config or recipe.dataset_config
    if Path(recipe.dataset_name).is_dir():
        if recipe.dataset_revision:
            raise ValueError(
                f"dataset_name {recipe.dataset_name} is a folder of this machine, which has no dataset_revision: leave "
                "that out, or start in another folder if you mean the data set of this name on the Hub"
            )
        advice = "name one of them, or none: `validation_split` ''"
        return load_folder(recipe.dataset_name, name, config, streaming, advice)
    if not recipe.dataset_revision:
        raise ValueError(
            f"dataset_name {recipe.dataset_name} needs dataset_revision, a commit: data change. There is no local "
            "folder of this name, for which it needs none"
        )
    try:
        return import_datasets().load_dataset(
            recipe.dataset_name,
            config,
            split=name,
            revision=recipe.dataset_revision,
            streaming=streaming,
        )
    except ConnectionError as error:
        raise ConnectionError(f"{error}; name local files in place of the data set") from error
    except ValueError as error:
        if "Unknown split" not in str(error):
            raise
        raise MissingSplitError(f"{recipe.dataset_name}: {error}") from error


def load_folder(
    name: str,
    split: str,
    config: str | None = None,
    streaming: bool = False,
    advice: str = "name one of them",
) -> Any:
    """Read a split of a folder's data set: one of `save_to_disk`, or of files that `load_dataset` finds there.

    Args:
        advice: what an error advises where the data set has other splits.

    Raises:
        ValueError: the folder holds no data set, a damaged one, or none with this split or configuration.
    """
    datasets, folder = import_datasets(), Path(name).absolute()
    is_saved = any((folder / file).is_file() for file in ("state.json", "dataset_dict.json"))
    if is_saved:
        _check_saved(folder)
    with folder_errors(name):
        if is_saved:
            data = datasets.load_from_disk(str(folder))
        else:
            # Text without a byte order mark, as other files are read.
            is_text = datasets.load_dataset_builder(str(folder), config).name == "text"
            options = {"encoding": "utf-8-sig"} if is_text else {}
            data = datasets.load_dataset(str(folder), config, streaming=streaming, **options)
    if is_saved and config:
        raise ValueError(f"{name} was written by save_to_disk and has no configuration {config!r}; leave it out")
    # A single data set is that of its own split, or of the training data of a recipe.
    parts = data if isinstance(data, dict) else dict.fromkeys([str(data.split or "train"), "train"], data)
    if split not in parts:
        raise MissingSplitError(f"{name} has no split {split!r}, only {', '.join(parts)}; {advice}")
    return parts[split].to_iterable_dataset() if is_saved and streaming else parts[split]


def _check_saved(folder: Path) -> None:
    """Raise a ValueError where a JSON file of `save_to_disk` is damaged."""
    for path in (*folder.glob("*.json"), *folder.glob("*/*.json")):
        if not isinstance(read_json(path), dict):
            raise ValueError(f"{path} holds no JSON object; copy or save it again")


@contextmanager
def folder_errors(name: str) -> Iterator[None]:
    """Raise a ValueError of one line that names the folder, for whatever the library raises while it reads it."""
    try:
        yield
    except Exception as error:  # for damaged files it may raise anything
        reason = " ".join(str(error).split())
        if isinstance(error, LookupError | TypeError | AttributeError):
            reason = f"a field of its JSON files is missing or wrong ({type(error).__name__}: {reason})"
        raise ValueError(f"{name} cannot be read as a data set: {reason}; copy or save it again") from error


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
