# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
# ruff: noqa: RUF009  (setting() makes fields of a dataclass)
"""The data that a recipe names: written into it, in local files, or on the Hub at a pinned revision.

A part of the data ("train", "validation", "test" or "predict") is a sequence of rows, and a row a mapping from the
task's columns to values: `{"text": "a fine film", "label": 1}`. `columns` says where a file or data set has other names
for them. The rows of "predict" have no labels, or hidden ones, as GLUE's test rows have: labels are not read there.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar, overload

from hf_lecture_models.io.literal_paths import datasets_pattern
from hf_lecture_models.tokenization.corpus import read_texts
from hf_lecture_models.tokenization.splitting import SplitTexts
from hf_lecture_models.trainer.conll import CONLL_SUFFIXES, ConllTable
from hf_lecture_models.trainer.recipe import Recipe, setting
from hf_lecture_models.trainer.squad import read_squad_json
from hf_lecture_models.trainer.tables import TABLE_SUFFIXES, TextTable, file_suffix, read_tab_separated

DATA_FOLDER = "HF_LECTURE_DATA"
_BUILDERS = {".json": "json", ".jsonl": "json", ".parquet": "parquet"}
"""What `datasets` calls the formats that it reads here."""
_DEEPEST = 60  # what Arrow's own reader of nested types can take
_STRINGS, _BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?'), re.compile(r"[][{}]")
_SUFFIXES = (*TABLE_SUFFIXES, *_BUILDERS, ".txt")


@dataclass(kw_only=True)
class DataRecipe(Recipe):
    """Where the rows come from; `TextsRecipe` and `RowsRecipe` can also hold them."""

    train_files: list[str] = setting(
        [],
        "local .txt (one text per line), .csv, .tsv (nothing is quoted), .json, .jsonl, .parquet, .conllu or .conll "
        f"files, relative to the current folder, or else to the one that the environment variable {DATA_FOLDER} names",
    )
    validation_files: list[str] = setting([], "the same for validation")
    test_files: list[str] = setting([], "the same for the results on the model's card", free=True)
    predict_files: list[str] = setting(
        [], "rows without labels, whose predictions are written to the folder `predictions` of output_dir", free=True
    )
    dataset_name: str = setting("", "data set on the Hub, in place of files")
    dataset_config: str | None = setting(None, "its configuration")
    dataset_revision: str = setting("", "its revision: a commit, so that the data stay the same")
    train_split: str = setting("train", "its split to train on")
    validation_split: str = setting("validation", "its split to validate on")
    test_split: str = setting("", "its split for the results on the model's card", free=True)
    predict_split: str = setting("", "its split without labels, to write predictions for", free=True)
    columns: dict[str, str] = setting({}, "names of columns in files, by the task's own names: {text: sentence}")
    data: dict[str, Any] = setting({}, "what the card says of the data: name, language, licence, source", free=True)

    inline: ClassVar[str] = "rows"
    """The fields that hold data themselves are `train_` and `validation_` with this name."""

    def inline_rows(self, part: str) -> list[dict[str, Any]]:
        """The rows of a part that stand in the recipe itself."""
        return list(getattr(self, f"{part}_{self.inline}", ()))

    def names_of(self, column: str) -> Sequence[str]:
        """What files may call a column of the task; the first of these that a file has is read."""
        return [str(self.columns.get(column, column))]  # YAML reads the number of a column as one

    def header(self) -> Sequence[str]:
        """The columns of `.tsv` files whose first line is a row already; none: the first line names the columns."""
        return ()

    def malformed_header(self) -> Sequence[str]:
        """The first line of a benchmark's `.tsv` file that is known to have rows of other widths; they are left out."""
        return ()


