# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Several classes of a text: losses as a loop of our own has them, F1 as scikit-learn's, thresholds, bad labels."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score, precision_recall_curve, precision_recall_fscore_support
from torch.nn import functional as F
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    pipeline,
)

from hf_lecture_models import predict
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.classification.several_labels import (
    join_columns,
    label_matrix,
    read_label_lists,
    several_class_names,
)
from hf_lecture_models.tasks.classification.several_measures import (
    ClassSets,
    best_thresholds,
    measures_of_sets,
    only_set,
    sums_of_sets,
)
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.core.task import recipe_of
from tests.tasks.small_classifier import ROWS as SENTENCES
from tests.tasks.small_classifier import save_small_bert, small_tokenizer
from tests.tasks.task_tests import HeadTaskTests, TaskTests

TASK = TextClassification()
NAMES = ["cold", "film", "funny"]
KIND = {"problem_type": "multi_label_classification"}
ROWS: list[dict[str, Any]] = [
    {"text": row["text"], "label": [name for name in NAMES if name in row["text"].split()]} for row in SENTENCES
]


def recipe(**fields: Any) -> TextClassificationRecipe:
    return TextClassificationRecipe(**({"train_rows": ROWS, "epochs": 2, "batch_size": 4} | fields))


def rows_of(labels: list[Any]) -> Rows:
    return Rows({"text": ["a"] * len(labels), "label": labels}, [("data.jsonl", len(labels))])


def save_bert_of_sets(folder: Path) -> Path:
    return save_small_bert(folder, id2label=dict(enumerate(NAMES)), label2id=dict(zip(NAMES, range(3), strict=True)))


class TestSeveralLabels(HeadTaskTests):
    """A BERT of transformers, whose own loss is torch's BCEWithLogitsLoss, the mean over rows and classes."""

    task = TASK
    savers = {"bert": save_bert_of_sets}
    rows = ROWS[:10]
    items = 10

    def loss_of(self, model: Any, unit: Any) -> tuple[torch.Tensor, int]:
        logits = model(**small_tokenizer()(unit["text"], return_tensors="pt")).logits[0]
        truths = torch.tensor([float(name in unit["label"]) for name in NAMES])
        return F.binary_cross_entropy_with_logits(logits, truths), 1


