# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Card, publication and measurement of a question-answering model, ours or transformers' own, as training left it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from transformers import AutoModelForQuestionAnswering, AutoTokenizer, pipeline
from typer.testing import CliRunner

from hf_lecture_cli import app
from hf_lecture_models.hub import export
from hf_lecture_models.hub.card import render_card, write_card
from hf_lecture_models.hub.facts import facts_of, missing_facts
from hf_lecture_models.hub.publish import prepare
from hf_lecture_models.loading import load_model
from hf_lecture_models.pipelines.extractive_question_answering import ExtractiveQuestionAnsweringPipeline
from hf_lecture_models.tasks.main import train_and_test
from hf_lecture_models.tasks.question_answering import QuestionAnswering, QuestionAnsweringRecipe
from hf_lecture_models.tasks.registry import TASKS, measure_file, task_of
from tests.forked_python import PATIENCE
from tests.hub.card_examples import examples, output_without_package
from tests.model_tests import equal_json
from tests.tasks.small_answerer import ANSWERABLE, ROWS, save_small_bert, write_squad

NAME: Any = "extractive-question-answering"
INPUTS = [{"question": row["question"], "context": row["context"]} for row in ROWS]
OPTIONS: dict[str, Any] = {"max_seq_len": 24, "doc_stride": 4, "handle_impossible_answer": True, "top_k": 2}


def make(kind: str, folder: Path) -> Path:
    """The folder that training leaves; the stock model knows no question without an answer."""
    rows = ANSWERABLE if kind == "stock" else ROWS
    fields: dict[str, Any] = {"train_rows": rows, "validation_rows": rows, "max_length": 24, "doc_stride": 4}
    if kind == "stock":
        fields["from_pretrained"] = str(save_small_bert(folder.parent / f"{folder.name}_start"))
    else:
        fields["model"] = {"model_type": "lecture_bert", "hidden_size": 8, "num_hidden_layers": 1}
        fields["model"] |= {"num_attention_heads": 2, "intermediate_size": 8, "max_position_embeddings": 48}
    data = {"name": "Ten Questions", "licence": "CC0"}
    recipe = QuestionAnsweringRecipe(output_dir=str(folder), data=data, name="a small one", **fields)
    train_and_test(QuestionAnswering(), recipe)
    return folder