@dataclass(kw_only=True)
class TextsRecipe(DataRecipe):
    """A recipe of a task on texts alone; each row has the one column `text`."""

    train_texts: list[str] = setting([], "texts written into the recipe itself, in place of files")
    validation_texts: list[str] = setting([], "the same for validation")

    inline: ClassVar[str] = "texts"

    @property
    def text_column(self) -> str:
        """What files call the column of texts."""
        return self.columns.get("text", "text")

    def inline_rows(self, part: str) -> list[dict[str, Any]]:
        """The texts of a part that stand in the recipe itself, as rows."""
        return [{"text": text} for text in getattr(self, f"{part}_texts", ())]


@dataclass(kw_only=True)
class RowsRecipe(DataRecipe):
    """A recipe of a task on rows of several columns."""

    train_rows: list[dict[str, Any]] = setting([], "rows written into the recipe itself, in place of files")
    validation_rows: list[dict[str, Any]] = setting([], "the same for validation")


class Rows(Sequence[dict[str, Any]]):
    """Rows of the task's columns that remember where they were read, for messages.

    >>> rows = Rows({"text": ["a", "b"], "label": [0, 1]}, [("dev.tsv", 2)])
    >>> rows[1], rows.where(1), rows.texts("text")
    ({'text': 'b', 'label': 1}, 'dev.tsv, row 2', ['a', 'b'])

    Args:
        columns: the values of each column, all equally many.
        sources: names of files and their numbers of rows, in the order of the rows.
        lines: for each row that has a word a line, the number of each word's line.
    """

    def __init__(
        self,
        columns: Mapping[str, list[Any]],
        sources: Sequence[tuple[str, int]],
        lines: Sequence[Sequence[int] | None] = (),
    ) -> None:
        self.columns, self.sources, self.lines = dict(columns), list(sources), list(lines)

    def __len__(self) -> int:
        return sum(length for _, length in self.sources)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        return {name: values[index] for name, values in self.columns.items()}

    def where(self, index: int, word: int | None = None) -> str:
        """The file of a row, and its number there, from 1 and without the header; or its line.

        Args:
            word: of a row that is a list of words, the one that is meant.

        >>> rows = Rows({"tokens": [["a", "b"]] * 2}, [("a.jsonl", 1), ("b.conllu", 1)], [None, [7, 8]])
        >>> rows.where(0, word=1), rows.where(1, word=1), rows.where(1)
        ('a.jsonl, row 1, word 2', 'b.conllu, line 8', 'b.conllu, line 7')
        """
        lines = self.lines[index] if self.lines else None
        for name, length in self.sources:
            if index < length and lines:
                return f"{name}, line {lines[word or 0]}"
            if index < length:
                return f"{name}, row {index + 1}" + ("" if word is None else f", word {word + 1}")
            index -= length
        raise IndexError(f"there are {len(self)} rows")

    def texts(self, column: str) -> list[str]:
        """The values of a column of texts.

        Raises:
            ValueError: one is no text; the message says which.
        """
        values = self.columns[column]
        for index, value in enumerate(values):
            if not isinstance(value, str):
                raise ValueError(f"{self.where(index)}: {column} is {value!r}, no text")
        return values


