# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a run prints below its closing line: its errors on the validation data, and what to type next."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.afterwards import ERRORS_FILE, learning_line, lines_afterwards, next_line
from hf_lecture_models.tasks.core.main import run_task, train_from_command
from hf_lecture_models.tasks.registry import TASKS

TASK = TASKS["text_classification"]


def write_reviews(path: Path, numbers: range) -> None:
    """Rows whose label follows from one word, but for every tenth row, whose label is wrong."""
    lines = []
    for number in numbers:
        is_good, word = (number % 2 == 0) != (number % 10 == 9), ("fine", "dull")[number % 2]
        lines.append(f"{'good' if is_good else 'bad'},a {word} film {number}\n")
    path.write_text(f"label,text\n{''.join(lines)}", encoding="utf-8")


def read_errors(folder: str) -> list[dict[str, str]]:
    with Path(folder, ERRORS_FILE).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_reviews(tmp_path / "train.csv", range(200))
    write_reviews(tmp_path / "dev.csv", range(1000, 1040))
    return tmp_path


OPTIONS = ["--train_files", "train.csv", "--learning_rate", "0.1", "--epochs", "3", "--output_dir", "my model"]


def test_the_confusion_table_counts_the_predictions_of_the_saved_model(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_task(TASK, [*OPTIONS, "--validation_files", "dev.csv"], "")
    closing, head, names, *table = capsys.readouterr().out.splitlines()
    assert closing.endswith(f": {place}/my model")
    recipe = TASK.recipe_class(train_files=["dev.csv"])
    model, tokenizer = load_model("my model")
    data = TASK.read(recipe, "train")
    confusions = TASK.evaluate(model, tokenizer, data, recipe)["classes"]
    assert names.split() == ["bad", "good"]
    assert [line.split() for line in table[:2]] == [
        [gold, *(str(confusions[gold]["predicted"][own]) for own in ("bad", "good"))] for gold in ("bad", "good")
    ]
    wrong = confusions["bad"]["predicted"]["good"] + confusions["good"]["predicted"]["bad"]
    assert head.startswith(f"{wrong} of 40 wrong on the validation data")
    assert wrong > 0
    rows = read_errors("my model")
    assert len(rows) == wrong
    lines = Path("dev.csv").read_text(encoding="utf-8").splitlines()
    for row in rows:
        assert lines[int(row["where"].removeprefix("dev.csv, row "))] == f"{row['gold']},{row['text']}"
    assert table[2:] == [
        f"all of them: 'my model/{ERRORS_FILE}'",
        "learning curve: hf-lecture see learning 'my model'",
        "next: hf-lecture predict 'my model' < texts.txt",
    ]


def test_held_out_rows_are_named_by_their_places_in_the_training_file(place: Path) -> None:
    run_task(TASK, OPTIONS, "")
    rows = read_errors("my model")
    assert 0 < len(rows) < 20
    lines = Path("train.csv").read_text(encoding="utf-8").splitlines()
    for row in rows:
        assert lines[int(row["where"].removeprefix("train.csv, row "))] == f"{row['gold']},{row['text']}"


def test_in_python_and_without_validation_data_there_are_no_errors(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train_from_command(TASK, [*OPTIONS, "--validation_files", "dev.csv"]).errors is None
    assert not Path("my model", ERRORS_FILE).exists()
    capsys.readouterr()
    run_task(TASK, [*OPTIONS, "--validation_share", "0", "--output_dir", "other"], "")
    assert capsys.readouterr().out.splitlines()[1:] == [
        "learning curve: hf-lecture see learning other",
        "next: hf-lecture predict other < texts.txt",
    ]


def test_commands_name_folders_as_a_shell_reads_them(place: Path) -> None:
    assert learning_line(place / "a b") == "learning curve: hf-lecture see learning 'a b'"
    assert learning_line("/elsewhere/x") == "learning curve: hf-lecture see learning /elsewhere/x"
    assert next_line(TASK, "it's; rm") == "next: hf-lecture predict 'it'\"'\"'s; rm' < texts.txt"
    assert next_line(TASK, "-x") == "next: hf-lecture predict ./-x < texts.txt"
    assert next_line(TASK, "{}") == "next: hf-lecture predict '{}' < texts.txt"
    assert lines_afterwards(TASKS["masked_lm"], "out", None) == [learning_line("out")]
