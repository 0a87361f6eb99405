# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Texts that a trained classifier labels, and what another one learns from them."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertModel, pipeline

from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe
from hf_lecture_models.tasks.core.main import train_from_command
from tests.tasks.small_classifier import ROWS, WORDS, save_small_bert, small_bert, small_tokenizer, write_tsv

NAMES = {"id2label": {0: "positive", 1: "negative"}, "label2id": {"positive": 0, "negative": 1}}
TASK = TextClassification()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with a teacher, whose classes are in another order than the data's, and files."""
    monkeypatch.chdir(tmp_path)
    save_small_bert(Path("TEACHER"), **NAMES)
    write_tsv(Path("few.tsv"), ROWS[:2])
    write_tsv(Path("more.tsv"), [{"text": f"{first} {last}", "label": -1} for first in WORDS for last in WORDS])
    return tmp_path


def recipe(**fields: Any) -> TextClassificationRecipe:
    teacher = {"pseudo_labels": "TEACHER", "unlabelled_files": ["more.tsv"]}
    return TextClassificationRecipe(**({"task": "sst2", "train_files": ["few.tsv"]} | teacher | fields))


def said_by_pipeline(texts: list[str], folder: str = "TEACHER") -> list[str]:
    return [found["label"] for found in pipeline("text-classification", model=folder)(texts)]


def test_unlabelled_rows_get_the_teachers_classes(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = TASK.read(recipe(), "train")
    labels = said_by_pipeline(rows.columns["text"][2:])
    assert len(rows) == 2 + len(WORDS) ** 2
    assert rows.columns["label"][:2] == ["0", "1"]
    assert rows.columns["label"][2:] == [str(["negative", "positive"].index(label)) for label in labels]
    assert set(labels) == {"negative", "positive"}
    counts = sorted(((labels.count(name), name) for name in set(labels)), reverse=True)
    assert f"texts of more.tsv: {counts[0][0]} {counts[0][1]}, {counts[1][0]} {counts[1][1]}" in capsys.readouterr().err
    assert rows.where(2) == "more.tsv, row 1"
    assert TASK.read(recipe(pseudo_labels="", unlabelled_files=[]), "train")[:] == rows[:2]


def test_lines_of_texts_and_pairs_are_read_as_they_are(place: Path) -> None:
    Path("more.txt").write_text("a fine film\na dull film\n")
    rows = TASK.read(recipe(unlabelled_files=["more.txt", "more.tsv"]), "train")
    assert rows.columns["text"][2:4] == ["a fine film", "a dull film"]
    assert [rows.where(index) for index in (2, 4)] == ["more.txt, row 1", "more.tsv, row 1"]
    pairs = [
        {"text": row["text"], "text_pair": "a film", "label": ["negative", "positive"][row["label"]]} for row in ROWS
    ]
    Path("pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in pairs))
    fields: dict[str, Any] = {"train_rows": pairs[:4], "pseudo_labels": "TEACHER"}
    task = TextClassification()
    rows = task.read(TextClassificationRecipe(**fields, unlabelled_files=["pairs.jsonl"]), "train")
    found = pipeline("text-classification", model="TEACHER")(
        [{"text": row["text"], "text_pair": row["text_pair"]} for row in pairs]
    )
    assert rows.columns["label"][4:] == [label["label"] for label in found]
    with pytest.raises(ValueError, match="more.txt has no column text_pair, but the recipe's train_rows has"):
        task.read(TextClassificationRecipe(**fields, unlabelled_files=["more.txt"]), "train")


@pytest.mark.slow
def test_classes_that_are_only_numbered_are_known_by_their_numbers(place: Path) -> None:
    save_small_bert(Path("numbered"))
    rows = TASK.read(recipe(pseudo_labels="numbered"), "train")
    labels = said_by_pipeline(rows.columns["text"][2:], "numbered")
    assert rows.columns["label"][2:] == [label.removeprefix("LABEL_") for label in labels]


@pytest.mark.slow
def test_a_student_learns_what_its_few_rows_do_not_say(place: Path) -> None:
    line = "--task sst2 --from_pretrained TEACHER --train_files all.tsv --epochs 40 --batch_size 4 --output_dir"
    write_tsv(Path("all.tsv"))
    train_from_command(TextClassification(), [*line.split(), "good", "--learning_rate", "0.02"])
    write_tsv(Path("few.tsv"), [{"text": "film", "label": 0}, {"text": "is", "label": 1}])
    write_tsv(Path("more.tsv"), [row | {"label": -1} for row in ROWS])
    line = "--task sst2 --train_files few.tsv --validation_files all.tsv --batch_size 4 --learning_rate 0.1 --epochs 20"
    alone = train_from_command(TextClassification(), [*line.split(), "--output_dir", "alone"]).training
    command = [*line.split(), "--pseudo_labels", "good", "--unlabelled_files", "more.tsv", "--output_dir", "taught"]
    taught = train_from_command(TextClassification(), command).training
    assert taught.items == 20 * (2 + len(ROWS))
    assert taught.best_metric is not None
    assert alone.best_metric is not None
    assert taught.best_metric > alone.best_metric + 0.3
    assert train_from_command(TextClassification(), [*command, "--resume"]).training.step == taught.step
    write_tsv(Path("more.tsv"), ROWS[:3])
    with pytest.raises(ValueError, match="cannot resume: .*the training data changed"):
        train_from_command(TextClassification(), [*command, "--resume"])


def test_teachers_and_rows_that_cannot_be_are_refused(place: Path) -> None:
    save_small_bert(Path("three"), id2label={0: "negative", 1: "neutral", 2: "positive"})
    with pytest.raises(ValueError, match="three tells apart negative, neutral, positive, the data negative, positive"):
        TASK.read(recipe(pseudo_labels="three"), "train")
    torch.manual_seed(0)
    BertModel(small_bert().config).save_pretrained("untrained")
    small_tokenizer().save_pretrained("untrained")
    with pytest.raises(ValueError, match="untrained is no trained classifier: it does not hold classifier.bias"):
        TASK.read(recipe(pseudo_labels="untrained"), "train")
    write_tsv(Path("more.tsv"), [{"text": "film " * 20, "label": -1}])
    with pytest.raises(ValueError, match="more.tsv, row 1 has 22 tokens"):
        TASK.read(recipe(), "train")
    assert len(TASK.read(recipe(max_length=16), "train")) == 3
    for fields in ({"pseudo_labels": ""}, {"unlabelled_files": []}):
        with pytest.raises(ValueError, match="pseudo_labels and unlabelled_files belong together"):
            recipe(**fields)
    with pytest.raises(ValueError, match="pseudo_labels are for classes, problem_type regression learns numbers"):
        recipe(problem_type="regression")
    with pytest.raises(FileNotFoundError, match=r"there is no file nowhere.tsv"):
        TASK.read(recipe(unlabelled_files=["nowhere.tsv"]), "train")
