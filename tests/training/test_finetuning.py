# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The scripts that fine-tune, as their pages show them, with models of transformers itself."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoModel,
    AutoModelForMultipleChoice,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    pipeline,
)

from hf_lecture_models.tasks.registry import measure_file
from tests.tasks.small_classifier import ROWS as CLASSIFIED
from tests.tasks.small_classifier import stand_in_hub
from tests.tasks.small_tagger import ROWS as TAGGED
from tests.training.scripts import COPA, Script, of, printed_commands


@of("glue")
def test_the_printed_command_trains_a_stock_classifier(script: Script) -> None:
    """Of a folder without a head; that its weights are new is told in one line."""
    AutoModel.from_pretrained("FOLDER").save_pretrained("FOLDER")
    out, err = script.finish(*printed_commands(script.task)[0])
    assert re.fullmatch(r"1 steps, [\d,]+ examples/s, best validation accuracy [\d.]+: \S+/OUT\n", out)
    classes, told, training, *_ = err.splitlines()
    assert classes == "2 classes in T.tsv: negative (6), positive (6)"
    assert told == "weights that FOLDER does not hold start anew: classifier.bias, classifier.weight"
    assert training.startswith("training ")
    model = AutoModelForSequenceClassification.from_pretrained("OUT")
    assert type(model).__name__ == "BertForSequenceClassification"
    assert model.config.id2label == {0: "negative", 1: "positive"}
    tokenizer = AutoTokenizer.from_pretrained("OUT")
    with torch.no_grad():
        right = [
            int(model(**tokenizer(row["text"], return_tensors="pt")).logits.argmax()) == row["label"]
            for row in CLASSIFIED[:6]
        ]
    record = json.loads(Path("OUT/training.json").read_text())
    assert record["best_metric"] == pytest.approx(sum(right) / 6)
    assert (record["items"], record["recipe"]["accumulation_steps"]) == (len(CLASSIFIED), 4)
    assert pipeline("text-classification", model="OUT")("a fine film")[0]["label"] in ("negative", "positive")


@of("glue")
def test_a_task_of_the_hub_ends_with_predictions_for_its_test_rows(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in_hub(monkeypatch, ("sentence1", "sentence2"), ("entailment", "not_entailment"))
    arguments = ["--task", "rte", "--from_pretrained", "FOLDER", "--predict_split", "test", "--output_dir", "OUT"]
    script.run(*arguments)
    assert capsys.readouterr().out.endswith("/OUT/predictions/RTE.tsv\n")
    header, *lines = Path("OUT/predictions/RTE.tsv").read_text().splitlines()
    assert header == "index\tprediction"
    assert [line.split("\t")[0] for line in lines] == ["11", "7"]
    assert {line.split("\t")[1] for line in lines} <= {"entailment", "not_entailment"}


@pytest.mark.slow
@of("multiple_choice")
def test_the_printed_command_trains_a_stock_model_and_predicts(script: Script) -> None:
    out, _ = script.finish(*printed_commands(script.task)[0])
    pattern = r"1 steps, [\d,]+ examples/s, best validation accuracy [\d.]+: \S+/OUT, predictions in \S+/COPA.jsonl\n"
    assert re.fullmatch(pattern, out)
    model, tokenizer = AutoModelForMultipleChoice.from_pretrained("OUT"), AutoTokenizer.from_pretrained("OUT")
    assert type(model).__name__ == "BertForMultipleChoice"
    expected = []
    for number, row in enumerate(COPA):
        asks = "What was the cause of this?" if row["question"] == "cause" else "What happened as a result?"
        texts = [f"{row['premise']} {asks}"] * 2, [row["choice1"], row["choice2"]]
        inputs = tokenizer(*texts, padding=True, return_tensors="pt")
        with torch.no_grad():
            best = int(model(**{name: tensor[None] for name, tensor in inputs.items()}).logits.argmax())
        expected.append({"idx": 500 + number, "label": best})
    found = Path("OUT/predictions/COPA.jsonl").read_text()
    assert [json.loads(line) for line in found.splitlines()] == expected
    record = json.loads(Path("OUT/training.json").read_text())
    right = sum(row["label"] == one["label"] for row, one in zip(COPA[:3], expected, strict=False))
    assert (record["best_metric"], record["items"]) == (pytest.approx(right / 3), len(COPA))


@of("tagging")
def test_the_command_without_a_model_trains_an_lstm(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        *printed_commands(script.task)[1],
        "--model.hidden_size",
        "8",
        "--test_files",
        "V.conll",
        "--epochs",
        "2",
    ]
    script.run(*arguments)
    assert re.search(r"^2 steps, .* tags/s, test f1 [\d.]+: \S+/OUT\n$", capsys.readouterr().out)
    facts = json.loads(Path("OUT/facts.json").read_text())
    assert facts["class"] == "RecurrentForTokenClassification"
    assert facts["data"] == {"name": "V.conll"}
    assert {"f1", "precision", "recall", "accuracy", "words", "sentences"} <= facts["results"].keys()
    model, tokenizer = AutoModelForTokenClassification.from_pretrained("OUT"), AutoTokenizer.from_pretrained("OUT")
    measured = measure_file("T.conll", model, tokenizer, facts)
    assert (measured["data"], measured["results"]["words"]) == (
        {"name": "T.conll"},
        sum(len(row["tokens"]) for row in TAGGED),
    )
