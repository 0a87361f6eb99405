# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Card, publication and measurement of a tagger, ours or transformers' own, as training left it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline
from typer.testing import CliRunner

from hf_lecture_cli import app
from hf_lecture_models.hub import export
from hf_lecture_models.hub.card import render_card, write_card
from hf_lecture_models.hub.facts import facts_of, missing_facts
from hf_lecture_models.hub.publish import prepare
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.main import train_and_test
from hf_lecture_models.tasks.registry import TASKS, measure_file, task_of
from hf_lecture_models.tasks.token_classification import TokenClassification, TokenClassificationRecipe
from tests.hub.card_examples import examples, output_without_package
from tests.tasks.small_tagger import ROWS, TAGS, save_small_bert, write_conll

WORDS = sum(len(row["tokens"]) for row in ROWS)
# Ours reads words, the other one pieces of them.
KINDS = {"ours": ("entities", "simple"), "plain": ("plain", None), "stock": ("entities", "first")}


def make(kind: str, folder: Path) -> Path:
    """The folder that training leaves."""
    fields: dict[str, Any] = {"train_rows": ROWS, "validation_rows": ROWS, "scheme": KINDS[kind][0]}
    if kind == "stock":
        fields["from_pretrained"] = str(save_small_bert(folder.parent / f"{folder.name}_start"))
    else:
        fields["model"] = {"model_type": "lecture_recurrent", "bidirectional": True, "hidden_size": 8}
    data = {"name": "Ten Sentences", "licence": "CC0"}
    recipe = TokenClassificationRecipe(output_dir=str(folder), data=data, name="a small one", **fields)
    train_and_test(TokenClassification(), recipe)
    return folder


@pytest.fixture(scope="module", params=KINDS)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return request.param, make(request.param, tmp_path_factory.mktemp("trained") / "run")


def test_the_card_of_a_trained_folder(trained: tuple[str, Path]) -> None:
    kind, folder = trained
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    keys = ["accuracy"] if kind == "plain" else ["f1", "precision", "recall", "accuracy"]
    record = json.loads((folder / "training.json").read_text())
    assert facts["results"][keys[0]] == record["best_metric"]
    assert list(facts["results"]) == [*keys, "words", "unread_words", "sentences"]
    assert facts["training"]["tags"] == record["items"] == WORDS
    card = render_card(facts)
    assert card.data.pipeline_tag == "token-classification"
    assert [result.metric_type for result in card.data.eval_results] == keys
    label = "accuracy of tags" if kind == "plain" else "F1 of entities"
    assert f"| {label} | {record['best_metric']:#.4g} |" in card.text
    assert f"Measured on {WORDS} words of {len(ROWS)} sentences.\n" in card.text
    assert ("An entity is right if" in card.text) == (kind != "plain")
    assert f"Tags: {', '.join(TAGS)}." in card.text
    assert "accelerate launch training/finetune_tagging.py recipe.yaml" in card.text
    assert f"tags read: {WORDS}" in card.text
    assert "erplexity" not in card.text
    assert card.data.tags == [*(["hf_lecture_models"] if kind != "stock" else []), model.config.model_type]
    assert not re.search(r"\n{4,}|[{}]{2}|\{%|None| \n", card.text)
    cut = render_card(facts | {"results": facts["results"] | {"unread_words": 3}})
    assert "sentences; 3 of them, which were cut off, count as wrong." in cut.text


def test_the_example_runs_and_is_the_tasks(
    trained: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, folder = trained
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    code = examples(write_card(tmp_path, facts))[0]
    assert code.strip() == TASKS[facts["task"]["name"]].usage(facts)
    strategy = KINDS[kind][1]
    assert re.findall(r'aggregation_strategy="(\w+)"', code) == ([strategy] if strategy else [])
    assert ("import hf_lecture_models" in code) == (kind != "stock")
    monkeypatch.chdir(folder)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("[")


def test_what_is_published_loads_and_needs_no_code_of_transformers(trained: tuple[str, Path], tmp_path: Path) -> None:
    kind, folder = trained
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    assert missing_facts(facts) == ["the licence of the weights: --licence NAME states it"]
    stage = prepare(model, tokenizer, "somebody/small", tmp_path / "stage", facts)
    assert any(stage.glob("*.py")) == (kind != "stock")
    assert ModelCard.load(stage / "README.md").text.count("```python") == (1 if kind == "stock" else 2)
    loaded = AutoModelForTokenClassification.from_pretrained(stage)
    assert all(torch.equal(tensor, loaded.state_dict()[name]) for name, tensor in model.state_dict().items())
    text = "Ada lives in New York"
    assert pipeline("token-classification", model=str(stage))(text) == pipeline(
        "token-classification", model=str(folder)
    )(text)


def test_a_card_without_facts_knows_the_kind_of_model(trained: tuple[str, Path], tmp_path: Path) -> None:
    model, tokenizer = load_model(str(trained[1]))
    assert task_of(model).name == "token_classification"
    card = ModelCard.load(prepare(model, tokenizer, "somebody/small", tmp_path / "stage") / "README.md")
    assert card.data.pipeline_tag == "token-classification"
    assert "Nothing was measured." in card.text
    assert 'pipeline("token-classification", model="somebody/small")' in card.text


def test_a_file_is_measured_as_the_model_was_trained(trained: tuple[str, Path], tmp_path: Path) -> None:
    folder = trained[1]
    path = write_conll(tmp_path / "more.conll", ROWS[:5])
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    measured = measure_file(path, model, tokenizer, facts)
    assert measured["task"] == facts["task"]
    assert measured["data"] == {"name": "Ten Sentences", "licence": "CC0", "split": "more.conll"}
    assert measured["results"]["sentences"] == 5
    tag = pipeline("token-classification", model=str(folder), ignore_labels=[])
    right = words = 0
    for row in ROWS[:5]:
        starts = [len(" ".join(row["tokens"][:number])) + bool(number) for number in range(len(row["tokens"]))]
        found = {entry["start"]: entry["entity"] for entry in tag(" ".join(row["tokens"]))}
        right += sum(found[start] == tag for start, tag in zip(starts, row["tags"], strict=True))
        words += len(starts)
    assert measured["results"]["accuracy"] == pytest.approx(right / words)


def test_the_command_measures_a_tagger(trained: tuple[str, Path], tmp_path: Path) -> None:
    path = write_conll(tmp_path / "more.conll")
    options = ["--evaluate", str(path), "--licence", "apache-2.0", "--dry-run"]
    done = CliRunner().invoke(app, ["publish", str(trained[1]), "somebody/small", *options])
    assert done.exit_code == 0, done.output
    assert "On Ten Sentences, more.conll." in done.stdout
    assert f"Measured on {WORDS} words of {len(ROWS)} sentences." in done.stdout


@pytest.mark.slow
def test_the_example_runs_where_the_package_is_absent(tmp_path: Path) -> None:
    folder = make("ours", tmp_path / "run")
    model, tokenizer = AutoModelForTokenClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    export(model, tokenizer, tmp_path / "exported", facts_of(folder, model, tokenizer))
    code = examples(tmp_path / "exported" / "README.md")[1]
    assert output_without_package(code, tmp_path / "exported", tmp_path / "modules").startswith("[")
