# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Card, publication and measurement of a classifier, ours or transformers' own, as training left it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline
from typer.testing import CliRunner

from hf_lecture_cli import app
from hf_lecture_models.hub import export
from hf_lecture_models.hub.card import render_card, write_card
from hf_lecture_models.hub.facts import facts_of, missing_facts
from hf_lecture_models.hub.publish import prepare
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.main import train_and_test
from hf_lecture_models.tasks.registry import TASKS, measure_file, task_of
from hf_lecture_models.tasks.text_classification import TextClassification, TextClassificationRecipe
from tests.hub.card_examples import examples, output_without_package
from tests.tasks.small_classifier import ROWS, save_small_bert, write_tsv

KINDS = ["ours", "stock", "pairs", "numbers"]


def make(kind: str, folder: Path) -> Path:
    """The folder that training leaves."""
    fields: dict[str, Any] = {"train_rows": ROWS, "validation_rows": ROWS[:8], "label_names": {0: "bad", 1: "good"}}
    if kind == "pairs":
        for part in ("train_rows", "validation_rows"):
            fields[part] = [{**row, "text_pair": "a film"} for row in fields[part]]
    if kind == "numbers":
        fields |= {"problem_type": "regression", "label_names": {}}
    if kind != "ours":
        fields["from_pretrained"] = str(save_small_bert(folder.parent / f"{folder.name}_start"))
    data = {"name": "Twelve Sentences", "licence": "CC0"}
    train_and_test(
        TextClassification(), TextClassificationRecipe(output_dir=str(folder), data=data, name="a small one", **fields)
    )
    return folder


@pytest.fixture(scope="module", params=KINDS)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return request.param, make(request.param, tmp_path_factory.mktemp("trained") / "run")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make("ours", tmp_path_factory.mktemp("ours") / "run")


def test_the_card_of_a_trained_folder(trained: tuple[str, Path], tmp_path: Path) -> None:
    kind, folder = trained
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    key, label = ("pearson", "Pearson correlation") if kind == "numbers" else ("accuracy", "accuracy")
    record = json.loads((folder / "training.json").read_text())
    macro_f1 = {"macro_f1"} if kind != "numbers" else set()
    assert facts["results"].keys() == {key, "examples", *macro_f1}
    assert (facts["results"][key], facts["results"]["examples"]) == (record["best_metric"], 8)
    assert facts["training"]["examples"] == record["items"]
    card = render_card(facts)
    assert card.data.pipeline_tag == "text-classification"
    result, *others = card.data.eval_results
    assert {other.metric_type for other in others} <= {"macro_f1", "f1"}
    assert (result.task_type, result.metric_type, result.metric_name) == ("text-classification", key, label)
    assert result.metric_value == pytest.approx(record["best_metric"], rel=1e-5)
    assert f"| {label} | {record['best_metric']:#.4g} |" in card.text
    assert "Measured on 8 examples." in card.text
    assert ("Classes: bad, good." in card.text) == (kind != "numbers")
    assert "accelerate launch training/finetune_glue.py recipe.yaml" in card.text
    assert "examples read: 12" in card.text
    assert "erplexity" not in card.text
    assert "bits" not in card.text
    assert card.data.tags == [*(["hf_lecture_models"] if kind == "ours" else []), model.config.model_type]
    assert str(folder.parent) not in card.text, "the place of the checkpoint"
    assert not re.search(r"\n{4,}|[{}]{2}|\{%|None| \n", card.text)


