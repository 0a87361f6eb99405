# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A path means one file or folder, for every library that reads it and whatever signs its name holds."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hf_lecture_models.data.reading import read_part_texts
from hf_lecture_models.data.recipe import TextsRecipe
from hf_lecture_models.data.streaming import stream_texts
from hf_lecture_models.models.ngram.out_of_core.engines import count_windows, read_counted
from tests.odd_names import NEIGHBOURS, ODD_NAMES

pytest.importorskip("datasets")
pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))


def _write_parquet(path: Path, text: str) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"text": [text]}), path)


WRITERS: dict[str, Callable[[Path, str], object]] = {
    ".txt": lambda path, text: path.write_text(f"{text}\n"),
    ".csv": lambda path, text: path.write_text(f"text\n{text}\n"),
    ".tsv": lambda path, text: path.write_text(f"text\n{text}\n"),
    ".json": lambda path, text: path.write_text(f'[{{"text": "{text}"}}]'),
    ".jsonl": lambda path, text: path.write_text(f'{{"text": "{text}"}}\n'),
    ".parquet": _write_parquet,
}


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_file_of_data_is_read_alone(tmp_path: Path, name: str, suffix: str) -> None:
    """At once and streamed, in a folder whose name is as odd."""
    for each in (*NEIGHBOURS, name):
        (tmp_path / each).mkdir()
        for own in (*NEIGHBOURS, name):
            WRITERS[suffix](tmp_path / each / f"{own}{suffix}", "right" if each == own == name else "wrong")
    recipe = TextsRecipe(train_files=[str(tmp_path / name / f"{name}{suffix}")])
    assert read_part_texts(recipe, "train") == [row["text"] for row in stream_texts(recipe)] == ["right"]


def test_a_path_that_datasets_takes_for_an_address_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD", "even")
    for name in ("a::b.jsonl", "$ODD.jsonl"):
        (tmp_path / name).write_text('{"text": "a"}\n')
        with pytest.raises(ValueError, match="datasets cannot open a path that holds '::' or a variable"):
            read_part_texts(TextsRecipe(train_files=[str(tmp_path / name)]), "train")


def _count(engine: str, folder: Path, name: str) -> list[dict[str, int]]:
    import pyarrow.parquet

    for each in (*NEIGHBOURS, name):
        for stage in ("windows", "counted", "scratch"):
            (folder / each / stage).mkdir(parents=True)
        words = pyarrow.array([1, 1, 2] if each == name else [7], pyarrow.int32())
        pyarrow.parquet.write_table(pyarrow.table({"w1": words}), folder / each / "windows" / "windows.parquet")
    own, bar = folder / name, pytest.importorskip("tqdm").tqdm(disable=True)
    count_windows(engine, own / "windows", own / "counted", own / "scratch", 10**9, bar)
    return [row for batch in read_counted(own / "counted") for row in batch.to_pylist()]


@pytest.mark.cases(2, 2)
@pytest.mark.parametrize("name", ODD_NAMES)
def test_duckdb_counts_the_windows_of_one_folder(tmp_path: Path, name: str) -> None:
    """A folder `order=3` once became a column `order`, which was counted as a word."""
    pytest.importorskip("duckdb")
    pytest.importorskip("ibis")
    assert _count("duckdb", tmp_path, name) == [{"w1": 1, "occurrences": 2}, {"w1": 2, "occurrences": 1}]


@pytest.mark.cases(0, 1)
@pytest.mark.slow
@pytest.mark.parametrize("name", ODD_NAMES)
def test_spark_counts_the_windows_of_one_folder(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyspark")
    pytest.importorskip("ibis")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    assert _count("spark", tmp_path, name) == [{"w1": 1, "occurrences": 2}, {"w1": 2, "occurrences": 1}]


def test_spark_is_not_given_a_folder_that_it_reads_as_two(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    with pytest.raises(ValueError, match="Spark takes the comma in .*a,b.* for the end of a path"):
        _count("spark", tmp_path, "a,b")
