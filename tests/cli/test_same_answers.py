# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What predicts is what was measured: files of predictions, `hf-lecture predict`, `predict` and pipelines agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import pipeline

from hf_lecture_models import ElmoConfig, ElmoForTokenClassification, ElmoTokenizer
from hf_lecture_models.hub import export
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.question_answering.answers import AnswerSettings
from hf_lecture_models.tasks.question_answering.measures import best_scores
from hf_lecture_models.tasks.question_answering.task import QuestionAnswering, QuestionAnsweringRecipe
from tests.tasks import small_answerer, small_tagger

TASK: Any = "extractive-question-answering"
QUESTIONS = small_answerer.ROWS


@pytest.fixture(scope="module")
def answerer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with settings of its own, whose predictions are some answers, some none."""
    folder = tmp_path_factory.mktemp("answerer")
    recipe = QuestionAnsweringRecipe(
        from_pretrained=str(small_answerer.save_small_bert(folder / "start")),
        train_rows=QUESTIONS,
        validation_rows=QUESTIONS,
        predict_files=[str(small_answerer.write_squad(folder / "test.json", with_answers=False))],
        max_length=24,
        doc_stride=3,
        max_answer_length=3,
        n_best_size=4,
        null_score_diff_threshold=0.3,
        learning_rate=0.0,
        output_dir=str(folder / "run"),
    )
    train_and_test(QuestionAnswering(), recipe)
    return folder


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def best(out: str) -> list[dict[str, Any]]:
    return [json.loads(line)["predictions"][0] for line in out.splitlines()]


def test_questions_without_an_answer_stay_so(run: Any, answerer: Path, tmp_path: Path) -> None:
    """By the verb on lines and on SQuAD's file, and by the pipeline, of the run and of what is published."""
    expected = read(answerer / "run/predictions/predictions.json")
    assert 0 < list(expected.values()).count("") < len(expected), "else there were nothing to compare"
    settings = read(answerer / "run/task.json")["settings"]
    assert (settings["no_answer"], settings["max_answer_length"], settings["doc_stride"]) == (True, 3, 3)
    lines = "".join(json.dumps({name: row[name] for name in ("question", "context")}) + "\n" for row in QUESTIONS)
    status, out, err = run("predict", answerer / "run", "--json", stdin=lines)
    assert (status, err) == (0, "")
    answers = {row["id"]: found["label"] for row, found in zip(QUESTIONS, best(out), strict=True)}
    assert answers == expected
    status, table, err = run("predict", answerer / "run", answerer / "test.json", "--json")
    assert (status, err) == (0, "")
    ids = [json.loads(line)["id"] for line in table.splitlines()]
    assert {own: found["label"] for own, found in zip(ids, best(table), strict=True)} == expected
    listed = read(answerer / "run/predictions/nbest_predictions.json")
    for row, found in zip(QUESTIONS, best(out), strict=True):
        scores = [one["probability"] for one in listed[row["id"]] if one["text"] == found["label"]]
        assert any(found["score"] == pytest.approx(score, abs=1e-4) for score in scores)
    export(*load_model(str(answerer / "run")), tmp_path / "published")
    for folder in (answerer / "run", tmp_path / "published"):
        answer = pipeline(TASK, model=str(folder))
        found = [answer(question=row["question"], context=row["context"]) for row in QUESTIONS]
        assert {row["id"]: one["answer"] for row, one in zip(QUESTIONS, found, strict=True)} == expected
        assert [one["score"] for one in found] == pytest.approx([one["score"] for one in best(out)], abs=1e-5)