def test_the_example_runs_and_is_the_tasks(
    trained: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, folder = trained
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    code = examples(write_card(tmp_path, facts))[0]
    assert code.strip() == TASKS[facts["task"]["name"]].usage(facts)
    assert ("text_pair" in code, "import hf_lecture_models" in code) == (kind == "pairs", kind == "ours")
    monkeypatch.chdir(folder)
    exec(compile(code, "README.md", "exec"), {})
    assert "'label': " in capsys.readouterr().out


def test_what_is_published_loads_and_needs_no_code_of_transformers(trained: tuple[str, Path], tmp_path: Path) -> None:
    kind, folder = trained
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    assert missing_facts(facts) == ["the licence of the weights: --licence NAME states it"]
    stage = prepare(model, tokenizer, "somebody/small", tmp_path / "stage", facts)
    assert any(stage.glob("*.py")) == (kind == "ours")
    assert ("auto_map" in json.loads((stage / "config.json").read_text())) == (kind == "ours")
    assert ModelCard.load(stage / "README.md").text.count("```python") == (2 if kind == "ours" else 1)
    loaded = AutoModelForSequenceClassification.from_pretrained(stage)
    assert all(torch.equal(tensor, loaded.state_dict()[name]) for name, tensor in model.state_dict().items())
    assert pipeline("text-classification", model=str(stage))("a fine film") == pipeline(
        "text-classification", model=str(folder)
    )("a fine film")


def test_a_card_without_facts_knows_the_kind_of_model(ours: Path, tmp_path: Path) -> None:
    model, tokenizer = load_model(str(ours))
    card = ModelCard.load(prepare(model, tokenizer, "somebody/small", tmp_path / "stage") / "README.md")
    assert card.data.pipeline_tag == "text-classification"
    assert "Nothing was measured." in card.text
    assert 'pipeline("text-classification", model="somebody/small")' in card.text


def test_a_file_is_measured_as_the_model_was_trained(trained: tuple[str, Path], tmp_path: Path) -> None:
    kind, folder = trained
    rows = [{**row, "text_pair": "a film"} if kind == "pairs" else row for row in ROWS]
    path = tmp_path / "more.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    measured = measure_file(path, model, tokenizer, facts)
    assert measured["task"] == facts["task"]
    assert measured["data"] == {"name": "Twelve Sentences", "licence": "CC0", "split": "more.jsonl"}
    assert measured["results"]["examples"] == len(ROWS)
    if kind == "numbers":
        return
    classify = pipeline("text-classification", model=str(folder))
    right = 0
    for row in rows:
        answer = classify({"text": row["text"], "text_pair": row["text_pair"]} if kind == "pairs" else row["text"])
        label = answer["label"] if isinstance(answer, dict) else answer[0]["label"]
        right += label == ("bad", "good")[row["label"]]
    assert measured["results"]["accuracy"] == pytest.approx(right / len(rows))


def test_the_command_measures_a_classifier(ours: Path, tmp_path: Path) -> None:
    path = tmp_path / "more.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    options = ["--evaluate", str(path), "--licence", "apache-2.0", "--dry-run"]
    done = CliRunner().invoke(app, ["publish", str(ours), "somebody/small", *options])
    assert done.exit_code == 0, done.output
    assert "On Twelve Sentences, more.jsonl." in done.stdout
    assert "Measured on 12 examples." in done.stdout
    assert "modeling_bag_of_words.py" in done.stdout


def test_columns_of_the_recipe_hold_for_other_files_too(tmp_path: Path) -> None:
    files = {"train_files": [str(write_tsv(tmp_path / "T.tsv"))]}
    train_and_test(
        TextClassification(), TextClassificationRecipe(task="sst2", output_dir=str(tmp_path / "run"), **files)
    )
    model, tokenizer = load_model(str(tmp_path / "run"))
    facts = facts_of(tmp_path / "run", model, tokenizer)
    assert facts["results"] == {}
    measured = measure_file(write_tsv(tmp_path / "V.tsv", ROWS[:4]), model, tokenizer, facts)
    assert measured["results"]["examples"] == 4
    with pytest.raises(ValueError, match=r"other.tsv has no column 'sentence', only text, label"):
        measure_file(write_tsv(tmp_path / "other.tsv", text="text"), model, tokenizer, facts)


def test_the_task_of_a_model_is_that_of_its_class(ours: Path) -> None:
    model, _ = load_model(str(ours))
    assert task_of(model).name == "text_classification"
    with pytest.raises(ValueError, match="BagOfWordsModel is a model of none of the tasks causal_lm, masked_lm, "):
        task_of(model.model)


@pytest.mark.slow
def test_the_example_runs_where_the_package_is_absent(ours: Path, tmp_path: Path) -> None:
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(ours), AutoTokenizer.from_pretrained(ours)
    export(model, tokenizer, tmp_path / "exported", facts_of(ours, model, tokenizer))
    code = examples(tmp_path / "exported" / "README.md")[1]
    assert "'label': " in output_without_package(code, tmp_path / "exported", tmp_path / "modules")