class TestSeveralLabelsTask(TaskTests):
    task = TASK
    fields = {"model": {"model_type": "lecture_recurrent", "hidden_size": 8}, "label_names": {"cold": "freezing"}}
    data = ROWS
    mistakes = [
        ({"class_weights": {"cold": 2.0}}, "class_weights.cold names none of the classes freezing, film, funny")
    ]
    unreadable = ({"text": None}, "row 1: text is None, no text")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"label_columns": "a,a"}, "label_columns must be different names, not a, a"),
        ({"label_columns": ["a"], "problem_type": "regression"}, "label_columns are several classes of a text"),
        ({"thresholds": {"film": 2}}, "thresholds.film must be a number from 0 to 1, not 2"),
        ({"thresholds": {"film": "much"}}, "thresholds.film must be a number from 0 to 1, not 'much'"),
        ({"class_weights": "even"}, "class_weights must be balanced, or a number for each class"),
        ({"problem_type": "single_label_classification"}, r"row 1: label is \['film'\], a list and not a class"),
        ({"problem_type": "regression"}, r"row 1: label is \['film'\], no number"),
        ({"label_columns": ["a", "b"]}, "train_rows has no column 'a', only text, label"),
        ({"thresholds": {"a": 0.1}, "train_rows": SENTENCES}, "thresholds are not for single_label_classification"),
        ({"pseudo_labels": "A", "unlabelled_files": ["b.txt"]}, "pseudo_labels are not for multi_label_classification"),
    ],
)
def test_recipes_that_do_not_fit(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        chosen = recipe(**fields)
        data = TASK.read(chosen, "train")
        assert data is not None
        tokenizer = TASK.processor(chosen, data)
        TASK.batches(TASK.model(chosen, tokenizer, data), tokenizer, data, chosen)


# Losses


@pytest.mark.parametrize(
    "model", [{"model_type": "lecture_bag_of_words"}, {"model_type": "lecture_recurrent", "hidden_size": 4}]
)
def test_the_loss_is_that_of_torch_with_weights_of_the_classes(model: dict[str, Any]) -> None:
    weights = {"film": 3.0, "cold": 0.5}
    for given, expected in (({}, torch.ones(3)), (weights, torch.tensor([0.5, 3.0, 1.0]))):
        chosen = recipe(model=model, class_weights=given, batch_size=len(ROWS))
        data = TASK.read(chosen, "train")
        assert data is not None
        tokenizer = TASK.processor(chosen, data)
        classifier = TASK.model(chosen, tokenizer, data).eval()
        (batch,) = TASK.batches(classifier, tokenizer, data, chosen).next_step()
        outputs = classifier(**batch.inputs)
        loss = torch.nn.BCEWithLogitsLoss(pos_weight=expected)(outputs.logits, batch.inputs["labels"])
        torch.testing.assert_close(batch.loss_of(outputs), loss)


# Measures and thresholds


def random_sets(rows: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities with few values, so that many are equal, and the right classes."""
    draw = np.random.default_rng(seed)
    return draw.integers(1, 12, (rows, classes)) / 12, draw.random((rows, classes)) < 0.3


@pytest.mark.parametrize("seed", range(5))
def test_measures_are_those_of_scikit_learn(seed: int) -> None:
    scores, truths = random_sets(30, 5, seed)
    truths[:, 1], scores[:, 2], truths[:, 3], scores[:, 3] = False, 0.0, False, 0.0  # figures of 0 / 0
    predicted = scores >= 0.5
    measured = measures_of_sets(ClassSets(predicted), truths, list("abcde"))
    for key, average in (("micro_f1", "micro"), ("macro_f1", "macro")):
        assert measured[key] == pytest.approx(f1_score(truths, predicted, average=average, zero_division=0), abs=1e-12)
    assert measured["exact_match"] == pytest.approx(accuracy_score(truths, predicted), abs=1e-12)
    figures = precision_recall_fscore_support(truths, predicted, zero_division=0)
    for index, own in enumerate(measured["classes"].values()):
        assert list(own.values()) == pytest.approx([column[index] for column in figures], abs=1e-12)
    for key, found in sums_of_sets(ClassSets(predicted), truths).items():
        assert found.measure() == pytest.approx(measured[key], abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_no_threshold_has_a_better_f1(seed: int) -> None:
    scores, truths = random_sets(25, 4, seed)
    truths[:, 0] = False
    found = best_thresholds(scores, truths)
    assert found[0] == 0.5, "a class that no row has"
    for index in range(1, 4):
        precision, recall, _ = precision_recall_curve(truths[:, index], scores[:, index])
        best = (2 * precision * recall / np.maximum(precision + recall, 1e-300)).max()
        assert f1_score(truths[:, index], scores[:, index] >= found[index]) == pytest.approx(best, abs=1e-12)
        assert not (scores[:, index] == found[index]).any(), "half-way between two scores, or below all"


def test_of_equally_good_thresholds_the_one_nearest_to_a_half() -> None:
    # Both cut below 0.9 (1 hit of 1, 2 there) and below 0.1 (2 hits of 4, 2 there) have F1 = 2/3.
    scores, truths = np.array([[0.9], [0.6], [0.2], [0.1]]), np.array([[1], [0], [0], [1]])
    assert best_thresholds(scores, truths)[0] == pytest.approx(0.75)
    assert best_thresholds(np.zeros((2, 1)), np.ones((2, 1))).tolist() == [0.0], "all rows have the class"
    assert best_thresholds(np.array([[1e-9], [2e-9]]), np.array([[0], [1]]))[0] == pytest.approx(1.5e-9)


def test_the_only_set_of_classes_is_told() -> None:
    truths = [[1, 0], [0, 1]]
    for chosen, said in (([1, 1], "the classes a,b"), ([0, 0], "no class"), ([0, 1], "the class b")):
        assert only_set(ClassSets(np.array([chosen, chosen], bool)), truths, ["a", "b"]) == said
    assert only_set(ClassSets(np.array([[1, 0], [1, 1]], bool)), truths, ["a", "b"]) == ""
    assert only_set(ClassSets(np.ones((2, 2), bool)), [[1, 0], [1, 0]], ["a", "b"]) == "", "so are the right ones"


# A run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A trained folder beside its data, as lists and as columns, and the outcome."""
    folder = tmp_path_factory.mktemp("several")
    draw = random.Random(0)
    made = []
    for _ in range(90):
        own = [name for name in NAMES if draw.random() < 0.35]
        words = [draw.choice(["a", "the", "day", "we", "saw"]) for _ in range(4)] + [f"so{name}" for name in own]
        made.append({"text": " ".join(draw.sample(words, len(words))), "label": own})
    for name, part in (("train", made[:60]), ("dev", made[60:75]), ("test", made[75:])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
        lines = [f"{row['text']},{','.join(str(int(one in row['label'])) for one in NAMES)}\n" for row in part]
        (folder / f"{name}.csv").write_text("".join([f"text,{','.join(NAMES)}\n", *lines]))
    return folder, train_and_test(TASK, recipe_of_run(folder, "jsonl", predict_files=[str(folder / "test.csv")]))


def recipe_of_run(folder: Path, suffix: str, **fields: Any) -> TextClassificationRecipe:
    files = {f"{part}_files": [str(folder / f"{name}.{suffix}")] for part, name in zip(PARTS, FILES, strict=True)}
    small: dict[str, Any] = {"model": {"model_type": "lecture_bag_of_words"}, "epochs": 6, "batch_size": 8}
    small |= {"learning_rate": 0.05, "output_dir": str(folder / f"run_{suffix}")}
    return TextClassificationRecipe(**files, **(small | fields))


PARTS, FILES = ("train", "validation", "test"), ("train", "dev", "test")


def test_the_thresholds_of_the_best_weights_are_saved_and_used(run: tuple[Path, Any]) -> None:
    folder, outcome = run
    saved = json.loads((folder / "run_jsonl/task.json").read_text())
    model, tokenizer = load_model(str(folder / "run_jsonl"))
    assert (model.config.problem_type, list(model.config.id2label.values())) == (KIND["problem_type"], NAMES)
    assert [measure["key"] for measure in saved["measures"]] == ["micro_f1", "macro_f1", "exact_match"]
    thresholds = saved["settings"]["thresholds"]
    assert list(thresholds) == NAMES
    texts, truths, scores = {}, {}, {}
    for part in ("dev", "test"):
        rows = [json.loads(line) for line in (folder / f"{part}.jsonl").read_text().splitlines()]
        texts[part] = [row["text"] for row in rows]
        truths[part] = np.array([[name in row["label"] for name in NAMES] for row in rows])
        with torch.no_grad():
            batch = tokenizer(texts[part], padding=True, return_tensors="pt")
            scores[part] = model(**batch).logits.sigmoid().double().numpy()
    assert list(thresholds.values()) == pytest.approx(best_thresholds(scores["dev"], truths["dev"]).tolist(), abs=1e-6)
    limits = np.array(list(thresholds.values()))
    expected = f1_score(truths["dev"], scores["dev"] >= limits, average="micro")
    assert outcome.training.best_metric == pytest.approx(expected, abs=1e-12)
    chosen = scores["test"] >= limits
    assert outcome.test_results["micro_f1"] == pytest.approx(
        f1_score(truths["test"], chosen, average="micro"), abs=1e-12
    )
    written = (folder / "run_jsonl/predictions/predictions.tsv").read_text().splitlines()[1:]
    named = [[name for name, own in zip(NAMES, row, strict=True) if own] for row in chosen]
    assert written == [f"{index}\t{','.join(own) or '-'}" for index, own in enumerate(named)]
    found = predict(model, tokenizer, texts["test"])
    assert [sorted(one["label"] for one in own) for own in found] == named
    assert all(own == sorted(own, key=lambda one: -one["score"]) for own in found)
    best = predict(model, tokenizer, texts["test"], top_k=2)
    assert {len(own) for own in best} == {2}, "with `top_k` the thresholds are not asked"
    measured = TASK.evaluate(model, tokenizer, TASK.read(recipe_of_run(folder, "jsonl"), "test"), recipe_of_folder(run))
    assert measured["micro_f1"] == outcome.test_results["micro_f1"]
    assert [own["threshold"] for own in measured["classes"].values()] == list(thresholds.values())


def recipe_of_folder(run: tuple[Path, Any]) -> Any:
    path = str(run[0] / "run_jsonl")
    return recipe_of(TASK, facts_of(path, *load_model(path)))


def test_columns_of_0_and_1_give_the_same_model(run: tuple[Path, Any]) -> None:
    folder, outcome = run
    other = train_and_test(TASK, recipe_of_run(folder, "csv", label_columns=",".join(NAMES)))
    assert other.test_results == outcome.test_results
    assert other.training.history == outcome.training.history


def test_a_pipeline_of_transformers_gives_the_probabilities(run: tuple[Path, Any]) -> None:
    folder = str(run[0] / "run_jsonl")
    model, tokenizer = load_model(folder)
    classify = pipeline("text-classification", model=folder)
    text = "the day we sofilm socold"
    theirs, ours = classify(text, top_k=None), predict(model, tokenizer, [text], top_k=3)[0]
    assert [one["label"] for one in theirs] == [one["label"] for one in ours]
    assert [one["score"] for one in theirs] == pytest.approx([one["score"] for one in ours], abs=1e-6)


def test_transformers_trainer_goes_on_with_the_folder(run: tuple[Path, Any], tmp_path: Path) -> None:
    folder = str(run[0] / "run_jsonl")
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    rows = [dict(tokenizer(row["text"])) | {"labels": [float(n in row["label"]) for n in NAMES]} for row in ROWS]
    arguments = TrainingArguments(str(tmp_path), max_steps=2, report_to=[], disable_tqdm=True, use_cpu=True)
    trainer: Any = Trainer(model, arguments, train_dataset=rows, data_collator=DataCollatorWithPadding(tokenizer))
    assert trainer.train().training_loss < 2


def test_thresholds_of_the_recipe_are_kept(run: tuple[Path, Any], tmp_path: Path) -> None:
    folder, _ = run
    train_and_test(TASK, recipe_of_run(folder, "jsonl", thresholds={"film": 0.25}, output_dir=str(tmp_path / "run")))
    saved = json.loads((tmp_path / "run/task.json").read_text())["settings"]
    assert saved["thresholds"] == {"film": 0.25}
    model, tokenizer = load_model(str(tmp_path / "run"))
    data = TASK.read(recipe_of_run(folder, "jsonl"), "test")
    measured = TASK.evaluate(
        model, tokenizer, data, TASK.settings_class.of({"task": {"settings": saved, "name": TASK.name}}, TASK.name)
    )
    assert [own["threshold"] for own in measured["classes"].values()] == [0.5, 0.25, 0.5]
    with pytest.raises(ValueError, match=r"`thresholds.warm` names none of the model's classes, cold, film, funny"):
        TASK.evaluate(model, tokenizer, data, TASK.settings_class(thresholds={"warm": 0.1}))


def test_a_model_of_others_says_itself_what_its_labels_are(tmp_path: Path) -> None:
    """Without a recipe: the configuration of a model of transformers has its `problem_type`."""
    names = {"id2label": dict(enumerate(NAMES)), "label2id": dict(zip(NAMES, range(3), strict=True))}
    model, tokenizer = load_model(str(save_small_bert(tmp_path / "bert", **names, **KIND)))
    measured = TASK.evaluate(model, tokenizer, TASK.read(recipe(), "train"), TASK.settings_class())
    assert list(measured)[:3] == ["micro_f1", "macro_f1", "exact_match"]
    assert "best_threshold.film" not in measured, "thresholds that were found on the measured rows are not used"


# Labels


def test_names_and_ids(capsys: pytest.CaptureFixture[str]) -> None:
    data = rows_of([["2", 10], [], ["2", "2"], [-1]])
    assert several_class_names(data, {"10": "ten"}) == ["-1", "2", "ten"]
    assert capsys.readouterr().err.splitlines() == [
        "3 classes in data.jsonl: -1 (1), 2 (2), ten (1)",
        "a text has 0 to 2 of them, 1.00 on average, none: 1 texts",
    ]
    config = TASK.model(recipe(), TASK.processor(recipe(), rows_of([["a"]])), rows_of([["a"], ["b", "c"]])).config
    assert label_matrix(config, rows_of([["C"], [], ["x", "b"]]), {"x": "a"}) == [[0, 0, 1], [0, 0, 0], [1, 1, 0]]
    with pytest.raises(
        ValueError, match=r"data.jsonl, row 2: label 'd' is none of the model's classes, a, b, c; .*.d`"
    ):
        label_matrix(config, rows_of([["a"], ["d"]]), {})


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([["a"], None], r"row 2 has no label; \[\] means no class, rows without labels are for the verb predict"),
        ([["a"], "b"], r"row 2: label is 'b', not a list of classes; a list such as \[\"a\", \"b\"\] names several"),
        ([["a"], ["b", ""]], r"row 2: label is \['b', ''\], and '' is not a class"),
        ([["a"], [0.5]], r"row 2: label is \[0.5\], and 0.5 is not a class"),
        ([["a"], [True]], r"row 2: label is \[True\], and True is not a class"),
        ([[0, 1, 0], [0, 0, 1]], r"row 1: label is \[0, 1, 0\], a 0 or 1 for each class; name those with 1"),
    ],
)
def test_lists_that_are_no_classes(labels: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_label_lists(rows_of(labels))


def test_lists_with_nothing_to_learn() -> None:
    with pytest.raises(ValueError, match=r"data.jsonl: no row has a class; there is nothing to learn"):
        several_class_names(rows_of([[], []]), {})
    with pytest.raises(ValueError, match=r"data.jsonl: all rows have the classes a, b; there is nothing to learn"):
        several_class_names(rows_of([["a", "b"], ["b", "a"]]), {})


@pytest.mark.parametrize("values", [["1", "0"], ["1.0", "0.0"], [1, 0], [True, False], ["True", " false"]])
def test_columns_of_truth_values(values: list[Any]) -> None:
    rows = Rows({"text": ["x", "y"], "a": values, "b": ["0", "0"]}, [("data.csv", 2)])
    assert join_columns(rows, ["a", "b"]).columns == {"text": ["x", "y"], "label": [["a"], []]}


def test_columns_of_other_values() -> None:
    for value, message in (
        ("2", "row 2: a is '2', neither 0 nor 1; each of `label_columns` holds 0 and 1"),
        ("", "row 2: a is '', neither 0 nor 1; rows without labels are for the verb predict"),
        (-1, "row 2: a is -1, neither 0 nor 1; rows without labels are for the verb predict"),
    ):
        with pytest.raises(ValueError, match=message):
            join_columns(Rows({"text": ["x", "y"], "a": [1, value]}, [("data.csv", 2)]), ["a"])


def test_a_class_that_no_row_has_keeps_its_place() -> None:
    chosen = recipe(train_rows=[{"text": "x", "a": 1, "b": 0}, {"text": "y", "a": 0, "b": 0}], label_columns="a,b")
    data = TASK.read(chosen, "train")
    assert data is not None
    assert TASK.model(chosen, TASK.processor(chosen, data), data).config.label2id == {"a": 0, "b": 1}
