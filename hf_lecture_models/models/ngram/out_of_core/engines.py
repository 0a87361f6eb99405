# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Counting as a group-by: one relational expression (ibis), on DuckDB in this process or on Spark, if asked by name.

"numpy", the default, needs no package: `packed_windows.py`.

A table of windows has the words from each position of a text on, `w1 ... w_order`, and -1 after the end of the text.
The sorted windows with their numbers of occurrences give the n-grams of all orders, sorted.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from hf_lecture_models.io.literal_paths import literal_pattern, spark_pattern

ENGINES = ("numpy", "duckdb", "spark")  # the first is the default
BATCH_ROWS = 1 << 18
_SMALLEST_BUDGETS = {"numpy": 100 * 10**6, "duckdb": 300 * 10**6, "spark": 900 * 10**6}
_BYTES_PER_WORD = 320  # each word may follow a context, and a context is smoothed at once
_HOW_TO_INSTALL = {
    "duckdb": "pip install 'hf-lecture-models[big]'",
    "spark": "pip install 'hf-lecture-models[big]' 'pyspark<5'",
}


def smallest_budget(engine: str, vocab_size: int) -> int:
    """Return the bytes that an engine needs, beside what the process holds already."""
    return _SMALLEST_BUDGETS[engine] + _BYTES_PER_WORD * vocab_size


def import_engine(engine: str) -> None:
    """Import the packages of an engine; numpy needs no others.

    Raises:
        ImportError: one is not installed.
        FileNotFoundError: Spark does not find Java.
    """
    if engine == "numpy":
        return
    try:
        for module in ("ibis", "pyarrow.parquet", "duckdb" if engine == "duckdb" else "pyspark"):
            import_module(module)
    except ImportError as error:
        how = _HOW_TO_INSTALL[engine]
        raise ImportError(f"the engine {engine} is not installed ({error}): {how}") from error
    if engine == "spark" and not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        raise FileNotFoundError("the engine spark needs Java: install version 17, or name its folder in JAVA_HOME")


def count_windows(engine: str, windows: Path, counted: Path, scratch: Path, memory: int, bar: Any) -> None:
    """Count equal windows: read a folder of Parquet files, and write another.

    Args:
        windows: folder with int32 columns w1 ... w_order, in any order of rows.
        counted: an empty folder for the result: the same columns, each row once, and int64 `occurrences`. The rows are
            sorted through all files, these in the order of their names.
        scratch: an empty folder for rows that do not fit into the engine's memory.
        memory: bytes that the engine may use.
        bar: a progress bar of per cent, for DuckDB; Spark has its own.

    Raises:
        ValueError: Spark cannot use the name of the scratch folder.
    """
    with _connect(engine, scratch, memory) as connection:
        expression = _counted(_read(engine, connection, windows))
        if engine == "spark":
            connection.to_parquet(expression, counted / "all.parquet")
            return
        with _watched(connection, bar):
            # Not by to_parquet of ibis, which quotes the path as Python does.
            path = str(counted.absolute() / "all.parquet").replace("'", "''")
            connection.raw_sql(f"COPY ({connection.compile(expression)}) TO '{path}' (FORMAT parquet)")


def _read(engine: str, connection: Any, folder: Path) -> Any:
    """Return the table of a folder of Parquet files, with the columns of the files, whatever the folder is called."""
    from pyarrow.parquet import read_schema

    files = sorted(folder.glob("*.parquet"))
    if engine == "spark":
        table = connection.read_parquet(spark_pattern(folder))
    else:
        # Without the option, a folder `order=3` in the path is read as a column `order`.
        table = connection.read_parquet([literal_pattern(path) for path in files], hive_partitioning=False)
    names = read_schema(files[0]).names
    if list(table.columns) != names:
        raise ValueError(f"{engine} reads the columns {', '.join(table.columns)} of {folder}, not {', '.join(names)}")
    return table


@contextmanager
def _watched(connection: Any, bar: Any) -> Iterator[None]:
    """Move the bar while DuckDB works."""
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(0.5):
            bar.update(max(round(connection.con.query_progress()) - bar.n, 0))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()


def _counted(windows: Any) -> Any:
    words = list(windows.columns)
    return windows.group_by(words).aggregate(occurrences=windows.count()).order_by(words)


@contextmanager
def _connect(engine: str, scratch: Path, memory: int) -> Iterator[Any]:
    import ibis

    if engine == "duckdb":
        connection = ibis.duckdb.connect(
            memory_limit=f"{memory // 10**6}MB",
            threads=min(torch.get_num_threads(), max(memory // 10**8, 1)),  # each has buffers of its own
            temp_directory=str(scratch),
            preserve_insertion_order=False,
        )
        try:
            yield connection
        finally:
            connection.disconnect()
        return
    from pyspark.sql import SparkSession

    if "," in str(scratch.absolute()):
        raise ValueError(f"Spark takes the comma in {scratch} for the end of a path; name a folder without one")
    running = SparkSession.getActiveSession()
    # In a session of our own the log, with Java's stacks, is off: errors are raised as exceptions anyway.
    options: dict[str, Any] = {"spark.driver.memory": f"{memory // 2**20}m", "spark.local.dir": str(scratch)}
    options["spark.log.level"] = "OFF"
    session = running or SparkSession.builder.config(map=options).getOrCreate()
    try:
        yield ibis.pyspark.connect(session)
    finally:
        if running is None:
            session.stop()


def read_counted(counted: Path) -> Iterator[Any]:
    """Yield the rows that `count_windows` has written, in their order, as Arrow batches."""
    from pyarrow.parquet import ParquetFile

    for path in sorted(path for path in counted.rglob("*.parquet") if path.is_file()):
        with ParquetFile(path) as file:
            yield from file.iter_batches(BATCH_ROWS)
