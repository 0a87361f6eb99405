# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The data of a recipe: written into it, in local files, or on the Hub at a pinned revision.

A part of the data ("train", "validation", "test" or "predict") is a sequence of rows, and a row is a mapping from the
task's columns to values: `{"text": "a fine film", "label": 1}`. The recipe's `columns` maps them to other names in a
file or data set. The rows of "predict" have no labels, or hidden ones, as GLUE's test rows have: they are not read.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, overload

from hf_lecture_models.data.dataset_loading import MissingSplitError, load_files, load_named
from hf_lecture_models.data.files import READERS, find_file
from hf_lecture_models.data.recipe import DataRecipe, TextsRecipe
from hf_lecture_models.data.rows import UNLABELLED, Rows
from hf_lecture_models.data.tables import TABLE_SUFFIXES, TextTable, read_tab_separated
from hf_lecture_models.io.packing import file_suffix
from hf_lecture_models.io.recipe import default_of
from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.tokenization.corpus import read_texts

DOCUMENT = "document"
"""The column with the document of each row; the rows of one are held out together."""


def read_rows(
    recipe: DataRecipe,
    part: str,
    required: Sequence[str] = ("text",),
    optional: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> Rows | None:
    """Read the rows of a part of the recipe's data.

    Args:
        required: columns of the task that must exist.
        optional: columns that are read if a file has them, or if `recipe.columns` names them.
        labels: columns that must exist too, except in the part "predict", where they are not read.

    Returns:
        The rows; None if the recipe names no data for the part. Training data are required.

    Raises:
        ValueError: training data or rows are missing, two sources are named, or a column is missing.
        OSError: a file is missing or cannot be read.
    """
    known = (*required, *labels, *optional, *(() if isinstance(recipe, TextsRecipe) else (DOCUMENT,)))
    for column in recipe.columns:
        if column not in known:
            raise ValueError(f"recipe: columns has {column!r}, but there are only {', '.join(known)}")
    tables = _read_tables(recipe, part, known)
    if not tables:
        return None
    labels = () if part == "predict" else labels
    columns: dict[str, list[Any]] = {name: [] for name in (*required, *labels)}
    for name in optional:
        if any(table.has(name) for table in tables):
            columns[name] = []
    sources, lines = [], []
    for table in tables:
        sources.append((table.source, table.length))
        lines += table.lines
        for name, values in columns.items():
            values += table.read(name, is_label=name in labels)
    documents = [own for table in tables for own in table.documents(part)] if DOCUMENT in known else []
    return Rows(columns, sources, lines if any(lines) else (), named_documents(documents))


def named_documents(documents: Sequence[Any]) -> Sequence[Any]:
    """Return the documents of rows; () if no row has one."""
    return documents if any(own is not None for own in documents) else ()


def _read_tables(recipe: DataRecipe, part: str, known: Sequence[str]) -> list["_Table"]:
    """Return the files, rows or splits of a part of the recipe's data; [] if it names none. Training data are required.

    Args:
        known: the columns of the task.
    """
    files, own = getattr(recipe, f"{part}_files"), recipe.inline_rows(part)
    split = getattr(recipe, f"{part}_split")
    check_one_source(recipe, own, files, split)
    if own:
        names = dict.fromkeys(chain.from_iterable(own))
        return [
            _Table(f"the recipe's {part}_{recipe.inline}", {name: [row.get(name) for row in own] for name in names})
        ]
    if files:
        return [_read_file(name, recipe, known, has_labels=part != "predict") for name in files]
    if recipe.dataset_name and split:
        try:
            return [
                _Table(f"split {one} of {recipe.dataset_name}", load_named(recipe, one), recipe)
                for one in split.split("+")
            ]
        except MissingSplitError:
            # A recipe that names no split to validate on may have data without one.
            if part != "validation" or split != default_of(DataRecipe.__dataclass_fields__["validation_split"]):
                raise
            return []
    if part == "train":
        raise ValueError(f"the recipe names no training data: set train_files, dataset_name or train_{recipe.inline}")
    return []


def read_part_texts(recipe: TextsRecipe, part: str) -> list[str] | None:
    """Return the texts of a part of the recipe's data; None if it names none for the part. Training texts are required.

    `<s>` and `</s>` around every text are left out; see `plain_texts`.

    Raises:
        ValueError, OSError: as `read_rows` and `plain_texts`.
    """
    texts, files = getattr(recipe, f"{part}_texts", ()), getattr(recipe, f"{part}_files")
    split = getattr(recipe, f"{part}_split")
    if texts and not recipe.columns:
        check_one_source(recipe, texts, files, split)
        return list(plain_texts(texts, where=lambda number: f"{part}_texts, text {number + 1}"))
    if part != "train" and not (texts or files or (recipe.dataset_name and split)):
        return None
    rows = read_rows(recipe, part)
    return None if rows is None else rows.plain_texts("text")


def read_test_texts(recipe: TextsRecipe) -> Sequence[str] | None:
    """Return the texts of the part "test" as `read_part_texts` does; lines of text files are not held in memory."""
    files = recipe.test_files
    are_lines = bool(files) and not recipe.columns and all(file_suffix(name) == ".txt" for name in files)
    if not are_lines:
        return read_part_texts(recipe, "test")
    check_one_source(recipe, recipe.inline_rows("test"), files, recipe.test_split)
    return FileLines(files)


class FileLines(Sequence[str]):
    """The lines of `.txt` files as texts, without `<s>` and `</s>` around every text; read by each iteration.

    All are read once at first, so that an error comes at once.

    Raises:
        ValueError, OSError: as `read_part_texts`.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self.files = list(files)
        self._length = sum(1 for _ in self)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        for name in self.files:
            is_empty = True
            for line in plain_texts(read_texts(find_file(name)), where=partial(_row, name)):
                is_empty = False
                yield line
            if is_empty:
                raise ValueError(f"{name}: there is no row in it")

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return list(self)[index]


def _row(name: str, number: int) -> str:
    return f"{name}, row {number + 1}"


class _Table:
    """The columns of one file, list of rows or data set, under its own names for them.

    Args:
        names: the names of all columns, if `columns` holds only some of them.
    """

    def __init__(
        self, source: str, columns: Any, recipe: DataRecipe | None = None, names: Sequence[str] | None = None
    ) -> None:
        if recipe is not None and hasattr(columns, "flatten") and any("." in name for name in recipe.columns.values()):
            columns = columns.flatten()  # a column of mappings {"fr": ..., "en": ...} becomes translation.fr and so on
        self.source, self.columns, self.recipe = source, columns, recipe
        own = list(getattr(columns, "column_names", None) or columns)
        self.known, rows = names or own, getattr(columns, "num_rows", None)
        self.length = rows if rows is not None else len(columns[own[0]]) if own else 0
        if not self.length:
            raise ValueError(f"{source}: there is no row in it")
        self.lines: list[list[int] | None] = getattr(columns, "lines", None) or [None] * self.length

    def has(self, column: str) -> bool:
        """Return whether a column of the task exists here, or the recipe says that it does."""
        if self.recipe is None:
            return column in self.known
        return column in self.recipe.columns or not set(self.known).isdisjoint(self.recipe.column_aliases(column))

    def documents(self, part: str) -> list[Any]:
        """Return the document of each row, None where none is named; only training data must have a column for them."""
        if DOCUMENT in self.known or (part == "train" and self.has(DOCUMENT)):
            return self.read(DOCUMENT)
        return getattr(self.columns, "documents", None) or [None] * self.length

    def read(self, column: str, is_label: bool = False) -> list[Any]:
        """Return the values of a column of the task.

        Raises:
            ValueError: the column is missing.
        """
        names = [column] if self.recipe is None else self.recipe.column_aliases(column)
        for name in names:
            if name in self.known:
                return _decoded(self.columns, name)
        advice = UNLABELLED if self.recipe is None else self.recipe.no_label_advice
        hint = f"; {advice}" if is_label else ""
        raise missing_column(self.source, column, names, self.known, hint)


def missing_column(source: str, column: str, names: Sequence[str], known: Sequence[str], hint: str = "") -> ValueError:
    """Return the error for a column of the task that a source lacks."""
    missing = " or ".join(map(repr, names))
    return ValueError(
        f"{source} has no column {missing}, only {', '.join(known)}; `columns.{column}` names another one{hint}"
    )


def _decoded(columns: Any, name: str) -> list[Any]:
    """Return the values, with a data set's classes by their names; -1, no class, becomes None."""
    values, feature = list(columns[name]), getattr(columns, "features", {}).get(name)
    names = getattr(getattr(feature, "feature", feature), "names", None)
    if names is None:
        return values

    def decoded(value: Any) -> Any:
        if isinstance(value, list):
            return [decoded(entry) for entry in value]
        return names[value] if value is not None and value >= 0 else None

    return [decoded(value) for value in values]


def check_one_source(recipe: DataRecipe, own: Sequence[Any], files: Sequence[str], split: str) -> None:
    """Raise a ValueError if a recipe names the data of one part twice."""
    if sum(map(bool, (own, files, recipe.dataset_name and split))) > 1:
        raise ValueError(f"the recipe names its data twice; keep one of {recipe.inline}, files and dataset_name")


def _read_file(name: str, recipe: DataRecipe, known: Sequence[str], has_labels: bool) -> _Table:
    suffix = file_suffix(name)
    if suffix in TABLE_SUFFIXES:
        table = open_table(name, recipe)
        read = table.read_columns(chain.from_iterable(map(recipe.column_aliases, known)))
        if not any(read.values()):
            raise ValueError(f"{name} has no row below the names of its columns")
        return _Table(name, read, recipe, table.column_names)
    columns: Any = None
    if suffix == ".txt":
        # Lines are read as everywhere in the package; an error names the line that is not UTF-8.
        columns = {"text": list(read_texts(find_file(name)))}
    elif suffix in READERS:
        columns = READERS[suffix](find_file(name), name, has_labels)
    return _Table(name, load_files([name], streaming=False) if columns is None else columns, recipe)


def open_table(name: str, recipe: DataRecipe) -> TextTable:
    """Open a `.tsv` or `.csv` file with the header that the recipe's benchmark gives it, if any."""
    header = recipe.header()
    is_bare = file_suffix(name) == ".tsv" and header and _begins_with_a_row(name, header)
    return TextTable(find_file(name), name, header if is_bare else (), recipe.malformed_header())


def _begins_with_a_row(name: str, header: Sequence[str]) -> bool:
    """Return whether the first line of a `.tsv` file is a row of these columns, and not their names.

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
