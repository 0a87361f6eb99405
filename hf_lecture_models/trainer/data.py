# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The texts that a recipe names: written into it, in local files, or on the Hub at a pinned revision."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_lecture_models.tokenization.corpus import read_texts
from hf_lecture_models.trainer.language_model import CausalLMRecipe

_BUILDERS = {".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet", ".txt": "text"}


def training_texts(recipe: CausalLMRecipe) -> Any:
    """A list of texts, or with `streaming` an `IterableDataset`.

    Raises:
        ValueError: the recipe names no training data, or two sources, or a Hub name without a revision.
        FileNotFoundError: a file is missing.
    """
    if not recipe.streaming:
        texts = _texts(recipe, recipe.train_texts, recipe.train_files, recipe.train_split)
        if texts is None:
            raise ValueError("the recipe names no training data: set train_files, dataset_name or train_texts")
        return texts
    if recipe.train_texts:
        raise ValueError("train_texts are in memory and cannot be streamed; set streaming false, or name train_files")
    dataset = _load(recipe, recipe.train_files, recipe.train_split, streaming=True)
    return dataset.shuffle(recipe.seed, buffer_size=recipe.shuffle_buffer) if recipe.shuffle_buffer else dataset


def validation_texts(recipe: CausalLMRecipe) -> list[str] | None:
    """A list of texts; None if the recipe names no validation data."""
    return _texts(recipe, recipe.validation_texts, recipe.validation_files, recipe.validation_split)


def _texts(recipe: CausalLMRecipe, texts: Sequence[str], files: Sequence[str], split: str) -> list[str] | None:
    if sum(map(bool, (texts, files, recipe.dataset_name))) > 1:
        raise ValueError("the recipe names its data twice; keep one of texts, files and dataset_name")
    if texts:
        return list(texts)
    if files and all(_suffix(name) == ".txt" for name in files):
        # Line by line as everywhere else in the package, with the line number of what is not UTF-8.
        found = [text for name in _existing(files) for text in read_texts(name)]
    elif not files and (not recipe.dataset_name or not split):
        return None
    else:
        found = _strings(_load(recipe, files, split, streaming=False)[recipe.text_column], recipe.text_column)
    if not found:
        raise ValueError(f"{', '.join(files) or f'split {split} of {recipe.dataset_name}'}: there is no text in it")
    return found


def _load(recipe: CausalLMRecipe, files: Sequence[str], split: str, streaming: bool) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise ImportError("reading these data needs datasets: pip install 'hf-lecture-models[train]'") from error
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    if files:
        kinds = {_BUILDERS.get(_suffix(name)) for name in _existing(files)}
        if None in kinds or len(kinds) > 1:
            raise ValueError(f"{', '.join(files)}: all files must be of one kind of {', '.join(sorted(_BUILDERS))}")
        for name in files:
            if not Path(name).stat().st_size:
                raise ValueError(f"{name} is empty: there is no text in it")
        kind = str(kinds.pop())
        options = {"delimiter": "\t"} if _suffix(files[0]) == ".tsv" else {}
        try:
            loaded = datasets.load_dataset(kind, data_files=list(files), split="train", streaming=streaming, **options)
        # What datasets raises for a file without rows is any of these, StopIteration among them.
        except (datasets.exceptions.DatasetsError, StopIteration, ValueError) as error:
            reason = error.__cause__ or str(error) or "there is no row in it"
            raise ValueError(f"{', '.join(files)} cannot be read as {kind}: {reason}") from error
    else:
        if not recipe.dataset_revision:
            raise ValueError(f"dataset_name {recipe.dataset_name} needs dataset_revision, a commit: data change")
        loaded = datasets.load_dataset(
            recipe.dataset_name,
            recipe.dataset_config,
            split=split,
            revision=recipe.dataset_revision,
            streaming=streaming,
        )
    if loaded.column_names is not None and recipe.text_column not in loaded.column_names:
        raise ValueError(f"no column {recipe.text_column!r} in the data, only {', '.join(loaded.column_names)}")
    return loaded


def _suffix(name: str) -> str:
    return Path(name.removesuffix(".gz")).suffix.lower()


def _existing(files: Sequence[str]) -> Sequence[str]:
    for name in files:
        if not Path(name).is_file():
            raise FileNotFoundError(f"there is no file {name}; name it relative to the current folder")
    return files


def _strings(column: Any, name: str) -> list[str]:
    texts = list(column)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"row {row} of column {name!r} holds {type(text).__name__}, not text")
    return texts
