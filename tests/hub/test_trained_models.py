# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Card, publication and measurement of trained models for texts, tags and answers, ours or transformers' own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from transformers import (
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    pipeline,
)
from typer.testing import CliRunner

from hf_lecture_cli import app
from hf_lecture_models.hub import export
from hf_lecture_models.hub.card import render_card, write_card
from hf_lecture_models.hub.facts import facts_of, missing_facts
from hf_lecture_models.hub.publish import prepare
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.question_answering.task import QuestionAnswering, QuestionAnsweringRecipe
from hf_lecture_models.tasks.registry import measure_file, task_of
from hf_lecture_models.tasks.tagging.task import TokenClassification, TokenClassificationRecipe
from tests.hub.card_examples import examples, output_without_package
from tests.tasks import small_answerer, small_classifier, small_tagger
from tests.tasks.small_answerer import ANSWERABLE
from tests.tasks.small_tagger import TAGS


def right_texts(kind: Kind, folder: Path) -> float:
    classify = pipeline("text-classification", model=str(folder))
    right = []
    for row in kind.rows:
        answer = classify({name: row[name] for name in ("text", "text_pair") if name in row})
        label = (answer if isinstance(answer, dict) else answer[0])["label"]
        right.append(label == ("bad", "good")[row["label"]])
    return sum(right) / len(right)


def right_tags(kind: Kind, folder: Path) -> float:
    tag = pipeline("token-classification", model=str(folder), ignore_labels=[])
    right = []
    for row in kind.rows:
        starts = [len(" ".join(row["tokens"][:number])) + bool(number) for number in range(len(row["tokens"]))]
        found = {entry["start"]: entry["entity"] for entry in tag(" ".join(row["tokens"]))}
        right += [found[start] == tag for start, tag in zip(starts, row["tags"], strict=True)]
    return sum(right) / len(right)


@dataclass(frozen=True)
class Kind:
    """A model to train, and what its card says.

    Attributes:
        rows: the training and validation data; start: saves the stock model to start from, None for a model of ours.
        metrics: the measures that a card may have; the first, called `label` there, chooses the best weights.
        items, measured, shown, hidden: what a mean is over, and texts on the card and on no part of it.
        output: a part of what the example prints; code, no_code: parts of it and of no example.
        inputs, options: of the pipeline; file, write: a file of rows.
    """

    task: Any
    recipe: Any
    auto_class: Any
    pipeline: Any
    rows: list[dict[str, Any]]
    start: Callable[[Path], Path] | None
    fields: dict[str, Any]
    metrics: tuple[str, ...]
    label: str
    items: str
    measured: str
    inputs: Any
    output: str
    script: str
    file: str
    write: Callable[[Path, list[dict[str, Any]]], Path]
    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    no_code: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


def write_json_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def classifier(rows: list[dict[str, Any]] = small_classifier.ROWS, **changes: Any) -> Kind:
    numbers = changes.pop("numbers", False)
    names = {"label_names": {0: "bad", 1: "good"}} if not numbers else {"problem_type": "regression"}
    fields: dict[str, Any] = {
        "task": TextClassification(),
        "recipe": TextClassificationRecipe,
        "auto_class": AutoModelForSequenceClassification,
        "pipeline": "text-classification",
        "rows": rows,
        "start": small_classifier.save_small_bert,
        "fields": names,
        "metrics": ("pearson",) if numbers else ("accuracy", "macro_f1"),
        "label": "Pearson correlation" if numbers else "accuracy",
        "items": "examples",
        "measured": f"Measured on {len(rows)} examples.",
        "inputs": "a fine film",
        "output": "'label': ",
        "script": "finetune_glue.py",
        "file": "more.jsonl",
        "write": write_json_lines,
        "no_code": ("text_pair",),
        **({"hidden": ("Classes: ",)} if numbers else {"shown": ("Classes: bad, good.",)}),
    }
    return Kind(**fields | changes)


def tagger(scheme: str, strategy: str | None, start: Any = None) -> Kind:
    shape = {} if start else {"model": {"model_type": "lecture_recurrent", "bidirectional": True, "hidden_size": 8}}
    words, entity = sum(len(row["tokens"]) for row in small_tagger.ROWS), "An entity is right if"
    part = f'aggregation_strategy="{strategy}"' if strategy else "aggregation_strategy"
    return Kind(
        task=TokenClassification(),
        recipe=TokenClassificationRecipe,
        auto_class=AutoModelForTokenClassification,
        pipeline="token-classification",
        rows=small_tagger.ROWS,
        start=start,
        fields={"scheme": scheme, **shape},
        metrics=("f1", "precision", "recall", "accuracy") if scheme == "entities" else ("accuracy",),
        label="F1 of entities" if scheme == "entities" else "accuracy of tags",
        items="tags",
        measured=f"Measured on {words} words of {len(small_tagger.ROWS)} sentences.",
        inputs="Ada lives in New York",
        output="[{'entity",
        script="finetune_tagging.py",
        file="more.conll",
        write=small_tagger.write_conll,
        shown=(f"Tags: {', '.join(TAGS)}.", *([entity] if scheme == "entities" else [])),
        hidden=() if scheme == "entities" else (entity,),
        code=(part,) if strategy else (),
        no_code=() if strategy else (part,),
    )