def read_rows(
    recipe: DataRecipe,
    part: str,
    required: Sequence[str] = ("text",),
    optional: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> Rows | None:
    """The rows of a part of the recipe's data; None where it names none but for training.

    Args:
        required: columns of the task that must be there.
        optional: columns that are read where a file has them, or where `recipe.columns` names them.
        labels: columns that must be there too, but for the part "predict", where they are not read.

    Raises:
        ValueError: there is no training data, or no row, or two sources are named, or a column is missing.
        OSError: a file is missing or cannot be read.
    """
    known = (*required, *labels, *optional)
    for column in recipe.columns:
        if column not in known:
            raise ValueError(f"recipe: columns has {column!r}, but there are only {', '.join(known)}")
    tables = _read_tables(recipe, part, known)
    if not tables:
        return None
    labels = () if part == "predict" else labels
    for table in tables:
        table.require(labels, "; rows without labels are for --predict_files")
    required = (*required, *labels)
    chosen = [*required, *(column for column in optional if any(table.has(column) for table in tables))]
    columns = {name: [value for table in tables for value in table.read(name)] for name in chosen}
    lines = [line for table in tables for line in table.lines]
    return Rows(columns, [(table.source, table.length) for table in tables], lines if any(lines) else ())


def _read_tables(recipe: DataRecipe, part: str, known: Sequence[str]) -> list["_Table"]:
    """The files, rows or splits of a part of the recipe's data; [] where it names none but for training.

    Args:
        known: the columns of the task.
    """
    files, own = getattr(recipe, f"{part}_files"), recipe.inline_rows(part)
    split = getattr(recipe, f"{part}_split")
    _refuse_two_sources(recipe, own, files, split)
    if own:
        return [_Table(f"the recipe's {part}_{recipe.inline}", _as_columns(own))]
    if files:
        return [_Table(name, _read_file(name, recipe, known, has_labels=part != "predict"), recipe) for name in files]
    if recipe.dataset_name and split:
        return [
            _Table(f"split {one} of {recipe.dataset_name}", _load_from_hub(recipe, one), recipe)
            for one in split.split("+")
        ]
    if part == "train":
        raise ValueError(f"the recipe names no training data: set train_files, dataset_name or train_{recipe.inline}")
    return []


def read_part_texts(recipe: TextsRecipe, part: str) -> list[str] | None:
    """The texts of a part of the recipe's data; None where it names none but for training.

    Raises:
        ValueError, OSError: as `read_rows`.
    """
    rows = read_rows(recipe, part)
    return None if rows is None else rows.texts("text")


def stream_texts(recipe: TextsRecipe) -> Any:
    """The training data as an `IterableDataset`, read while it is iterated; `recipe.text_column` holds the texts.

    Raises:
        ValueError: the recipe holds its texts itself, or names no training data or two sources, or has no such column.
        OSError: a file is missing or cannot be read.
    """
    _refuse_two_sources(recipe, recipe.train_texts, recipe.train_files, recipe.train_split)
    if recipe.train_texts:
        raise ValueError("train_texts are in memory and cannot be streamed; set streaming false, or name train_files")
    if recipe.train_files:
        source, dataset = ", ".join(recipe.train_files), _stream_files(recipe)
    elif recipe.dataset_name:
        source, dataset = recipe.dataset_name, _load_from_hub(recipe, recipe.train_split, streaming=True)
    else:
        raise ValueError("the recipe names no training data: set train_files or dataset_name")
    if dataset.column_names is not None and recipe.text_column not in dataset.column_names:
        raise _missing_column(source, "text", [recipe.text_column], dataset.column_names)
    return dataset


def read_training_texts(recipe: TextsRecipe, streamed: bool) -> Iterable[str]:
    """The training texts; streamed, those of files and data sets are read each time that they are iterated.

    Others are split into words once, for the vocabulary and for the ids.

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
        for index, row in enumerate(self._rows):
            if not isinstance(text := row[self._column], str):
                raise ValueError(f"the training data, row {index + 1}: {self._column} is {text!r}, no text")
            yield text


def find_file(name: str) -> Path:
    """The path of a file: as it is named, or else in the folder of the environment variable HF_LECTURE_DATA.

    Raises:
        FileNotFoundError: it is at neither place.
    """
    folder = os.environ.get(DATA_FOLDER)
    for path in (Path(name), *([Path(folder, name)] if folder else [])):
        if path.is_file():
            return path
    second = f"in {DATA_FOLDER}, {folder}" if folder else f"in {DATA_FOLDER}, which is not set"
    raise FileNotFoundError(f"there is no file {name}, neither in the current folder nor {second}")


def is_table(name: str) -> bool:
    """Whether a file's name says that it holds rows of columns.

    >>> is_table("dev.tsv.gz"), is_table("wiki.test.tokens")
    (True, False)
    """
    return file_suffix(name) in (*CONLL_SUFFIXES, *TABLE_SUFFIXES, *_BUILDERS)


class _Table:
    """The columns of one file, list of rows or data set, under the names that it has for them."""

    def __init__(self, source: str, columns: Any, recipe: DataRecipe | None = None) -> None:
        if recipe is not None and hasattr(columns, "flatten") and any("." in name for name in recipe.columns.values()):
            columns = columns.flatten()  # a column of mappings, {"fr": ..., "en": ...}, into translation.fr and so on
        self.source, self.columns, self.recipe = source, columns, recipe
        self.known = list(getattr(columns, "column_names", None) or columns)
        rows = getattr(columns, "num_rows", None)
        self.length = rows if rows is not None else len(columns[self.known[0]]) if self.known else 0
        if not self.length:
            raise ValueError(f"{source}: there is no row in it")
        self.lines: list[list[int] | None] = getattr(columns, "lines", None) or [None] * self.length

    def names_of(self, column: str) -> Sequence[str]:
        """What a column of the task may be called here."""
        return [column] if self.recipe is None else self.recipe.names_of(column)

    def has(self, column: str) -> bool:
        """Whether a column of the task is there, or is said to be."""
        is_said = self.recipe is not None and column in self.recipe.columns
        return is_said or any(name in self.known for name in self.names_of(column))

    def require(self, columns: Sequence[str], hint: str = "") -> None:
        """Raise ValueError where one of the task's columns is missing."""
        for column in columns:
            names = self.names_of(column)
            if not any(name in self.known for name in names):
                raise _missing_column(self.source, column, names, self.known, hint)

    def read(self, column: str) -> list[Any]:
        """The values of a column of the task."""
        self.require([column])
        return _decoded(self.columns, next(name for name in self.names_of(column) if name in self.known))


def _missing_column(source: str, column: str, names: Sequence[str], known: Sequence[str], hint: str = "") -> ValueError:
    missing = " or ".join(map(repr, names))
    return ValueError(
        f"{source} has no column {missing}, only {', '.join(known)}; --columns.{column} NAME names another one{hint}"
    )


def _decoded(columns: Any, name: str) -> list[Any]:
    """The values, those of a data set's classes by their names, lists of classes too; no class, -1, is None."""
    values, feature = list(columns[name]), getattr(columns, "features", {}).get(name)
    names = getattr(getattr(feature, "feature", feature), "names", None)
    if names is None:
        return values

    def decoded(value: Any) -> Any:
        if isinstance(value, list):
            return [decoded(entry) for entry in value]
        return names[value] if value is not None and value >= 0 else None

    return [decoded(value) for value in values]


def _as_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(key for row in rows for key in row)}


