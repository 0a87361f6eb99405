# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Classification as text to text: from a model that was pre-trained on spans to one that writes classes."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, pipeline

from hf_lecture_models.data.benchmarks import BENCHMARKS as NAMED_TASKS
from hf_lecture_models.data.benchmarks import benchmarks_of
from hf_lecture_models.hub.card import render_card
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.classification.text_to_text import TextToText, TextToTextRecipe, written_classes
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.language_models.spans import SpanCorruption
from hf_lecture_models.tasks.registry import TASK_OF_BENCHMARK, measure_file
from hf_lecture_models.tasks.translation.translate import Translation
from tests.tasks.language_models.test_spans import TEXTS
from tests.tasks.language_models.test_spans import recipe as span_recipe

TASK = TextToText()
GOOD, BAD = ["fine", "great", "lovely", "moving"], ["dull", "poor", "boring", "empty"]
ROWS = [{"text": f"a {word} film", "label": label} for label, words in ((1, GOOD), (0, BAD)) for word in words]
PHRASES = [row["text"] for row in ROWS] + ["sst2 sentence : positive negative entailment not_entailment"]


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of spans whose words are those of the task, too."""
    folder = tmp_path_factory.mktemp("spans") / "run"
    fields: dict[str, Any] = {"train_texts": [*TEXTS, *PHRASES], "tokenizer": {"type": "wordpiece"}, "epochs": 1}
    train_and_test(SpanCorruption(), span_recipe(output_dir=str(folder), validation_texts=[], **fields))
    return folder


def recipe(start: Path, **fields: Any) -> TextToTextRecipe:
    small: dict[str, Any] = {"from_pretrained": str(start), "train_rows": ROWS, "validation_rows": ROWS, "epochs": 30}
    small |= {"learning_rate": 0.01, "batch_size": 8, "evaluate_every": 10, "data": {"name": "Eight Films"}}
    return TextToTextRecipe(**{**small, **fields})


@pytest.fixture(scope="module")
def trained(pretrained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("films") / "run"
    unlabelled = folder.parent / "test.tsv"
    unlabelled.write_text("index\tsentence\n7\ta fine film\n9\ta dull film\n")
    train_and_test(TASK, recipe(pretrained, output_dir=str(folder), predict_files=[str(unlabelled)]))
    return folder


# What is read and written


@pytest.mark.parametrize(
    ("task", "row", "source", "target"),
    [
        ("sst2", {"text": " a fine film ", "label": 1}, "sst2 sentence: a fine film", "positive"),
        ("sst2", {"text": "dull", "label": "negative"}, "sst2 sentence: dull", "negative"),
        ("cola", {"text": "Go.", "label": 0}, "cola sentence: Go.", "unacceptable"),
        ("rte", {"text": "A.", "text_pair": "B.", "label": 1}, "rte sentence1: A. sentence2: B.", "not_entailment"),
        ("mnli", {"text": "A.", "text_pair": "B.", "label": 1}, "mnli hypothesis: B. premise: A.", "neutral"),
        ("sst3", {"text": "A {text}", "label": -1}, "sst3 sentence: A {text}", "negative"),
    ],
)
def test_rows_as_text(task: str, row: dict[str, Any], source: str, target: str) -> None:
    rows = TASK.read(TextToTextRecipe(task=task, train_rows=[row]), "train")
    assert rows is not None
    assert rows[0] == {"source": source, "target": target}


def test_files_are_those_of_finetune_glue(tmp_path: Path) -> None:
    """Their columns, their classes, their errors; rows to predict keep their index."""
    (tmp_path / "dev.tsv").write_text("index\tsentence1\tsentence2\tlabel\n0\tA.\tB.\tentailment\n")
    (tmp_path / "bad.tsv").write_text("index\tsentence1\tsentence2\tlabel\n0\tA.\tB.\tmaybe\n")
    files = {"train_files": [str(tmp_path / "dev.tsv")], "predict_files": [str(tmp_path / "dev.tsv")]}
    chosen = TextToTextRecipe(task="rte", test_files=[str(tmp_path / "bad.tsv")], **files)
    pair = {"source": "rte sentence1: A. sentence2: B."}
    assert list(TASK.read(chosen, "train") or ()) == [pair | {"target": "entailment"}]
    assert list(TASK.read(chosen, "predict") or ()) == [pair | {"index": "0"}]
    with pytest.raises(ValueError, match=r"bad.tsv, row 1: label 'maybe' is none of rte's"):
        TASK.read(chosen, "test")


def test_every_task_with_classes_is_there() -> None:
    """But WNLI, which T5 reads as another task, and STS-B, whose labels are numbers."""
    sources = {name: NAMED_TASKS[name].source for name in benchmarks_of("text_classification")}
    assert {name for name, source in sources.items() if not source} == {"wnli", "stsb"}
    for name, source in sources.items():
        assert not source or ("{text_pair}" in source) == ("text_pair" in NAMED_TASKS[name].columns)
        assert TASK_OF_BENCHMARK[name].name == "text_classification", "the classifier's name stays the classifier's"
    with pytest.raises(ValueError, match="task must be one of cola, sst2"):
        TextToTextRecipe(task="stsb")
    with pytest.raises(ValueError, match="task names what is learned"):
        TextToTextRecipe(task=None, train_rows=ROWS)


def test_classes_are_known_as_the_tokenizer_writes_them(pretrained: Path) -> None:
    model, tokenizer = load_model(str(pretrained))
    assert written_classes(model, tokenizer, TextToTextRecipe(task="rte")) == {
        "entailment": "entailment",
        tokenizer.decode(tokenizer("not_entailment").input_ids, skip_special_tokens=True): "not_entailment",
    }
    blind = SimpleNamespace(batch_decode=lambda ids, **_: ["<unk>"] * 2, __call__=None)

    class Blind:
        def __call__(self, **given: Any) -> Any:
            return {"input_ids": [[0], [0]]}

        batch_decode = staticmethod(blind.batch_decode)

    with pytest.raises(ValueError, match="cannot tell the classes apart: it writes negative, positive as '<unk>'"):
        written_classes(model, Blind(), TextToTextRecipe(task="sst2"))


def test_it_begins_with_the_pretrained_weights_and_learns(pretrained: Path, trained: Path) -> None:
    first = TASK.model(recipe(pretrained), load_model(str(pretrained))[1], None)  # type: ignore[arg-type]
    start = AutoModelForSeq2SeqLM.from_pretrained(pretrained)
    assert all(torch.equal(a, b) for a, b in zip(first.state_dict().values(), start.state_dict().values(), strict=True))
    record = json.loads((trained / "training.json").read_text())
    assert record["best_metric"] == 1.0
    assert record["metric"] == "accuracy"


def test_the_folder_works_everywhere(trained: Path, tmp_path: Path) -> None:
    """The pipeline, a file of labelled rows, the predictions, and the card with the code on it."""
    writer = pipeline("machine-translation", model=str(trained))
    assert writer("sst2 sentence: a great film")["translation_text"] == "positive"
    assert (trained / "predictions" / "predictions.tsv").read_text() == "index\tprediction\n7\tpositive\n9\tnegative\n"
    model, tokenizer = load_model(str(trained))
    facts = facts_of(trained, model, tokenizer)
    path = tmp_path / "dev.tsv"
    path.write_text("sentence\tlabel\na fine film\t1\na dull film\t1\n")
    measured = measure_file(path, model, tokenizer, facts)
    assert measured["task"]["name"] == "text_to_text"
    assert measured["results"] == {"accuracy": 0.5, "no_class": 0.0, "examples": 2, "num_beams": 1}
    card = render_card(facts).text
    assert "It writes negative or positive; an output counts as a class only if it is exactly its name" in card
    assert "| share of outputs that are no class |" in card
    assert 'writer("sst2 sentence: ' in card


# Training and measuring


def test_outputs_that_are_no_class_are_wrong_and_counted(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = load_model(str(trained))
    chosen = TextToTextRecipe(task="sst2", train_rows=ROWS)
    data = TASK.read(chosen, "train")
    assert data is not None
    texts = ["positive", "Positive", "positive positive", "", "negative", "negative", "positive", "film"]
    found = [[Translation(text, [], [])] for text in texts]
    monkeypatch.setattr(TextToText, "predict", lambda self, *args: found)
    measured = TASK.evaluate(model, tokenizer, data, chosen)
    assert (measured["accuracy"], measured["no_class"], measured["examples"]) == (3 / 8, 4 / 8, 8)
