# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The trivial baseline of each task beside its measures: its answers, the interval of the difference, the warnings."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.hub.card import render_card
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.choice.task import ChoiceSettings, MultipleChoice
from hf_lecture_models.tasks.classification.task import (
    ClassificationSettings,
    TextClassification,
    TextClassificationRecipe,
)
from hf_lecture_models.tasks.core.baselines import Comparison, LearnedBaseline, compare, evaluate_beside, resampled_sums
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.core.task import Encoded, Measure
from hf_lecture_models.tasks.metrics import sums
from hf_lecture_models.tasks.registry import measure_file
from hf_lecture_models.tasks.tagging.task import TaggingSettings, TokenClassification
from tests.tasks import small_classifier

ACCURACY = Measure("accuracy", "accuracy", lower_is_better=False)


def stand_in(*classes: str) -> Any:
    """The configuration of a model with these classes."""
    names = dict(enumerate(classes))
    fields = {"num_labels": len(names), "id2label": names, "problem_type": "single_label_classification"}
    return SimpleNamespace(config=SimpleNamespace(**fields, name_or_path=""))


TWO, TAGS = stand_in("bad", "good"), stand_in("B-X", "I-X", "O")


def rows(**columns: list[Any]) -> Rows:
    return Rows(columns, [("a.csv", len(next(iter(columns.values()))))])


def baseline_of(task: Any, model: Any, train: Rows, test: Encoded, settings: Any) -> tuple[dict[str, Any], Any]:
    """Return the facts of the training data, and the answers to the other rows."""
    facts = task.baseline.learn(None, train, settings)
    return facts, task.baseline.answers(json.loads(json.dumps(facts)), model, None, test, settings)


def test_the_most_frequent_class() -> None:
    """Two of three training rows are good: 1 of 4 rows is found; F1 of good 2·1 / (4 + 1), of bad 0."""
    task, settings = TextClassification(), ClassificationSettings(label_names={"1": "good", "0": "bad"})
    encoded = Encoded(rows(label=[0, 0, 0, 1]), [{}] * 4, [0, 0, 0, 1])
    facts, answers = baseline_of(task, TWO, rows(label=["1", "0", "1"]), encoded, settings)
    assert (facts, answers) == ({"name": "most frequent class", "class": "good"}, [1, 1, 1, 1])
    measured = task.measure_answers(TWO, None, encoded, answers, settings)
    assert (measured["accuracy"], measured["macro_f1"]) == (0.25, pytest.approx(0.2))
    assert task.baseline.only_answer(TWO, encoded, answers) == "the class 'good'"
    assert task.baseline.only_answer(TWO, encoded, [1, 1, 0, 1]) == ""
    all_good = Encoded(encoded.data, encoded.inputs, [1, 1, 1, 1])
    assert task.baseline.only_answer(TWO, all_good, answers) == "", "there is nothing else to predict"


def test_the_mean_of_numbers() -> None:
    task, settings = TextClassification(), ClassificationSettings(problem_type="regression")
    encoded = Encoded(rows(label=[1.0, 2.0]), [{}] * 2, [1.0, 2.0])
    facts, answers = baseline_of(task, TWO, rows(label=[0.5, 2, "3.5"]), encoded, settings)
    assert (facts, answers) == ({"name": "mean", "mean": 2.0}, [2.0, 2.0])
    assert task.measure_answers(TWO, None, encoded, answers, settings)["pearson"] == 0


def test_each_words_most_frequent_tag() -> None:
    """`Ed` is B-X twice and O once; `of` is O; a new word is O like most words.

    Of the tags O O O, O B-X four of five are found, and the only predicted entity is the only one that is there.
    """
    task, settings = TokenClassification(), TaggingSettings(scheme="entities")
    train = rows(tokens=[["Ed", "of", "Ed"], ["Ed", "of"]], tags=[["B-X", "O", "O"], ["B-X", "O"]])
    test = [["O", "O", "I-X"], ["O", "B-X"]]
    encoded = Encoded(rows(tokens=[["who", "of", "Ada"], ["of", "Ed"]], tags=test), [], test)
    facts, answers = baseline_of(task, TAGS, train, encoded, settings)
    assert facts == {"name": "most frequent tag of each word", "other": "O", "tags": {"Ed": "B-X"}}
    assert answers == [[2, 2, 2], [2, 0]]
    found = {key: own.measure() for key, own in task.baseline.sums(TAGS, None, encoded, answers, settings).items()}
    assert found == {"accuracy": 0.8, "f1": pytest.approx(2 / 3), "precision": 1.0, "recall": 0.5}


def test_the_most_frequent_place_of_the_right_choice() -> None:
    """A row with fewer choices gets its last one."""
    encoded = Encoded(rows(label=[0, 2, 1]), [[{}] * 3, [{}] * 3, [{}] * 2], [0, 2, 1])
    train = rows(label=[2, 0, 2])
    facts, answers = baseline_of(MultipleChoice(), None, train, encoded, ChoiceSettings())
    assert (facts["place"], answers) == (2, [2, 2, 1])
    assert MultipleChoice().measure_answers(None, None, encoded, answers, ChoiceSettings())["accuracy"] == 2 / 3


