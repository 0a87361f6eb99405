# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Wrong predictions: the file that other programs read, the lines that a run prints, and the order of the rows."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import datasets
import pytest
from transformers import pipeline

from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.errors import Errors, errors_of_classes, report_errors, write_errors
from hf_lecture_models.tasks.registry import TASKS
from tests.tasks.small_classifier import ROWS, small_bert, small_tokenizer
from tests.tasks.small_tagger import ROWS as SENTENCES
from tests.tasks.small_tagger import save_small_bert

TEXTS = ["=1+1", '-2, "quoted"', "+3\tx", "@x", "two\nlines", "carriage\rreturn", "\u2028é, 日本", "  blanks  ", ""]
"""What spreadsheets compute, what separates cells and rows, and what is easily cut off."""


def table(**columns: Any) -> Errors:
    rows = [{"text": text, "gold": "a", "predicted": "b", "score": 0.5, **columns} for text in TEXTS]
    return Errors(rows, 20, Counter({("a", "b"): len(rows)}))


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".tsv", "\t"), (".CSV", ",")])
def test_another_program_reads_the_same_values(tmp_path: Path, suffix: str, delimiter: str) -> None:
    path = tmp_path / f"errors{suffix}"
    write_errors(table(choices=["x, y", '"']), path)
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter=delimiter)
    assert header == ["text", "gold", "predicted", "score", "choices"]
    assert [row[0] for row in rows] == TEXTS
    assert {tuple(row[1:4]) for row in rows} == {("a", "b", "0.5")}
    assert json.loads(rows[0][4]) == ["x, y", '"']
    if suffix == ".csv":
        found = datasets.load_dataset(
            "csv", data_files=str(path), split="train", cache_dir=tmp_path, keep_default_na=False
        )
        assert found["text"][:] == TEXTS
        assert found["score"][:] == [0.5] * len(TEXTS)


def test_json_lines_have_values_as_they_are(tmp_path: Path) -> None:
    write_errors(table(choices=["x"]), tmp_path / "errors.jsonl")
    lines = (tmp_path / "errors.jsonl").read_bytes().decode("utf-8").split("\n")
    assert [json.loads(line) for line in lines[:-1]] == table(choices=["x"]).rows


def test_without_errors_there_is_a_header_alone(tmp_path: Path) -> None:
    write_errors(Errors([], 5), tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_text() == '"gold","predicted"\n'
    write_errors(Errors([], 5), tmp_path / "none.jsonl")
    assert (tmp_path / "none.jsonl").read_text() == ""
    with pytest.raises(ValueError, match=r"errors.txt must end in .csv, .tsv or .jsonl"):
        write_errors(Errors([], 5), tmp_path / "errors.txt")


def test_a_few_classes_make_a_table_and_many_the_most_frequent_confusions() -> None:
    items = [{"gold": f"c{n % 12}", "predicted": f"c{(n % 12 + (n < 3)) % 12}", "score": 0.5} for n in range(40)]
    assert report_errors(errors_of_classes(items), "validation data") == [
        "3 of 40 wrong on the validation data; the most frequent confusions:",
        *(f"    c{n} predicted as c{n + 1}: 1 of 4" for n in range(3)),
    ]
    few = [{"gold": "a very long name of a class", "predicted": "é", "score": 0.5}] * 1000
    assert report_errors(errors_of_classes([*few, {"gold": "é", "predicted": "é"}]), "test data") == [
        "1,000 of 1,001 wrong on the test data; rows are right classes, columns the predicted ones:",
        "                    a very long...      é",
        "    a very long...               0  1,000",
        "                 é               0      1",
    ]
    assert report_errors(Errors([], 4), "test data") == ["0 of 4 wrong on the test data"]


def test_other_answers_are_shown_in_a_line_each() -> None:
    rows = [{"context": "left out", "gold": "a\nb " * 60, "predicted": "c", "score": 0.123456789, "where": "x"}] * 5
    head, *lines = report_errors(Errors(rows, 9), "validation data")
    assert head == "5 of 9 wrong on the validation data; the worst:"
    assert lines == [f"    gold {('a b ' * 60)[:97]}..., predicted c, score 0.123457"] * 3
    by = report_errors(Errors(rows, 9, by="lowest chrF"), "validation data")[0]
    assert by == "the validation data: those with the lowest chrF:"


def test_the_errors_of_classes_are_those_of_transformers_pipeline(tmp_path: Path) -> None:
    small_bert(id2label={0: "positive", 1: "negative"}).save_pretrained(tmp_path)
    small_tokenizer().save_pretrained(tmp_path)
    names = ["positive", "negative"]
    rows = [{"text": row["text"], "label": names[row["label"]]} for row in ROWS]
    task: Any = TASKS["text_classification"]
    recipe = task.recipe_class(train_rows=rows)
    found = task.errors(*load_model(str(tmp_path)), task.read(recipe, "train"), recipe)
    predicted = pipeline("text-classification", model=str(tmp_path))([row["text"] for row in rows])
    expected = [
        {"text": row["text"], "gold": row["label"], "predicted": one["label"], "score": one["score"]}
        for row, one in zip(rows, predicted, strict=True)
        if row["label"] != one["label"]
    ]
    assert 0 < len(expected) < len(rows)
    expected.sort(key=lambda row: -row["score"])
    assert [(row["text"], row["gold"], row["predicted"]) for row in found.rows] == [
        (row["text"], row["gold"], row["predicted"]) for row in expected
    ]
    assert [row["score"] for row in found.rows] == pytest.approx([row["score"] for row in expected], rel=1e-4)
    worst = found.rows[0]
    assert worst["where"] == f"the recipe's train_rows, row {[row['text'] for row in rows].index(worst['text']) + 1}"
    assert found.count == found.pairs.total() == len(rows)


def test_each_wrong_word_is_a_row_with_its_sentence_and_line(tmp_path: Path) -> None:
    save_small_bert(tmp_path / "model")
    path = tmp_path / "sentences.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in SENTENCES), encoding="utf-8")
    task: Any = TASKS["token_classification"]
    recipe = task.recipe_class(train_files=[str(path)], output_dir=str(tmp_path / "out"))
    model, tokenizer = load_model(str(tmp_path / "model"))
    data = task.read(recipe, "train")
    found = task.errors(model, tokenizer, data, recipe)
    words = task.predict(model, tokenizer, task.encode(model, tokenizer, data, recipe))
    assert found.count == sum(len(row["tokens"]) for row in SENTENCES)
    scores = [row["score"] for row in found.rows]
    assert scores == sorted(scores, reverse=True)
    for row in found.rows[:5]:
        place = row["where"].removeprefix(f"{path}, row ").partition(", word ")
        sentence, word = int(place[0]) - 1, int(place[2]) - 1
        tag, score = words[sentence][word]
        assert row["sentence"].split() == SENTENCES[sentence]["tokens"]
        assert (row["word"], row["gold"]) == (SENTENCES[sentence]["tokens"][word], SENTENCES[sentence]["tags"][word])
        assert (row["predicted"], row["score"]) == (model.config.id2label[tag], score)
    cut = task.errors(model, tokenizer, data, task.recipe_class(train_files=[str(path)], max_length=3))
    assert "" in {row["predicted"] for row in cut.rows}, "of a word that was cut off"
    assert all(row["score"] == 0 for row in cut.rows if not row["predicted"])