def _refuse_two_sources(recipe: DataRecipe, own: Sequence[Any], files: Sequence[str], split: str) -> None:
    if sum(map(bool, (own, files, recipe.dataset_name and split))) > 1:
        raise ValueError(f"the recipe names its data twice; keep one of {recipe.inline}, files and dataset_name")


def _read_file(name: str, recipe: DataRecipe, known: Sequence[str], has_labels: bool) -> Any:
    if file_suffix(name) == ".txt":
        # Line by line as everywhere else in the package, with the line number of what is not UTF-8.
        return {"text": list(read_texts(find_file(name)))}
    if file_suffix(name) in CONLL_SUFFIXES:
        return ConllTable(find_file(name), name, has_tags=has_labels)
    if file_suffix(name) in TABLE_SUFFIXES:
        return _TableColumns(_open_table(name, recipe), [own for column in known for own in recipe.names_of(column)])
    if file_suffix(name) == ".json" and (columns := read_squad_json(find_file(name), name)) is not None:
        return columns
    return _load_files([name], streaming=False)


class _TableColumns:
    """The columns of a table that a task knows, in memory, beside the names of all."""

    def __init__(self, table: TextTable, names: Sequence[str]) -> None:
        self.column_names, self._columns = table.column_names, table.read_columns(names)
        self.num_rows = len(next(iter(self._columns.values())))
        if not self.num_rows:
            raise ValueError(f"{table.name} has no row below the names of its columns")

    def __getitem__(self, column: str) -> list[str]:
        return self._columns[column]


