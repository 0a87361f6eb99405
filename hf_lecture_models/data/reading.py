# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The data of a recipe: written into it, in local files, or on the Hub at a pinned revision.

A part of the data ("train", "validation", "test" or "predict") is a sequence of rows, and a row is a mapping from the
task's columns to values: `{"text": "a fine film", "label": 1}`. The recipe's `columns` maps them to other names in a
file or data set. The rows of "predict" have no labels, or hidden ones, as GLUE's test rows have: they are not read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hf_lecture_models.data.conll import CONLL_SUFFIXES, ConllTable
from hf_lecture_models.data.dataset_loading import load_files, load_from_hub
from hf_lecture_models.data.files import find_file
from hf_lecture_models.data.recipe import DataRecipe, TextsRecipe
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.data.squad import read_squad_json
from hf_lecture_models.data.tables import TABLE_SUFFIXES, TextTable, file_suffix, read_tab_separated
from hf_lecture_models.tokenization.corpus import read_texts


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
    """Return the files, rows or splits of a part of the recipe's data; [] if it names none. Training data are required.

    Args:
        known: the columns of the task.
    """
    files, own = getattr(recipe, f"{part}_files"), recipe.inline_rows(part)
    split = getattr(recipe, f"{part}_split")
    check_one_source(recipe, own, files, split)
    if own:
        return [_Table(f"the recipe's {part}_{recipe.inline}", _as_columns(own))]
    if files:
        return [_Table(name, _read_file(name, recipe, known, has_labels=part != "predict"), recipe) for name in files]
    if recipe.dataset_name and split:
        return [
            _Table(f"split {one} of {recipe.dataset_name}", load_from_hub(recipe, one), recipe)
            for one in split.split("+")
        ]
    if part == "train":
        raise ValueError(f"the recipe names no training data: set train_files, dataset_name or train_{recipe.inline}")
    return []


def names_part(recipe: DataRecipe, part: str) -> bool:
    """Return whether a recipe names data for a part: in itself, in files, or on the Hub."""
    own, files = getattr(recipe, f"{part}_{recipe.inline}", ()), getattr(recipe, f"{part}_files")
    return bool(own or files or (recipe.dataset_name and getattr(recipe, f"{part}_split")))


def read_part_texts(recipe: TextsRecipe, part: str) -> list[str] | None:
    """Return the texts of a part of the recipe's data; None where it names none but for training.

    Raises:
        ValueError, OSError: as `read_rows`.
    """
    texts = getattr(recipe, f"{part}_texts", [])
    if texts and not recipe.columns:
        check_one_source(recipe, texts, getattr(recipe, f"{part}_files"), getattr(recipe, f"{part}_split"))
        return list(texts)
    rows = read_rows(recipe, part)
    return None if rows is None else rows.texts("text")


class _Table:
    """The columns of one file, list of rows or data set, under its own names for them."""

    def __init__(self, source: str, columns: Any, recipe: DataRecipe | None = None) -> None:
        if recipe is not None and hasattr(columns, "flatten") and any("." in name for name in recipe.columns.values()):
            columns = columns.flatten()  # a column of mappings {"fr": ..., "en": ...} becomes translation.fr and so on
        self.source, self.columns, self.recipe = source, columns, recipe
        self.known = list(getattr(columns, "column_names", None) or columns)
        rows = getattr(columns, "num_rows", None)
        self.length = rows if rows is not None else len(columns[self.known[0]]) if self.known else 0
        if not self.length:
            raise ValueError(f"{source}: there is no row in it")
        self.lines: list[list[int] | None] = getattr(columns, "lines", None) or [None] * self.length

    def column_aliases(self, column: str) -> Sequence[str]:
        """Return the names that a column of the task may have here."""
        return [column] if self.recipe is None else self.recipe.column_aliases(column)

    def has(self, column: str) -> bool:
        """Return whether a column of the task exists here, or the recipe says that it does."""
        is_said = self.recipe is not None and column in self.recipe.columns
        return is_said or any(name in self.known for name in self.column_aliases(column))

    def require(self, columns: Sequence[str], hint: str = "") -> None:
        """Raise a ValueError if one of the task's columns is missing."""
        for column in columns:
            names = self.column_aliases(column)
            if not any(name in self.known for name in names):
                raise missing_column(self.source, column, names, self.known, hint)

    def read(self, column: str) -> list[Any]:
        """Return the values of a column of the task."""
        self.require([column])
        return _decoded(self.columns, next(name for name in self.column_aliases(column) if name in self.known))


def missing_column(source: str, column: str, names: Sequence[str], known: Sequence[str], hint: str = "") -> ValueError:
    """Return the error for a column of the task that a source lacks."""
    missing = " or ".join(map(repr, names))
    return ValueError(
        f"{source} has no column {missing}, only {', '.join(known)}; --columns.{column} NAME names another one{hint}"
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


def _as_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(key for row in rows for key in row)}


def check_one_source(recipe: DataRecipe, own: Sequence[Any], files: Sequence[str], split: str) -> None:
    """Raise a ValueError if a recipe names the data of one part twice."""
    if sum(map(bool, (own, files, recipe.dataset_name and split))) > 1:
        raise ValueError(f"the recipe names its data twice; keep one of {recipe.inline}, files and dataset_name")


def _read_file(name: str, recipe: DataRecipe, known: Sequence[str], has_labels: bool) -> Any:
    if file_suffix(name) == ".txt":
        # Lines are read as everywhere in the package; an error names the line that is not UTF-8.
        return {"text": list(read_texts(find_file(name)))}
    if file_suffix(name) in CONLL_SUFFIXES:
        return ConllTable(find_file(name), name, has_tags=has_labels)
    if file_suffix(name) in TABLE_SUFFIXES:
        return _TableColumns(
            open_table(name, recipe), [own for column in known for own in recipe.column_aliases(column)]
        )
    if file_suffix(name) == ".json" and (columns := read_squad_json(find_file(name), name)) is not None:
        return columns
    return load_files([name], streaming=False)


class _TableColumns:
    """The columns of a table that a task knows, in memory, and the names of all its columns."""

    def __init__(self, table: TextTable, names: Sequence[str]) -> None:
        self.column_names, self._columns = table.column_names, table.read_columns(names)
        self.num_rows = len(next(iter(self._columns.values())))
        if not self.num_rows:
            raise ValueError(f"{table.name} has no row below the names of its columns")

    def __getitem__(self, column: str) -> list[str]:
        return self._columns[column]


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
