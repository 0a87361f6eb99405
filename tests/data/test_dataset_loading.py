# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Data sets in local folders: of `save_to_disk`, of files, and damaged ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_lecture_models.data.reading import read_part_texts, read_rows
from hf_lecture_models.data.recipe import RowsRecipe, TextsRecipe
from hf_lecture_models.data.streaming import stream_texts
from hf_lecture_models.lab.studies.text_rows import TextRows

datasets = pytest.importorskip("datasets")

TEXTS = {"train": ["a cat", "a dog"], "validation": ["a hen"]}


@pytest.fixture
def parts() -> Any:
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])})
    return datasets.DatasetDict(
        {
            part: datasets.Dataset.from_dict({"text": texts, "label": [1] * len(texts)}, features=features)
            for part, texts in TEXTS.items()
        }
    )


@pytest.fixture
def folder(parts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With brackets in its name, and named relative to the current folder."""
    monkeypatch.chdir(tmp_path)
    parts.save_to_disk(tmp_path / "saved [1]")
    return Path("saved [1]")


@pytest.mark.parametrize("kind", ["saved", "of files"])
def test_a_local_folder_is_the_data_set_of_a_recipe(folder: Path, parts: Any, kind: str) -> None:
    """It needs no revision, and is named where a row of it is."""
    if kind == "of files":
        folder = Path("files")
        for part, data in parts.items():
            data.to_parquet(folder / f"{part}.parquet")
    recipe = TextsRecipe(dataset_name=str(folder))
    for part, texts in TEXTS.items():
        assert read_part_texts(recipe, part) == texts
    assert [row["text"] for row in stream_texts(recipe)] == TEXTS["train"]
    rows = read_rows(RowsRecipe(dataset_name=str(folder)), "validation", ("text",), labels=("label",))
    assert rows is not None
    assert rows[:] == [{"text": "a hen", "label": "yes"}]
    assert rows.where(0) == f"split validation of {folder}, row 1"


def test_a_data_set_without_splits_is_training_data(folder: Path, parts: Any) -> None:
    """It is no validation data too: a model would be measured on what it was trained on.

    Without a split of the default name, there are no validation data; any other name is one that is meant.
    """
    parts["train"].save_to_disk("one")
    assert read_part_texts(TextsRecipe(dataset_name="one"), "train") == TEXTS["train"]
    with pytest.raises(ValueError, match=r"^one has no split 'dev', only train; .* none: `validation_split` ''$"):
        read_part_texts(TextsRecipe(dataset_name="one", validation_split="dev"), "validation")
    assert read_part_texts(TextsRecipe(dataset_name="one"), "validation") is None
    assert read_part_texts(TextsRecipe(dataset_name="one", validation_split=""), "validation") is None
    # One with a split of its own has that name too.
    Path("rows.jsonl").write_text('{"text": "an owl"}\n', encoding="utf-8")
    datasets.load_dataset("json", data_files={"test": "rows.jsonl"}, split="test").save_to_disk("test")
    for part, fields in (("train", {}), ("test", {"test_split": "test"})):
        assert read_part_texts(TextsRecipe(dataset_name="test", **fields), part) == ["an owl"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dataset_revision": "abc"}, r"saved \[1\] is a folder of this machine, which has no dataset_revision"),
        ({"dataset_config": "one"}, r"saved \[1\] was written by save_to_disk and has no configuration 'one'"),
        ({"train_split": "one/train"}, r"saved \[1\] was written by save_to_disk and has no configuration 'one'"),
        ({"train_split": "dev"}, r"saved \[1\] has no split 'dev', only train, validation"),
        ({"dataset_name": "savd"}, "savd needs dataset_revision.* There is no local folder of this name"),
    ],
)
def test_what_does_not_fit_a_folder(folder: Path, fields: dict[str, str], message: str) -> None:
    recipe = TextsRecipe(**{"dataset_name": str(folder)} | fields)
    for read in (lambda: read_part_texts(recipe, "train"), lambda: stream_texts(recipe)):
        with pytest.raises(ValueError, match=message):
            read()


def test_a_folder_among_the_files_of_a_recipe(folder: Path) -> None:
    recipe = TextsRecipe(train_files=[str(folder)])
    for read in (lambda: read_part_texts(recipe, "train"), lambda: stream_texts(recipe)):
        with pytest.raises(ValueError, match=r"^saved \[1\] is a folder, not a file; .* named by dataset_name$"):
            read()


def without(content: bytes, field: str) -> bytes:
    return json.dumps({name: value for name, value in json.loads(content).items() if name != field}).encode()


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        ("train/dataset_info.json", lambda content: b"", "info.json is not whole JSON"),
        ("train/dataset_info.json", lambda content: content[:-9], "info.json is not whole JSON"),
        ("train/dataset_info.json", lambda content: b"\xff" + content, "info.json is not whole JSON"),
        ("train/dataset_info.json", lambda content: b"[]", "info.json holds no JSON object"),
        ("train/dataset_info.json", lambda content: b"null", "info.json holds no JSON object"),
        ("train/dataset_info.json", lambda content: b'{"features": {"text": 3}}', "a field of its JSON files is"),
        ("train/dataset_info.json", lambda content: content.replace(b"string", b"strin"), "strin"),
        ("train/state.json", lambda content: b"{}", "a field of its JSON files is missing or wrong .*_data_files"),
        ("train/state.json", lambda content: b'"a"', "state.json holds no JSON object"),
        ("dataset_dict.json", lambda content: without(content, "splits"), "a field of its JSON files .*splits"),
        ("dataset_dict.json", lambda content: b"{", "dict.json is not whole JSON"),
        ("train/data-00000-of-00001.arrow", lambda content: content[:100], "cannot be read as a data set"),
        ("train/data-00000-of-00001.arrow", lambda content: b"", "cannot be read as a data set"),
    ],
)
def test_damaged_folders(folder: Path, file: str, damage: Callable[[bytes], bytes], message: str) -> None:
    """One line that names the folder, whatever the library raises for it: TypeError, KeyError, AttributeError."""
    (folder / file).write_bytes(damage((folder / file).read_bytes()))
    recipe = TextsRecipe(dataset_name=str(folder))
    for read in (
        lambda: read_part_texts(recipe, "train"),
        lambda: stream_texts(recipe),
        lambda: list(TextRows([str(folder)], lambda name: [])),
    ):
        with pytest.raises(ValueError, match=rf"saved \[1\].*{message}[^\n]*; copy or save it again$"):
            read()