def test_evaluate_stores_the_best_threshold_of_a_model_that_has_none(run: Any, tmp_path: Path) -> None:
    folder = small_answerer.save_small_bert(tmp_path / "stock")
    data = small_answerer.write_squad(tmp_path / "dev.json")
    _, plain, err = run("evaluate", folder, "squad_v2", data, "--json")
    assert (err, (folder / "task.json").exists()) == ("", False), "a measure alone changes nothing"
    status, out, err = run("evaluate", folder, "squad_v2", data, "--json", "--store")
    assert (status, out) == (0, plain)
    measured = json.loads(out)
    stored = read(folder / "task.json")["settings"]
    assert stored["no_answer_threshold"] == pytest.approx(measured["best_f1_thresh"], abs=1e-4)
    assert "no_answer_threshold" in err
    assert len(err.splitlines()) == 1
    status, out, err = run("evaluate", folder, "squad_v2", data, "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["f1"] == pytest.approx(measured["best_f1"])
    _, out, _ = run("predict", folder, data, "--json")
    scores = [
        best_scores(found["label"], row["answers"]["text"])[0] for found, row in zip(best(out), QUESTIONS, strict=True)
    ]
    assert sum(scores) / len(scores) == pytest.approx(measured["best_f1"]), "what is printed is what was measured"


@pytest.mark.parametrize("content", [{"no_answer": True}, {"settings": {"no_answer": False, "max_answer_length": 4}}])
def test_a_threshold_that_is_stored_later_is_used(run: Any, tmp_path: Path, content: dict[str, Any]) -> None:
    """In a file of an older version, and in that of a model whose own data left no question without an answer."""
    folder = small_answerer.save_small_bert(tmp_path / "stock")
    data = small_answerer.write_squad(tmp_path / "dev.json")
    content = {"name": "question_answering", "pipeline_tag": None, **content}
    (folder / "task.json").write_text(json.dumps(content), encoding="utf-8")
    _, out, _ = run("evaluate", folder, "squad_v2", data, "--json", "--store")
    stored = read(folder / "task.json")["settings"]
    assert (stored["no_answer"], stored["doc_stride"]) == (True, 128)
    assert stored["max_answer_length"] == content.get("settings", {}).get("max_answer_length", 30)
    _, printed, _ = run("predict", folder, data, "--json")
    scores = [
        best_scores(found["label"], row["answers"]["text"])[0]
        for found, row in zip(best(printed), QUESTIONS, strict=True)
    ]
    assert sum(scores) / len(scores) == pytest.approx(json.loads(out)["best_f1"])


def test_settings_that_cannot_be_are_named(run: Any, tmp_path: Path) -> None:
    folder = small_answerer.save_small_bert(tmp_path / "stock")
    names = '"name": "question_answering", "pipeline_tag": null'
    for content, message in (
        (f'{{{names}, "settings": {{"max_answer_length": "9"}}}}', "max_answer_length"),
        (f'{{{names}, "settings": 9}}', "task.json: settings is 9; it must be an object"),
        ("[", "task.json is not whole JSON"),
        ("[]", "task.json holds [], not an object of fields"),
    ):
        (folder / "task.json").write_text(content, encoding="utf-8")
        status, _, err = run("predict", folder, stdin=json.dumps({"question": "a", "context": "b"}))
        assert (status, len(err.splitlines())) == (1, 1)
        assert message in err
    with pytest.raises(ValueError, match="no_answer cannot be 1"):
        AnswerSettings.of({"no_answer": 1})


# Tags


def elmo(folder: Path) -> Path:
    """A small tagger whose tokens are rows of characters."""
    torch.manual_seed(0)
    names: dict[str, Any] = {"id2label": dict(enumerate(small_tagger.TAGS))}
    names["label2id"] = {tag: index for index, tag in names["id2label"].items()}
    config = ElmoConfig(hidden_size=4, projection_size=2, num_hidden_layers=1, char_filters=[[1, 4]], **names)
    model = ElmoForTokenClassification(config)
    torch.nn.init.normal_(model.classifier.weight, std=9.0)
    model.save_pretrained(folder)
    ElmoTokenizer().save_pretrained(folder)
    return folder


@pytest.mark.parametrize("strategy", ["none", "simple", "first", "average", "max"])
def test_transformers_pipeline_refuses_rows_of_characters_in_one_line(strategy: str, tmp_path: Path) -> None:
    """For the last three transformers advises "simple", which fails with such a tokenizer, too."""
    with pytest.raises(ValueError, match="tag by the Predictor of hf_lecture_models.tasks.prediction"):
        pipeline("token-classification", model=str(elmo(tmp_path / "m")), aggregation_strategy=strategy)("Ada lives")


# Classes, numbers, choices, masked words, images: the verb on lines, the function, transformers' pipeline
