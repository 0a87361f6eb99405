# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Rows that hold a text, read chunk by chunk: lines, JSON lines, tables, Parquet files and folders of data sets.

`row_writer.py` writes them again as they were.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_lecture_models.data.dataset_loading import folder_errors, import_datasets, load_folder
from hf_lecture_models.data.tables import TABLE_SUFFIXES, TextTable
from hf_lecture_models.io.packing import file_suffix
from hf_lecture_models.tokenization.corpus import BYTE_ORDER_MARK, without_end

CHUNK_ROWS = 4096
"""The most rows of a chunk."""
CHUNK_CHARACTERS = 1 << 23
"""About the most characters of a chunk of lines or rows of a table."""
_JSON_SUFFIXES = (".json", ".jsonl")

LineReader = Callable[[str], Iterable[list[str]]]


@dataclass(frozen=True)
class RowChunk:
    """Some rows of a file.

    Attributes:
        texts: the text of each row; None where the field is null or missing.
        rows: the rows as they are written: lines with their ends, or a `pyarrow.Table`.
        source: the name of the file.
        head: what stands before the rows, in a file's first chunk: a byte order mark, a table's line of names.
    """

    texts: list[str | None]
    rows: Any
    source: str
    head: str = ""


def row_form(name: str, as_json: bool = False) -> str:
    """Return the form of a file's rows by its name: "lines", "json", "parquet", "folder", ".csv" or ".tsv".

    >>> row_form("a.jsonl.gz"), row_form("wiki.test.tokens"), row_form("a.csv"), row_form("-", as_json=True)
    ('json', 'lines', '.csv', 'json')

    Args:
        name: a file, a folder, or "-", standard input.
        as_json: lines are JSON objects, whatever the name is.
    """
    if name != "-" and Path(name).is_dir():
        return "folder"
    suffix = "" if name == "-" else file_suffix(name)
    if as_json or suffix in _JSON_SUFFIXES:
        return "json"
    return "parquet" if suffix == ".parquet" else suffix if suffix in TABLE_SUFFIXES else "lines"


class TextRows:
    r"""The rows of files of one form, read each time that they are iterated.

    >>> rows = TextRows(["-"], lambda name: [["a cat\n", "a dog\n"]])
    >>> [(chunk.texts, chunk.rows) for chunk in rows]
    [(['a cat', 'a dog'], ['a cat\n', 'a dog\n'])]

    Args:
        names: files, or folders of data sets (of `save_to_disk`, or of files that `load_dataset` finds there).
        read_lines: returns the lines of a file with their ends, in lists; called for plain lines and JSON lines.
        column: the name of the field that holds the text.
        as_json: lines are JSON objects, whatever the names are.
        split: the part of a folder's data set.

    Attributes:
        form: see `row_form`.

    Raises:
        ValueError: the files are of several forms.
    """

    def __init__(
        self,
        names: Sequence[str],
        read_lines: LineReader,
        column: str = "text",
        as_json: bool = False,
        split: str = "train",
    ) -> None:
        forms = list(dict.fromkeys(row_form(name, as_json) for name in names))
        if len(forms) > 1:
            raise ValueError(f"{', '.join(names)} are of several forms ({', '.join(forms)}); filter them one by one")
        (self.form,) = forms
        self.names, self.column, self.split, self._read_lines = list(names), column, split, read_lines

    def __iter__(self) -> Iterator[RowChunk]:
        """Yield the rows, chunk by chunk.

        Raises:
            ValueError: a row is damaged, a text is something else, no row has the field, or the files' columns differ.
            OSError, ImportError: a file cannot be read; or datasets is not installed.
        """
        chunks: Iterable[RowChunk]
        for name in self.names:
            if self.form == "lines":
                chunks = _plain_rows(name, self._read_lines(name))
            elif self.form == "json":
                chunks = _json_rows(name, self._read_lines(name), self.column)
            elif self.form in TABLE_SUFFIXES:
                chunks = _table_rows(name, self.column)
            else:
                tables = read_parquet(name) if self.form == "parquet" else _read_folder(name, self.split)
                chunks = (RowChunk(_arrow_texts(table, name, self.column), table, name) for table in tables)
            yield from chunks

    def check_columns(self) -> None:
        """Raise an error if tables have different columns.

        Raises:
            ValueError: the names in the first lines differ; or as `TextTable`.
        """
        if self.form in TABLE_SUFFIXES:
            columns = {name: TextTable(_regular_file(name), name).column_names for name in self.names}
            for name, others in columns.items():
                if others != columns[self.names[0]]:
                    raise ValueError(f"{name} has other columns than {self.names[0]}; filter them one by one")


