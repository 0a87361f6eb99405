# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Texts that are read while a run trains on them, because they do not fit into memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_lecture_models.data.dataset_loading import import_datasets, load_files, load_named, other_kinds
from hf_lecture_models.data.files import BUILDERS, SUFFIXES, find_file
from hf_lecture_models.data.reading import check_one_source, missing_column, open_table, read_part_texts
from hf_lecture_models.data.recipe import TextsRecipe
from hf_lecture_models.data.tables import TABLE_SUFFIXES, TextTable
from hf_lecture_models.io.packing import file_suffix
from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.tokenization.corpus import read_texts
from hf_lecture_models.tokenization.splitting import SplitTexts


def stream_texts(recipe: TextsRecipe) -> Any:
    """Return the training data as an `IterableDataset` with the column `recipe.text_column`, read while it is iterated.

    Raises:
        ValueError: the recipe holds its texts itself, or names no training data or two sources, or has no such column.
        OSError: a file is missing or cannot be read.
    """
    check_one_source(recipe, recipe.train_texts, recipe.train_files, recipe.train_split)
    if recipe.train_texts:
        raise ValueError("train_texts are in memory and cannot be streamed; set streaming false, or name train_files")
    if recipe.train_files:
        source, dataset = ", ".join(recipe.train_files), _stream_files(recipe)
    elif recipe.dataset_name:
        source, dataset = recipe.dataset_name, load_named(recipe, recipe.train_split, streaming=True)
    else:
        raise ValueError("the recipe names no training data: set train_files or dataset_name")
    if dataset.column_names is not None and recipe.text_column not in dataset.column_names:
        raise missing_column(source, "text", [recipe.text_column], dataset.column_names)
    return dataset


def read_training_texts(recipe: TextsRecipe, streamed: bool) -> Iterable[str]:
    """Return the training texts; if `streamed`, files and data sets are read each time that the texts are iterated.

    Otherwise the texts are split into words once, for the vocabulary and for the ids.

    Raises:
        ValueError, OSError: as `read_rows`, or `stream_texts`.
    """
    if streamed and not recipe.train_texts:
        return _StreamedTexts(recipe)
    return SplitTexts(read_part_texts(recipe, "train") or [])


class _StreamedTexts:
    """The training texts of a recipe, read each time that they are iterated."""

    def __init__(self, recipe: TextsRecipe) -> None:
        self._rows, self._column = stream_texts(recipe), recipe.text_column

    def __iter__(self) -> Iterator[str]:
        return streamed_lines(self._rows, self._column)


def streamed_lines(rows: Iterable[Mapping[str, Any]], column: str, tokenizer: Any = None) -> Iterator[str]:
    """Yield the texts of streamed rows without `<s>` and `</s>` around each of them; see `plain_texts`.

    Raises:
        ValueError: a value is not a str; or as `plain_texts`. The message names the row.
    """

    def name(number: int) -> str:
        return f"the training data, row {number + 1}"

    def read() -> Iterator[str]:
        for number, row in enumerate(rows):
            if not isinstance(text := row[column], str):
                raise ValueError(f"{name(number)}: {column} is {text!r}, no text")
            yield text

    return iter(plain_texts(read(), tokenizer, name))


def _stream_files(recipe: TextsRecipe) -> Any:
    """The training files as an `IterableDataset`."""
    names = recipe.train_files
    if len(kinds := {file_suffix(name) for name in names}) > 1 or not kinds <= set(SUFFIXES):
        raise other_kinds(names)
    if kinds <= BUILDERS.keys():
        return load_files(names, streaming=True)
    datasets, column = import_datasets(), recipe.text_column
    for name in names:
        known = open_table(name, recipe).column_names if kinds <= set(TABLE_SUFFIXES) else ["text"]
        if column not in known:
            raise missing_column(name, "text", [column], known)
    features = datasets.Features({column: datasets.Value("string")})
    files = {"paths": list(map(find_file, names)), "names": list(names), "column": column}
    return datasets.IterableDataset.from_generator(_streamed_texts, features, gen_kwargs=files)


def _streamed_texts(paths: Sequence[Path], names: Sequence[str], column: str) -> Iterator[dict[str, str]]:
    for path, name in zip(paths, names, strict=True):
        if file_suffix(name) == ".txt":
            texts: Iterable[str] = read_texts(path)
        else:
            table = TextTable(path, name)
            place = table.column_names.index(column)
            texts = (fields[place] for _, fields in table.rows())

        def where(number: int, name: str = name) -> str:
            return f"{name}, row {number + 1}"

        for text in plain_texts(texts, where=where):
            yield {column: text}