def test_facts_that_the_model_cannot_answer_by_are_those_of_the_rows() -> None:
    """A model of other classes than the folder's file: the baseline is made of the measured rows."""
    learned = LearnedBaseline(TextClassification.baseline, {"name": "most frequent class", "class": "ugly"})
    settings = TextClassificationRecipe(train_rows=ROWS)
    model, tokenizer = small_classifier.small_bert(**CLASSES), small_classifier.small_tokenizer()
    TextClassification().evaluate(model, tokenizer, data_of(ROWS), settings, learned)
    found = learned.comparison()
    assert found is not None
    assert (found.name, found.measures["accuracy"]) == ("most frequent class of these rows", 0.5)


def test_the_interval_of_a_difference_of_accuracies() -> None:
    """Beside the normal approximation: d ± 1.96 s / √n, with d = ours right - theirs right in each row."""
    random, count = np.random.default_rng(0), 4000
    right: Any = random.integers(0, 3, count)
    ours: Any = np.where(random.random(count) < 0.5, right, 0)
    theirs: Any = np.where(random.random(count) < 0.4, right, ours)
    found = compare(*({"accuracy": sums.accuracy(side, right)} for side in (ours, theirs)))["accuracy"]
    each = (ours == right).astype(float) - (theirs == right)
    radius = 1.96 * each.std() / count**0.5
    assert found["difference"] == pytest.approx(each.mean(), abs=1e-12)
    assert found["low"] == pytest.approx(each.mean() - radius, abs=0.1 * radius)
    assert found["high"] == pytest.approx(each.mean() + radius, abs=0.1 * radius)


def test_more_rows_than_are_drawn() -> None:
    """Neighbours are added up, which changes neither the mean nor the spread of the sums."""
    numbers = np.random.default_rng(0).random((25_000, 1))
    found = resampled_sums(numbers)
    assert found.mean() == pytest.approx(numbers.sum(), rel=0.001)
    assert found.std() == pytest.approx(numbers.std() * len(numbers) ** 0.5, rel=0.1)


def test_measures_that_are_not_finite_have_no_interval() -> None:
    own, other = sums.exp_ratio([1.0, 2.0], [1, 1]), sums.exp_ratio([np.inf, 2.0], [1, 1])
    assert compare({"perplexity": own}, {"perplexity": other}) == {}
    # Finite for all rows, infinite where the largest one is drawn twice.
    large, one = sums.exp_ratio([6800.0] * 9 + [8500.0], [10] * 10), sums.exp_ratio([1.0] * 10, [10] * 10)
    assert np.isfinite(large.measure())
    assert compare({"perplexity": large}, {"perplexity": one}) == {}


@pytest.mark.parametrize(
    ("low", "high", "lower_is_better", "said"),
    [
        (0.01, 0.2, False, ""),
        (-0.2, -0.01, True, ""),
        (-0.01, 0.2, False, "is not better than the baseline (mean)"),
        (0.0, 0.0, True, "is not better than the baseline (mean)"),
        (-0.2, -0.01, False, "is worse than the baseline (mean)"),
        (0.01, 0.2, True, "is worse than the baseline (mean)"),
    ],
)
def test_warnings(low: float, high: float, lower_is_better: bool, said: str) -> None:
    differences = {"accuracy": {"difference": (low + high) / 2, "low": low, "high": high}}
    found = Comparison("mean", {"accuracy": 0.5}, differences).warnings([Measure("accuracy", "", lower_is_better)])
    assert (found == []) if not said else (said in found[0] and len(found) == 1)


def test_a_warning_names_the_only_answer() -> None:
    found = Comparison("mean", {}, {}, "the class 'good'").warnings([ACCURACY])
    assert found == ["warning: all predictions are the class 'good'"]


ROWS = small_classifier.ROWS
CLASSES = {"id2label": {0: "0", 1: "1"}, "label2id": {"0": 0, "1": 1}}


def data_of(given: list[dict[str, Any]]) -> Rows:
    return rows(**{name: [row[name] for row in given] for name in ("text", "label")})


def recipe(folder: Path, **fields: Any) -> TextClassificationRecipe:
    uneven = [*ROWS, {"text": "fine", "label": 0}]
    parts = {"train_rows": uneven, "validation_rows": ROWS[:4], "test_files": []}
    return TextClassificationRecipe(output_dir=str(folder), **parts | {"epochs": 1} | fields)