def answerer(rows: list[dict[str, Any]], start: Any = None) -> Kind:
    shape = {"model_type": "lecture_bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    shape |= {"intermediate_size": 8, "max_position_embeddings": 48}
    refuses, best, impossible = start is None, "The best thresholds for no answer are", "handle_impossible_answer=True"
    parts = ("HasAns_f1", "HasAns_exact", "NoAns_f1", "best_f1", "best_exact")
    return Kind(
        task=QuestionAnswering(),
        recipe=QuestionAnsweringRecipe,
        auto_class=AutoModelForQuestionAnswering,
        pipeline="extractive-question-answering",
        rows=rows,
        start=start,
        fields={"max_length": 24, "doc_stride": 4, **({} if start else {"model": shape})},
        metrics=("f1", "exact_match", *(parts if refuses else ())),
        label="F1",
        items="windows",
        measured=f"Measured on {len(rows)} questions; their texts were read in ",
        inputs=[{"question": row["question"], "context": row["context"]} for row in rows],
        output="{'score': ",
        script="finetune_squad.py",
        file="more.json",
        write=small_answerer.write_squad,
        shown=(best,) if refuses else (),
        hidden=() if refuses else (best,),
        # transformers has no such pipeline
        code=("import hf_lecture_models  # registers the", *([impossible] if refuses else [])),
        no_code=() if refuses else (impossible,),
        options={"max_seq_len": 24, "doc_stride": 4, "handle_impossible_answer": True, "top_k": 2},
    )


PAIRS = [{**row, "text_pair": "a film"} for row in small_classifier.ROWS]
KINDS = {
    "classes": classifier(start=None),
    "stock classes": classifier(no_code=("text_pair", "import hf_lecture_models")),
    "classes of pairs": classifier(PAIRS, code=("text_pair",), no_code=()),
    "numbers": classifier(numbers=True),
    # Ours reads words, the other one pieces of them.
    "entities": tagger("entities", "simple"),
    "tags": tagger("plain", None),
    "stock entities": tagger("entities", "first", small_tagger.save_small_bert),
    "answers": answerer(small_answerer.ROWS),
    "stock answers": answerer(ANSWERABLE, small_answerer.save_small_bert),
}
OURS = [name for name, kind in KINDS.items() if kind.start is None]


def make(kind: Kind, folder: Path) -> Path:
    """The folder that training leaves."""
    fields = {"train_rows": kind.rows, "validation_rows": kind.rows, "epochs": 1, **kind.fields}
    if kind.start is not None:
        fields["from_pretrained"] = str(kind.start(folder.parent / f"{folder.name}_start"))
    data = {"name": "Small Data", "licence": "CC0"}
    train_and_test(kind.task, kind.recipe(output_dir=str(folder), data=data, name="a small one", **fields))
    return folder


@pytest.fixture(scope="module", params=KINDS)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Kind, Path]:
    kind = KINDS[request.param]
    return kind, make(kind, tmp_path_factory.mktemp("trained") / "run")


def loaded(folder: Path) -> tuple[Any, Any, dict[str, Any]]:
    model, tokenizer = load_model(str(folder))
    return model, tokenizer, facts_of(folder, model, tokenizer)


def test_the_card_of_a_trained_folder(trained: tuple[Kind, Path]) -> None:
    kind, folder = trained
    model, _, facts = loaded(folder)
    record = json.loads((folder / "training.json").read_text())
    assert facts["results"][kind.metrics[0]] == record["best_metric"]
    assert set(kind.metrics) <= facts["results"].keys()
    assert facts["training"][kind.items] == record["items"]
    assert not render_card(facts).data.eval_results, "the data have no name on the Hub"
    card = render_card(facts | {"data": facts["data"] | {"hub_id": "somebody/rows"}})
    tag = kind.pipeline.removeprefix("extractive-")
    assert card.data.pipeline_tag == tag
    result, *others = card.data.eval_results
    assert {other.metric_type for other in others} <= set(kind.metrics[1:])
    assert (result.task_type, result.metric_type, result.metric_name) == (tag, kind.metrics[0], kind.label)
    assert result.metric_value == pytest.approx(record["best_metric"], rel=1e-5)
    assert f"| {kind.label} | {record['best_metric']:#.4g} |" in card.text
    for text in (kind.measured, f"{kind.items} read: {record['items']}", *kind.shown):
        assert text in card.text
    assert f"hf-lecture train {facts['task']['name']} recipe.yaml" in card.text
    for text in ("erplexity", str(folder.parent), *kind.hidden):
        assert text not in card.text
    assert card.data.tags == [*(["hf_lecture_models"] if kind.start is None else []), model.config.model_type]
    assert not re.search(r"\n{4,}|[{}]{2}|\{%|None| \n", card.text)