def _open_table(name: str, recipe: DataRecipe) -> TextTable:
    header = recipe.header()
    is_bare = file_suffix(name) == ".tsv" and header and _begins_with_a_row(name, header)
    return TextTable(find_file(name), name, header if is_bare else (), recipe.malformed_header())


def _begins_with_a_row(name: str, header: Sequence[str]) -> bool:
    """Whether the first line of a `.tsv` file is a row of these columns, since none of them is named in it.

    Raises:
        ValueError: it is neither a row of as many columns nor their names.
    """
    _, first = next(read_tab_separated(find_file(name)), (0, []))
    if any(column in first for column in header) or not first:
        return False
    if len(first) != len(header):
        raise ValueError(
            f"{name}, line 1 names none of the columns {', '.join(header)}, and is no row of them either: it has "
            f"{len(first)} columns; write the names of the columns above it"
        )
    return True


def _load_files(names: Sequence[str], streaming: bool) -> Any:
    (suffix,) = {file_suffix(name) for name in names}
    if suffix not in _BUILDERS:
        raise _other_kinds(names)
    paths = [find_file(name) for name in names]
    for name, path in zip(names, paths, strict=True):
        if not path.stat().st_size:
            raise ValueError(f"{name} is empty: there is no row in it")
    for name, path in zip(names, paths, strict=True) if suffix != ".parquet" else ():
        _refuse_deep_lines(name, path)
    datasets = _datasets()
    verbosity = datasets.logging.get_verbosity()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # it logs the error that it raises
    try:
        return datasets.load_dataset(
            _BUILDERS[suffix], data_files=list(map(datasets_pattern, paths)), split="train", streaming=streaming
        )
    # What datasets raises for a file without rows is any of these, StopIteration among them.
    except (datasets.exceptions.DatasetsError, StopIteration, ValueError, RecursionError) as error:
        reason = str(error.__cause__ or error)
        if not reason or "corresponds to no data" in reason:
            raise ValueError(f"{', '.join(names)} has no row below the names of its columns") from error
        raise ValueError(f"{', '.join(names)} cannot be read as {suffix[1:]}: {reason}") from error
    finally:
        datasets.logging.set_verbosity(verbosity)


def _refuse_deep_lines(name: str, path: Path) -> None:
    """Read through a file of JSON before a library does that takes any line whole, and overflows its stack on others.

    Raises:
        ValueError, OSError: as `read_texts`; or brackets are nested deeper than a row of any data is.
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


def _other_kinds(names: Sequence[str]) -> ValueError:
    return ValueError(f"{', '.join(names)}: all files must be of one kind of {', '.join(sorted(_SUFFIXES))}")


def _stream_files(recipe: TextsRecipe) -> Any:
    """The training files as an `IterableDataset`."""
    names = recipe.train_files
    if len(kinds := {file_suffix(name) for name in names}) > 1 or not kinds <= set(_SUFFIXES):
        raise _other_kinds(names)
    if kinds <= _BUILDERS.keys():
        return _load_files(names, streaming=True)
    datasets, column = _datasets(), recipe.text_column
    for name in names:
        known = _open_table(name, recipe).column_names if kinds <= set(TABLE_SUFFIXES) else ["text"]
        if column not in known:
            raise _missing_column(name, "text", [column], known)
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
        for text in texts:
            yield {column: text}


def _load_from_hub(recipe: DataRecipe, split: str, streaming: bool = False) -> Any:
    if not recipe.dataset_revision:
        raise ValueError(f"dataset_name {recipe.dataset_name} needs dataset_revision, a commit: data change")
    try:
        return _datasets().load_dataset(
            recipe.dataset_name,
            recipe.dataset_config,
            split=split,
            revision=recipe.dataset_revision,
            streaming=streaming,
        )
    except ConnectionError as error:
        raise ConnectionError(
            f"{error}; --train_files and its like name local files in place of the data set"
        ) from error


def _datasets() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise ImportError("reading these data needs datasets: pip install 'hf-lecture-models[train]'") from error
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    return datasets
