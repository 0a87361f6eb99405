# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture export`: a folder that loads where the package is missing, and says what to type next."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from hf_lecture_models.tasks.core.main import run_task
from hf_lecture_models.tasks.registry import TASKS
from tests.hub.card_examples import examples, output_without_package
from tests.printed_commands import run_printed
from tests.tasks.small_classifier import ROWS, save_small_bert


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bag of words, as training leaves it in a folder with a blank in its name."""
    place = tmp_path_factory.mktemp("export")
    rows = "".join(f"{row['text']},{('bad', 'good')[row['label']]}\n" for row in ROWS * 3)
    (place / "rows.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    before = Path.cwd()
    os.chdir(place)
    try:
        options = ["--train_files", "rows.csv", "--output_dir", "my model", "--epochs", "1", "--validation_share", "0"]
        run_task(TASKS["text_classification"], options, "")
    finally:
        os.chdir(before)
    return place


def test_the_folder_loads_without_the_package(
    run: Any, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(trained / "my model", tmp_path / "my model")
    monkeypatch.chdir(tmp_path)
    status, out, err = run("export", "my model", "a folder", "--licence", "cc0-1.0")
    assert (status, err) == (0, "")
    first, python, following = out.splitlines()
    files = [path for path in Path("a folder").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    assert first == f"a folder: {len(files)} files, {size:,} bytes: weights, tokenizer, code, card"
    assert python.startswith("in Python, with transformers alone: AutoModelForSequenceClassification.from_pretrained(")
    assert following == "next: hf-lecture predict 'a folder' < texts.txt"
    assert "license: cc0-1.0" in Path("a folder/README.md").read_text(encoding="utf-8")
    assert str(tmp_path) not in Path("a folder/README.md").read_text(encoding="utf-8")
    # What is printed in Python, and the card's example, in one process that cannot import the package.
    code = python.partition(": ")[2].partition(";")[0]
    example = examples(Path("a folder/README.md"))[1]
    load = f"from transformers import AutoModelForSequenceClassification; print(type({code}).__name__)"
    lines = "\n".join([load, "import os; os.chdir('a folder')", example])
    shown = output_without_package(lines, tmp_path, tmp_path / "modules").splitlines()
    assert shown[0] == "BagOfWordsForSequenceClassification"
    assert "'label': " in shown[1]
    Path("texts.txt").write_text("a fine film\n", encoding="utf-8")
    status, out, err = run_printed(following.removeprefix("next: "), tmp_path)
    assert (status, out.split("\t")[0] in ("bad", "good")) == (0, True), err


def test_a_folder_that_holds_something_is_refused(run: Any, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").touch()
    for target in (tmp_path / "full", tmp_path / "full" / "letter.txt", trained / "my model"):
        status, out, err = run("export", trained / "my model", target)
        assert (status, out) == (1, "")
        assert err == f"hf-lecture export: {target} is there already: remove it, or name a new folder\n"
    (tmp_path / "empty").mkdir()
    assert run("export", trained / "my model", tmp_path / "empty")[0] == 0


def test_a_model_of_transformers_needs_no_code(run: Any, tmp_path: Path) -> None:
    save_small_bert(tmp_path / "bert")
    _, out, _ = run("export", tmp_path / "bert", tmp_path / "out")
    assert "weights, tokenizer, card\n" in out
    assert "trust_remote_code" not in out
    assert not list((tmp_path / "out").rglob("*.py"))


def test_what_is_no_model_costs_a_line(run: Any, tmp_path: Path) -> None:
    status, out, err = run("export", tmp_path / "nowhere", tmp_path / "out")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert not (tmp_path / "out").exists()