def test_the_example_runs_and_is_the_tasks(
    trained: tuple[Kind, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, folder = trained
    facts = loaded(folder)[2]
    code = examples(write_card(tmp_path, facts))[0]
    assert all(part in code for part in kind.code)
    assert not any(part in code for part in kind.no_code)
    monkeypatch.chdir(folder)
    exec(compile(code, "README.md", "exec"), {})
    assert kind.output in capsys.readouterr().out


def test_what_is_published_loads_and_needs_no_code_of_transformers(trained: tuple[Kind, Path], tmp_path: Path) -> None:
    kind, folder = trained
    model, tokenizer, facts = loaded(folder)
    assert missing_facts(facts) == ["the licence of the weights: --licence NAME states it"]
    stage = prepare(model, tokenizer, "somebody/small", tmp_path / "stage", facts)
    is_ours = kind.start is None
    assert any(stage.glob("*.py")) == ("auto_map" in json.loads((stage / "config.json").read_text())) == is_ours
    assert ModelCard.load(stage / "README.md").text.count("```python") == (2 if is_ours else 1)
    weights = kind.auto_class.from_pretrained(stage).state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    answers = [pipeline(kind.pipeline, model=str(place))(kind.inputs, **kind.options) for place in (stage, folder)]
    assert answers[0] == answers[1]


def test_a_card_without_facts_knows_the_kind_of_model(trained: tuple[Kind, Path], tmp_path: Path) -> None:
    kind, folder = trained
    model, tokenizer, _ = loaded(folder)
    assert task_of(model).name == kind.task.name
    card = ModelCard.load(prepare(model, tokenizer, "somebody/small", tmp_path / "stage") / "README.md")
    assert card.data.pipeline_tag == kind.pipeline.removeprefix("extractive-")
    assert "Nothing was measured." in card.text
    assert f'pipeline("{kind.pipeline}", model="somebody/small"' in card.text


@pytest.mark.cases(1, 8)
def test_a_file_is_measured_as_the_model_was_trained(trained: tuple[Kind, Path], tmp_path: Path) -> None:
    """By the task and by the command; what is right is what the pipeline answers."""
    kind, folder = trained
    path = kind.write(tmp_path / kind.file, kind.rows)
    model, tokenizer, facts = loaded(folder)
    measured = measure_file(path, model, tokenizer, facts)
    assert measured["task"] == facts["task"]
    assert measured["data"] == {"name": "Small Data", "licence": "CC0", "split": kind.file}
    # The training measured with the recipe's threshold for no answer, and a file is measured with the one then found.
    thresholded = facts["task"]["settings"].get("no_answer_threshold") is not None
    same = [name for name in facts["results"] if not thresholded or name.startswith("best_")]
    assert {name: measured["results"][name] for name in same} == pytest.approx({n: facts["results"][n] for n in same})
    if "accuracy" in kind.metrics:
        count = right_texts if kind.items == "examples" else right_tags
        assert measured["results"]["accuracy"] == pytest.approx(count(kind, folder))
    (folder / "learning_curve.png").write_bytes(b"of the run before it went on")
    options = ["--evaluate", str(path), "--licence", "apache-2.0", "--dry-run"]
    done = CliRunner().invoke(app, ["publish", str(folder), "somebody/small", *options])
    assert done.exit_code == 0, done.output
    assert f"On Small Data, {kind.file}." in done.stdout
    assert kind.measured in done.stdout
    assert ("modeling_" in done.stdout) == (kind.start is None)
    assert "![learning curve](learning_curve.png)" in done.stdout
    assert (folder / "learning_curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.cases(0, 1)
@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_the_example_runs_where_the_package_is_absent(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    model, tokenizer, facts = loaded(make(kind, tmp_path / "run"))
    export(model, tokenizer, tmp_path / "exported", facts)
    code = examples(tmp_path / "exported" / "README.md")[1]
    assert kind.output in output_without_package(code, tmp_path / "exported", tmp_path / "modules")


def test_words_that_were_cut_off_count_as_wrong(tmp_path: Path) -> None:
    facts = loaded(make(KINDS["entities"], tmp_path / "run"))[2]
    cut = render_card(facts | {"results": facts["results"] | {"unread_words": 3}})
    assert "sentences; 3 of them, which were cut off, count as wrong." in cut.text


def test_columns_of_the_recipe_hold_for_other_files_too(tmp_path: Path) -> None:
    files = {"train_files": [str(small_classifier.write_tsv(tmp_path / "T.tsv"))]}
    recipe = TextClassificationRecipe(task="sst2", output_dir=str(tmp_path / "run"), **files)
    train_and_test(TextClassification(), recipe)
    model, tokenizer, facts = loaded(tmp_path / "run")
    assert facts["results"] == {}
    few = small_classifier.write_tsv(tmp_path / "V.tsv", small_classifier.ROWS[:4])
    assert measure_file(few, model, tokenizer, facts)["results"]["examples"] == 4
    with pytest.raises(ValueError, match=r"other.tsv has no column 'sentence', only text, label"):
        measure_file(small_classifier.write_tsv(tmp_path / "other.tsv", text="text"), model, tokenizer, facts)
    with pytest.raises(
        ValueError, match="BagOfWordsModel is a model of none of the tasks synthetic_recall, causal_lm, "
    ):
        task_of(model.model)