@pytest.fixture(scope="module", params=["ours", "stock"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return request.param, make(request.param, tmp_path_factory.mktemp("trained") / "run")


def test_the_card_of_a_trained_folder(trained: tuple[str, Path]) -> None:
    kind, folder = trained
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    record = json.loads((folder / "training.json").read_text())
    assert facts["results"]["f1"] == record["best_metric"]
    assert facts["training"]["windows"] == record["items"] == facts["results"]["windows"]
    card = render_card(facts)
    assert card.data.pipeline_tag == "question-answering"
    keys = ["f1", "exact_match"]
    keys += ["HasAns_f1", "HasAns_exact", "NoAns_f1", "best_f1", "best_exact"] if kind == "ours" else []
    assert [result.metric_type for result in card.data.eval_results] == keys
    assert f"| F1 | {record['best_metric']:#.4g} |" in card.text
    questions = len(ROWS if kind == "ours" else ANSWERABLE)
    assert f"Measured on {questions} questions; their texts were read in {record['items']} windows.\n" in card.text
    assert ("The best thresholds for no answer are" in card.text) == (kind == "ours")
    assert "accelerate launch training/finetune_squad.py recipe.yaml" in card.text
    assert "windows read: " in card.text
    assert "erplexity" not in card.text
    assert card.data.tags == [*(["hf_lecture_models"] if kind == "ours" else []), model.config.model_type]
    assert not re.search(r"\n{4,}|[{}]{2}|\{%|None| \n", card.text)


def test_the_example_runs_and_is_the_tasks(
    trained: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, folder = trained
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    code = examples(write_card(tmp_path, facts))[0]
    assert code.strip() == TASKS[facts["task"]["name"]].usage(facts)
    assert "import hf_lecture_models  # registers the" in code, "transformers has no such pipeline"
    assert ("handle_impossible_answer=True" in code) == (kind == "ours")
    monkeypatch.chdir(folder)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("{'score': ")


def test_what_is_published_loads(trained: tuple[str, Path], tmp_path: Path) -> None:
    kind, folder = trained
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    assert missing_facts(facts) == ["the licence of the weights: --licence NAME states it"]
    stage = prepare(model, tokenizer, "somebody/small", tmp_path / "stage", facts)
    assert any(stage.glob("*.py")) == (kind == "ours")
    assert ModelCard.load(stage / "README.md").text.count("```python") == (2 if kind == "ours" else 1)
    loaded = AutoModelForQuestionAnswering.from_pretrained(stage)
    assert all(torch.equal(tensor, loaded.state_dict()[name]) for name, tensor in model.state_dict().items())
    assert pipeline(NAME, model=str(stage))(INPUTS, **OPTIONS) == pipeline(NAME, model=str(folder))(INPUTS, **OPTIONS)


def test_a_card_without_facts_knows_the_kind_of_model(trained: tuple[str, Path], tmp_path: Path) -> None:
    model, tokenizer = load_model(str(trained[1]))
    assert task_of(model).name == "question_answering"
    card = ModelCard.load(prepare(model, tokenizer, "somebody/small", tmp_path / "stage") / "README.md")
    assert card.data.pipeline_tag == "question-answering"
    assert "Nothing was measured." in card.text
    assert 'pipeline("extractive-question-answering", model="somebody/small")' in card.text


def test_a_file_is_measured_as_the_model_was_trained(trained: tuple[str, Path], tmp_path: Path) -> None:
    folder = trained[1]
    path = write_squad(tmp_path / "more.json", ANSWERABLE[:5])
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    measured = measure_file(path, model, tokenizer, facts)
    assert measured["task"] == facts["task"], "what training noticed stands in the recipe"
    assert measured["data"] == {"name": "Ten Questions", "licence": "CC0", "split": "more.json"}
    assert measured["results"]["questions"] == 5
    options = ["--evaluate", str(path), "--licence", "apache-2.0", "--dry-run"]
    done = CliRunner().invoke(app, ["publish", str(folder), "somebody/small", *options])
    assert done.exit_code == 0, done.output
    assert "On Ten Questions, more.json." in done.stdout
    assert "Measured on 5 questions" in done.stdout


def test_the_pipeline_travels_with_what_it_runs(tmp_path: Path) -> None:
    folder = make("ours", tmp_path / "run")
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    export(model, tokenizer, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))
    assert config["custom_pipelines"] == {
        NAME: {
            "impl": "pipelines_extractive_question_answering.ExtractiveQuestionAnsweringPipeline",
            "pt": ["AutoModelForQuestionAnswering"],
            "type": "text",
        }
    }
    assert (tmp_path / "out" / "evaluation_answer_spans.py").is_file()
    assert not list((tmp_path / "out").glob("*sentence_ranking*"))
    served: Any = pipeline(NAME, model=str(tmp_path / "out"))
    assert type(served) is ExtractiveQuestionAnsweringPipeline, "the package's own serves, without the flag"


_ANSWER = """
import json, sys
sys.modules["hf_lecture_models"] = None
from transformers import AutoModelForQuestionAnswering, AutoTokenizer, pipeline
folder, stock, inputs, options = sys.argv[1], sys.argv[2], *map(json.loads, sys.argv[3:])
answer = pipeline("extractive-question-answering", model=folder, trust_remote_code=True)
model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(stock), AutoTokenizer.from_pretrained(stock)
other = type(answer)(model=model, tokenizer=tokenizer)
print(json.dumps([each(inputs, batch_size=3, **options) for each in (answer, other)]))
print(type(answer).__module__, file=sys.stderr)
"""


@pytest.mark.slow
def test_the_pipeline_runs_where_the_package_is_absent(tmp_path: Path) -> None:
    """Ours by its name; its class runs a model of transformers itself, too."""
    folder, stock = make("ours", tmp_path / "run"), save_small_bert(tmp_path / "stock")
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    export(model, tokenizer, tmp_path / "out", facts_of(folder, model, tokenizer))
    done = subprocess.run(
        [sys.executable, "-c", _ANSWER, str(tmp_path / "out"), str(stock), json.dumps(INPUTS), json.dumps(OPTIONS)],
        env={**os.environ, "HF_MODULES_CACHE": str(tmp_path / "modules")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "transformers_modules." in done.stderr
    expected = [pipeline(NAME, model=str(each))(INPUTS, **OPTIONS) for each in (tmp_path / "out", stock)]
    assert equal_json(json.loads(done.stdout), expected)
    code = examples(tmp_path / "out" / "README.md")[1]
    assert output_without_package(code, tmp_path / "out", tmp_path / "modules").startswith("{'score': ")


_WITH_PACKAGE = """
import json, sys
import hf_lecture_models
from transformers import pipeline
answer = pipeline("extractive-question-answering", model=sys.argv[1])
print(json.dumps(answer(json.loads(sys.argv[2]), **json.loads(sys.argv[3]))))
"""


@pytest.mark.slow
def test_a_stock_model_answers_in_a_fresh_process(tmp_path: Path) -> None:
    stock = save_small_bert(tmp_path / "stock")
    done = subprocess.run(
        [sys.executable, "-c", _WITH_PACKAGE, str(stock), json.dumps(INPUTS), json.dumps(OPTIONS)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert equal_json(json.loads(done.stdout), pipeline(NAME, model=str(stock))(INPUTS, **OPTIONS))