def test_a_run_is_measured_beside_the_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A learning rate of 0 leaves a model that predicts one class; classes have 7 and 6 training rows."""
    test = small_classifier.write_tsv(tmp_path / "test.tsv", ROWS[1:4], "text")
    outcome = train_and_test(TextClassification(), recipe(tmp_path / "run", learning_rate=0.0, test_files=[str(test)]))
    said = capsys.readouterr().err.splitlines()
    assert outcome.test_results is not None
    assert any("most frequent class 0.5)" in line and line.startswith("step ") for line in said)
    content = json.loads((tmp_path / "run/baseline.json").read_text())
    assert content["facts"] == {"name": "most frequent class", "class": "0"}
    assert content["validation"]["measures"]["accuracy"] == 0.5
    assert content["test"]["measures"]["accuracy"] == pytest.approx(1 / 3)
    for part, best in (("validation", outcome.training.best_metric), ("test", outcome.test_results["accuracy"])):
        own, other = content[part]["differences"]["accuracy"]["difference"], content[part]["measures"]["accuracy"]
        assert own + other == pytest.approx(best)
        assert any(line.startswith(f"{part} accuracy {best:.4g}, most frequent class {other:.4g}") for line in said)
    assert any(line.startswith("warning: the model is not better than the baseline") for line in said)
    assert outcome.test_results.keys() == {"accuracy", "macro_f1", "examples", "classes"}
    facts = json.loads((tmp_path / "run/facts.json").read_text())
    assert facts["baseline"] == {key: content["test"][key] for key in ("name", "measures", "differences")}


def test_a_saved_model_is_measured_beside_the_baseline_of_its_training_data(tmp_path: Path) -> None:
    """The training data had more rows of class 0, the measured ones have none."""
    task, own = TextClassification(), recipe(tmp_path)
    training = own.train_rows
    model = small_classifier.small_bert(**CLASSES)
    facts = task.baseline.learn(None, data_of(training), own)
    LearnedBaseline(task.baseline, facts).save_pretrained(tmp_path)
    ones = data_of([row for row in ROWS if row["label"] == 1])
    place = task, model, small_classifier.small_tokenizer(), ones, own
    measured, found = evaluate_beside(*place, tmp_path, "")
    assert found is not None
    assert (found.name, found.measures["accuracy"]) == ("most frequent class", 0.0)
    assert found.differences["accuracy"]["difference"] == pytest.approx(measured["accuracy"])
    _, found = evaluate_beside(*place, tmp_path / "nothing", "")
    assert found is not None
    assert (found.name, found.measures["accuracy"]) == ("most frequent class of these rows", 1.0)


def test_without_validation_data_only_the_facts_are_kept(tmp_path: Path) -> None:
    train_and_test(TextClassification(), recipe(tmp_path, validation_rows=[]))
    assert json.loads((tmp_path / "baseline.json").read_text()).keys() == {"facts"}


def test_the_card_has_the_baseline(tmp_path: Path) -> None:
    """The table of a trained folder; of facts without a baseline it has two columns as before."""
    task, own = TextClassification(), recipe(tmp_path)
    train_and_test(task, own)
    model, tokenizer = load_model(str(tmp_path))
    facts = facts_of(tmp_path, model, tokenizer)
    table = [line for line in render_card(facts).text.splitlines() if line.startswith("|")]
    assert table[0] == "| measure | value | most frequent class | difference, 95 % interval |"
    found = facts["baseline"]["differences"]["accuracy"]
    shown = f"{found['difference']:+.4f} [{found['low']:.4f}, {found['high']:.4f}]"
    assert table[2] == f"| accuracy | {facts['results']['accuracy']:#.4g} | 0.5000 | {shown} |"
    del facts["baseline"]
    table = [line for line in render_card(facts).text.splitlines() if line.startswith("|")]
    assert table[0] == "| measure | value |"


def test_a_file_that_is_measured_for_a_card_has_its_baseline(tmp_path: Path) -> None:
    """`publish --evaluate`: the baseline of the other rows replaces that of the run's own data."""
    task, own = TextClassification(), recipe(tmp_path / "run")
    train_and_test(task, own)
    model, tokenizer = load_model(str(tmp_path / "run"))
    facts = facts_of(tmp_path / "run", model, tokenizer)
    path = small_classifier.write_tsv(tmp_path / "more.tsv", [row for row in ROWS if row["label"] == 1], "text")
    found = measure_file(path, model, tokenizer, facts)
    assert (facts["baseline"]["measures"]["accuracy"], found["baseline"]["measures"]["accuracy"]) == (0.5, 0.0)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "baseline.json").write_text("[]")
    with pytest.raises(ValueError, match=r"baseline\.json"):
        LearnedBaseline.read(TextClassification.baseline, tmp_path)


def test_a_task_with_a_measure_of_its_own_has_no_baseline(tmp_path: Path) -> None:
    """Its answers would be measured in another way than its `measure` does."""

    class Own(TextClassification):
        def measure(self, *arguments: Any) -> dict[str, Any]:
            return {"accuracy": 1.0}

    outcome = train_and_test(Own(), recipe(tmp_path))
    assert outcome.training.best_metric == 1.0
    assert not (tmp_path / "baseline.json").exists()