def _plain_rows(name: str, chunks: Iterable[list[str]]) -> Iterator[RowChunk]:
    for mark, lines in _without_mark(chunks):
        yield RowChunk(list(map(without_end, lines)), lines, name, mark)


def _without_mark(chunks: Iterable[list[str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines without the byte order mark at their beginning, and this mark with the first ones."""
    for number, (line, *others) in enumerate(chunks):
        text = line if number else line.lstrip(BYTE_ORDER_MARK)
        yield line.removesuffix(text), [*filter(None, [text]), *others]


def _json_rows(name: str, chunks: Iterable[list[str]], column: str) -> Iterator[RowChunk]:
    """Yield the rows of JSON lines; blank lines are left out."""
    source, number, fields = "standard input" if name == "-" else name, 0, dict[str, None]()
    for mark, lines in _without_mark(chunks):
        texts, rows = [], []
        for line in lines:
            number += 1
            if not line.strip():
                continue
            row = _parse_row(f"{source}, line {number}", line)
            fields |= dict.fromkeys(row)
            texts.append(_checked_text(row.get(column), f"{source}, line {number}", column))
            rows.append(line)
        yield RowChunk(texts, rows, name, mark)
    if fields and column not in fields:
        raise _no_column(source, column, fields)


def _parse_row(where: str, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not JSON ({error}); give one object in each line") from None
    if not isinstance(row, dict):
        raise ValueError(f"{where} is not a JSON object; give one object in each line")
    return row


def _checked_text(value: Any, where: str, column: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ValueError(f"{where}: {column!r} is {json.dumps(value)[:60]}, not a text; name another field")


def _no_column(source: str, column: str, known: Iterable[str]) -> ValueError:
    return ValueError(
        f"{source} has no column {column!r}, only {', '.join(map(repr, known))}: name the one of the texts"
    )


def _table_rows(name: str, column: str) -> Iterator[RowChunk]:
    table = TextTable(_regular_file(name), name)
    if column not in table.column_names:
        raise _no_column(name, column, table.column_names)
    place = table.column_names.index(column)
    yield RowChunk([], [], name, table.head)
    rows = ((fields[place], lines) for _, fields, lines in table.written_rows())
    for chunk in bounded_chunks(rows, lambda row: len(row[1])):
        yield RowChunk([text for text, _ in chunk], [lines for _, lines in chunk], name)


def bounded_chunks(items: Iterable[Any], size: Callable[[Any], int] = len) -> Iterator[list[Any]]:
    """Yield items in lists of at most `CHUNK_ROWS`, and of not many more characters than `CHUNK_CHARACTERS`.

    >>> list(bounded_chunks(iter(["a", "b"])))
    [['a', 'b']]
    """
    chunk: list[Any] = []
    characters = 0
    for item in items:
        chunk.append(item)
        characters += size(item)
        if len(chunk) == CHUNK_ROWS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _regular_file(name: str) -> Path:
    if not Path(name).is_file():
        raise ValueError(f"{name} is not a regular file, and a table is read more than once; save it in a file first")
    return Path(name)


def read_parquet(name: str) -> Iterator[Any]:
    """Yield the rows of a Parquet file as tables of Arrow.

    Raises:
        ValueError: the file is damaged.
    """
    import_datasets()
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(_regular_file(name)) as file:
            yield pyarrow.Table.from_batches([], file.schema_arrow)
            for batch in file.iter_batches(batch_size=CHUNK_ROWS):
                yield pyarrow.Table.from_batches([batch])
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{name} cannot be read as parquet: {error}; restore the file") from error


def _read_folder(name: str, split: str) -> Iterator[Any]:
    """Yield the rows of a folder's data set as tables of Arrow.

    Raises:
        ValueError: the folder holds no data set, a damaged one, or none with this split.
    """
    data = load_folder(name, split, streaming=True)
    with folder_errors(name):
        yield from data.with_format("arrow").iter(batch_size=CHUNK_ROWS)


def _arrow_texts(table: Any, name: str, column: str) -> list[str | None]:
    import pyarrow

    names = table.column_names
    if column not in names:
        raise _no_column(name, column, names)
    if names.count(column) > 1:
        raise ValueError(f"{name} has two columns {column!r}; rename one of them")
    values, kinds = table.column(column), pyarrow.types
    if kinds.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    texts = (kinds.is_string, kinds.is_large_string, kinds.is_string_view, kinds.is_null)
    if not any(is_kind(values.type) for is_kind in texts):
        raise ValueError(f"{name}: column {column!r} holds {values.type}, not texts; name another column")
    return values.to_pylist()
