# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Write rows that `text_rows.py` has read, in their own form, as they were written."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import compress
from pathlib import Path
from typing import Any, TextIO

from hf_lecture_models.data.tables import BYTE_ORDER_MARK
from hf_lecture_models.io.files import staged_file
from hf_lecture_models.io.packing import packed
from hf_lecture_models.lab.studies.text_rows import RowChunk, TextRows, row_form
from hf_lecture_models.tokenization.corpus import without_end

# Kept rows are gathered to groups of this size, as writers of Parquet do by themselves.
_GROUP_ROWS = 1 << 16

Write = Callable[[RowChunk, Sequence[bool]], None]


@contextmanager
def row_writer(rows: TextRows, output: str | None, stream: TextIO, as_json: bool = False) -> Iterator[Write]:
    r"""Yield a function that writes those rows of a chunk that are kept.

    >>> import sys
    >>> rows = TextRows(["-"], lambda name: [["a cat\n", "a dog\n"]])
    >>> with row_writer(rows, None, sys.stdout) as write:
    ...     for chunk in rows:
    ...         write(chunk, [False, True])
    a dog

    Args:
        rows: what is read.
        output: the file to write, whole or not at all, packed if named .gz, .bz2, .xz or .zst. None: write to `stream`,
            chunk by chunk.
        as_json: the file has JSON lines, whatever its name is.

    Raises:
        ValueError: the name of the file belongs to another form than the rows', or the columns of their files differ.
        OSError: as `staged_file`.
    """
    rows.check_columns()
    form = "parquet" if rows.form == "folder" else rows.form
    if form == "parquet" and output is None:
        raise ValueError("rows of Parquet are not written as text; `output` names a file for them, FILE.parquet")
    if output is None:
        yield _line_writer(stream)
        return
    if row_form(output, as_json) != form:
        raise ValueError(f"rows stay in their own form, {form.removeprefix('.')}; give {output} a name of that form")
    with staged_file(output) as path:
        if form == "parquet":
            with _parquet_writer(path) as write:
                yield write
            return
        with open(path, "wb") as file, packed(file, path) as raw, TextIOWrapper(raw, "utf-8", newline="") as text:
            yield _line_writer(text)


def _line_writer(file: TextIO) -> Write:
    last: str | None = None

    def write(chunk: RowChunk, kept: Sequence[bool]) -> None:
        nonlocal last
        if last is None:
            file.write(chunk.head)
            last = chunk.head.removeprefix(BYTE_ORDER_MARK)
        lines = list(compress(chunk.rows, kept))
        if lines:
            # The last line of the file before may have no end.
            if last and without_end(last) == last:
                file.write("\r\n" if lines[0].endswith("\r\n") else "\n")
            last = lines[-1]
        file.writelines(lines)
        file.flush()

    return write


@contextmanager
def _parquet_writer(path: Path) -> Iterator[Write]:
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    waiting: list[Any] = []
    writers: list[Any] = []
    sources: list[str] = []

    def write_group() -> None:
        if waiting:
            writers[0].write_table(pyarrow.concat_tables(waiting))
            waiting.clear()

    def write(chunk: RowChunk, kept: Sequence[bool]) -> None:
        if not writers:
            writers.append(ParquetWriter(path, chunk.rows.schema))
            sources.append(chunk.source)
        if chunk.rows.schema != writers[0].schema:
            raise ValueError(f"{chunk.source} has other columns than {sources[0]}; filter them one by one")
        waiting.append(chunk.rows.filter(pyarrow.array(kept, pyarrow.bool_())))
        if sum(map(len, waiting)) >= _GROUP_ROWS:
            write_group()

    try:
        yield write
        if not writers:
            raise ValueError("there are no rows, and so no columns to write")
        write_group()
    finally:
        for writer in writers:
            writer.close()
