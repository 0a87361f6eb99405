# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Tables of texts with a line of names above their rows: `.tsv` files, in which nothing is quoted, and `.csv` files.

Every field is read as a text, `01` and `007` too; a task converts labels or scores to numbers if it needs numbers.
Blank lines are left out.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hf_lecture_models.io.packing import file_suffix
from hf_lecture_models.io.runs import log_once
from hf_lecture_models.tokenization.corpus import BYTE_ORDER_MARK, MAX_LINE_BYTES, read_lines, without_end

TABLE_SUFFIXES = (".tsv", ".csv")
_FIXES = {
    ".tsv": "part columns by one tab, and write none within a field",
    ".csv": "put a field that holds a comma into quotation marks",
}

Row = tuple[int, list[str]]
"""The number of a row's first line, and its fields."""
WrittenRow = tuple[int, list[str], str]
"""The same, and the row's lines as they are written."""


class TextTable:
    """A table of texts in a file, read each time that its rows or columns are asked for.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.tsv").write_text("id\\ttext\\n007\\ta b\\n")
    ...     table = TextTable(Path(folder, "a.tsv"), "a.tsv")
    ...     table.column_names, table.read_columns(["id"])
    (['id', 'text'], {'id': ['007']})

    Args:
        path: the file, packed or not.
        name: the name of the file in messages; its suffix decides whether tabs or commas separate the fields.
        header: the names of the columns of a file whose first line is a row.
        malformed_header: the first line of a benchmark's file with rows of other widths. If the file begins with this
            line, such rows are counted and left out; in other files they are an error.

    Attributes:
        column_names: the names of all columns.
        head: the line of names as it is written, "" for a file without one.

    Raises:
        ValueError: the file is empty, or its first line has a name twice, or ends as no other line does; or as
            `read_texts`.
        OSError: the file cannot be read.
    """

    def __init__(self, path: Path, name: str, header: Sequence[str] = (), malformed_header: Sequence[str] = ()) -> None:
        self.path, self.name = path, name
        self.suffix = file_suffix(name)
        self.has_header = not header
        _, first, line = next(self._records(), (0, [], ""))
        if not first:
            raise ValueError(f"{name} is empty: there is no row in it")
        self.head = line if self.has_header else ""
        if self.suffix == ".tsv" and "\r" in without_end(self.head):
            raise ValueError(
                f"{name}, line 1: a carriage return within the names of the columns; end each line with a line feed"
            )
        self.column_names = list(header) or first
        self.skips_malformed = self.column_names == list(malformed_header)
        for column in self.column_names:
            if column and self.column_names.count(column) > 1:
                raise ValueError(f"{name}, line 1: two columns have the name {column!r}; rename one of them")

    def rows(self) -> Iterator[Row]:
        """Yield the rows.

        Raises:
            ValueError: a row has not as many fields as the header, or is quoted wrongly; or as `read_texts`.
            OSError: as `read_texts`.
        """
        return ((number, fields) for number, fields, _ in self.written_rows())

    def written_rows(self) -> Iterator[WrittenRow]:
        """Yield the rows, and how they are written.

        Raises:
            ValueError, OSError: as `rows`.
        """
        width, skipped = len(self.column_names), []
        for index, (number, fields, lines) in enumerate(self._records()):
            if self.has_header and not index:
                continue
            if len(fields) == width:
                yield number, fields, lines
            elif self.skips_malformed:
                skipped.append(number)
            else:
                raise ValueError(
                    f"{self.name}, line {number}: {_counted(len(fields), 'field')}, but there "
                    f"{'is' if width == 1 else 'are'} {_counted(width, 'column')}, {', '.join(self.column_names)}; "
                    f"{_FIXES[self.suffix]}"
                )
        if skipped:
            log_once(
                f"{self.name}: {_counted(len(skipped), 'row')} of another width than the header's {width} columns, as "
                f"this benchmark's file is known to have, left out; the first in line {skipped[0]}"
            )

    def read_columns(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return the values of the named columns that the table has, or of its first column if it has none of them.

        Raises:
            ValueError, OSError: as `rows`.
        """
        wanted = set(names).intersection(self.column_names) or {self.column_names[0]}
        columns: dict[str, list[str]] = {}
        adders = []
        for place, name in enumerate(self.column_names):
            if name in wanted:
                columns[name] = []
                adders.append((place, columns[name].append))
        for _, fields in self.rows():
            for place, add in adders:
                add(fields[place])
        return columns

    def _records(self) -> Iterator[WrittenRow]:
        return _tab_separated(self.path) if self.suffix == ".tsv" else _quoted(self.path, self.name)


def read_tab_separated(path: Path) -> Iterator[Row]:
    """Yield the lines of a `.tsv` file that are not blank, the first one too, as rows of any number of fields."""
    return ((number, fields) for number, fields, _ in _tab_separated(path))


def _tab_separated(path: Path) -> Iterator[WrittenRow]:
    for number, line in enumerate(read_lines(path), start=1):
        text = without_end(line)
        if text.strip(" "):
            yield number, (text.lstrip(BYTE_ORDER_MARK) if number == 1 else text).split("\t"), line


def _quoted(path: Path, name: str) -> Iterator[WrittenRow]:
    # The module's limit for fields holds for the whole process; here the length of lines is limited already.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
    taken: list[str] = []
    reader = csv.reader(_without_mark(read_lines(path), taken), strict=True)
    while True:
        number = reader.line_num + 1
        taken.clear()
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ValueError(
                f"{name}, line {number}: {error}; quotation marks around a field come in pairs, within it doubled"
            ) from None
        # A line of one empty field in quotation marks is not blank.
        if fields and (len(fields) > 1 or not fields[0] or fields[0].strip(" ")):
            yield number, fields, "".join(taken)


def _without_mark(lines: Iterator[str], taken: list[str]) -> Iterator[str]:
    """Yield the lines without a byte order mark, and add them to `taken` as they are."""
    for number, line in enumerate(lines):
        taken.append(line)
        yield line if number else line.lstrip(BYTE_ORDER_MARK)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
