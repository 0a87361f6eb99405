# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture evaluate`: a model's measures on a benchmark's files, on the Hub's data, on data of one's own."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import datasets
import pytest
from transformers import AutoModelForSequenceClassification, pipeline

from hf_lecture_models.cli import evaluate
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.classification.errors import number_errors
from hf_lecture_models.tasks.classification.task import TextClassification
from hf_lecture_models.tasks.core.main import train_from_command
from hf_lecture_models.tasks.registry import TASK_OF_BENCHMARK
from tests.tasks.small_classifier import ROWS, small_bert, small_tokenizer

CLASSES = {"id2label": {0: "positive", 1: "negative"}, "label2id": {"positive": 0, "negative": 1}}
"""In another order than SST-2's: 0 is negative there."""


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluate") / "model"
    small_bert(**CLASSES).save_pretrained(folder)
    small_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def sst2(tmp_path: Path) -> Path:
    lines = ["sentence\tlabel", *(f"{row['text']}\t{1 - row['label']}" for row in ROWS)]
    (tmp_path / "dev.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "dev.tsv"


def expected_accuracy(folder: Path) -> float:
    """By transformers' pipeline."""
    names = ["positive", "negative"]  # of the rows' labels 0 and 1
    found = pipeline("text-classification", model=str(folder))([row["text"] for row in ROWS])
    right = [one["label"] == names[row["label"]] for one, row in zip(found, ROWS, strict=True)]
    return sum(right) / len(right)


def without_warning(err: str) -> str:
    """Return the messages without the line that an untrained model is not better than the baseline."""
    return "".join(line for line in err.splitlines(True) if not line.startswith("warning: the model is not better"))


def test_a_benchmarks_file(run: Any, classifier: Path, sst2: Path) -> None:
    """Classes are matched by their names, not by their numbers."""
    status, out, err = run("evaluate", classifier, "sst2", sst2)
    assert (status, without_warning(err)) == (0, "")
    heading, *lines = out.splitlines()
    assert heading.split(maxsplit=1) == ["model", "most frequent class of these rows, difference [95 % interval]"]
    assert dict(line.split()[:2] for line in lines[:3]) == {
        "task": "sst2",
        "accuracy": f"{expected_accuracy(classifier):.6g}",
        "examples": str(len(ROWS)),
    }
    assert 0 < expected_accuracy(classifier) < 1
    _, out, _ = run("evaluate", classifier, "sst2", sst2, sst2, "--json")
    measured = json.loads(out)
    assert (measured["task"], measured["examples"]) == ("sst2", 2 * len(ROWS))
    beside = measured["baseline"]
    assert (beside["name"], beside["measures"]) == ("most frequent class of these rows", {"accuracy": 0.5})
    assert beside["differences"]["accuracy"]["difference"] == pytest.approx(expected_accuracy(classifier) - 0.5)
    assert measured["accuracy"] == pytest.approx(expected_accuracy(classifier))


OWN_OPTIONS = re.compile(
    "--(columns|label_names)[.]|--label_columns|--scheme|--max_length|--split|--store|--output|--json"
)
MISTAKES = {
    "no label": ("sst2", "a.tsv", "sentence\ta film\n"),
    "no column of labels": ("sst2", "a.tsv", "sentence\na film\n"),
    "hidden label": ("sst2", "a.tsv", "sentence\tlabel\na film\t-1\n"),
    "other label": ("sst2", "a.tsv", "sentence\tlabel\na film\tbad\n"),
    "no column of texts": ("sst2", "a.tsv", "review\tlabel\na film\t1\n"),
    "hidden label of one's own": ("text_classification", "a.csv", "text,label\na film,-1\n"),
    "number": ("text_classification", "a.jsonl", '{"text": "a film", "label": 0.5}\n'),
    "empty": ("text_classification", "a.csv", ""),
    "other task": ("causal_lm", "a.txt", "a film\n"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_only_its_own_options_are_named(run: Any, classifier: Path, tmp_path: Path, mistake: str) -> None:
    task, name, content = MISTAKES[mistake]
    (tmp_path / name).write_text(content, encoding="utf-8")
    status, out, err = run("evaluate", classifier, task, tmp_path / name)
    assert (status, out, len(err.splitlines())) == (1, "", 1)
    assert "--" not in OWN_OPTIONS.sub("", err), err


def test_an_unreachable_hub_names_no_option_of_training(
    run: Any, classifier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*names: Any, **options: Any) -> Any:
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    status, _, err = run("evaluate", classifier, "sst2")
    assert (status, err) == (1, "hf-lecture evaluate: no network; name local files in place of the data set\n")


def test_a_benchmarks_data_on_the_hub(run: Any, classifier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def stand_in(name: str, config: str | None, split: str, **options: Any) -> Any:
        asked.append((name, config, split))
        return datasets.Dataset.from_list([{"sentence": row["text"], "label": 1 - row["label"]} for row in ROWS])

    monkeypatch.setattr(datasets, "load_dataset", stand_in)
    status, out, _ = run("evaluate", classifier, "sst2", "--json")
    assert status == 0
    assert json.loads(out)["accuracy"] == pytest.approx(expected_accuracy(classifier))
    run("evaluate", classifier, "sst2", "--split", "train")
    assert asked == [("nyu-mll/glue", "sst2", "validation"), ("nyu-mll/glue", "sst2", "train")]


def test_columns_and_labels_are_named_as_in_a_recipe(run: Any, classifier: Path, tmp_path: Path) -> None:
    rows = [{"review": row["text"], "label": "good" if row["label"] == 0 else "bad"} for row in ROWS]
    path = tmp_path / "reviews.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    status, _, err = run("evaluate", classifier, "text_classification", path, "--columns.text=review")
    assert status == 1
    assert "--label_names.good says" in err
    named = ["--columns.text", "review", "--label_names.good", "positive", "--label_names.bad=negative"]
    status, out, err = run("evaluate", classifier, "text_classification", *named, path, "--json")
    assert (status, without_warning(err)) == (0, "")
    assert json.loads(out)["accuracy"] == pytest.approx(expected_accuracy(classifier))
    for words, message in {
        ("--colums.text", "review"): "there is no option --colums.text",
        ("--columns.text",): "--columns.text needs a value",
        ("--scheme", "tags"): "text_classification has no scheme: leave that option out",
    }.items():
        status, _, err = run("evaluate", classifier, "text_classification", path, *words)
        assert status != 0
        assert message in err


def test_several_classes_of_a_text(run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    small_bert(**CLASSES, problem_type="multi_label_classification").save_pretrained(folder)
    small_tokenizer().save_pretrained(folder)
    lines = ["text,positive,negative", *(f"{row['text']},{row['label']},1" for row in ROWS)]
    (tmp_path / "dev.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = ["evaluate", folder, "text_classification", tmp_path / "dev.csv"]
    status, _, err = run(*words)
    assert status == 1
    assert "has no column 'label', only text, positive, negative" in err
    assert "--label_columns names several of 0 and 1" in err
    words += ["--label_columns", "positive,negative", "--thresholds.negative", "0"]
    status, out, err = run(*words)
    assert status == 0, err
    *_, heading, _, negative = out.splitlines()
    assert heading.split() == ["class", "precision", "recall", "f1", "examples", "threshold"]
    assert negative.split() == ["negative", "1.0000", "1.0000", "1.0000", str(len(ROWS)), "0.0000"]
    status, _, err = run(*words, "--output", tmp_path / "confusion.svg")
    assert status == 1
    assert "draws a confusion matrix of one class a text, and these texts may have several" in err


def test_texts_that_are_too_long_are_cut_on_demand(run: Any, classifier: Path, sst2: Path) -> None:
    longest = AutoModelForSequenceClassification.from_pretrained(classifier).config.max_position_embeddings
    sst2.write_text(f"sentence\tlabel\n{'fine ' * longest}\t1\n", encoding="utf-8")
    status, _, err = run("evaluate", classifier, "sst2", sst2)
    assert status == 1
    assert f"row 1 has {longest + len(small_tokenizer()('').input_ids)} tokens" in err
    assert "--max-length" in err
    assert run("evaluate", classifier, "sst2", sst2, "--max_length", longest)[0] == 0


def test_a_language_model_on_a_text_file(run: Any, network: Path, tmp_path: Path) -> None:
    texts = ["the cat ran", "a zebra ran"]
    (tmp_path / "texts.txt").write_text("\n".join(texts), encoding="utf-8")
    _, out, _ = run("evaluate", network, "causal_lm", tmp_path / "texts.txt", "--json")
    expected = evaluate_language_model(*load_model(str(network)), texts)
    assert json.loads(out)["perplexity"] == pytest.approx(expected["perplexity"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sst4", "FILE"], "there is no task sst4; did you mean sst5?"),
        (["zzz", "FILE"], "there is no task zzz. There are "),
        (["text_classification"], "where its data are on the Hub is not known of text_classification"),
        (["sst3"], "where its data are on the Hub is not known of sst3: name their files"),
        (["ewt", "FILE"], "which AutoModelForTokenClassification cannot load"),
        (["token_classification", "FILE"], "is not a model of token_classification"),
        (["sst2", "FILE", "--split", "test"], "--split is of the data on the Hub"),
        (["sst2", "missing.tsv"], "missing.tsv"),
        (["mrpc", "FILE"], "sentence1"),
        (["sst5", "FILE"], "row 2: label 'very negative' is none of the model's classes, positive, negative"),
    ],
)
def test_what_cannot_be_measured(run: Any, classifier: Path, sst2: Path, arguments: list[str], message: str) -> None:
    status, out, err = run("evaluate", classifier, *(str(sst2) if one == "FILE" else one for one in arguments))
    assert (status, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


def test_only_causal_models_are_refused_max_length(run: Any, network: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("the cat\n", encoding="utf-8")
    status, _, err = run("evaluate", network, "causal_lm", tmp_path / "texts.txt", "--max-length", 3)
    assert (status, err) == (1, "hf-lecture evaluate: causal_lm has no max_length: leave that option out\n")


def test_benchmarks_are_those_of_the_recipes() -> None:
    assert {"cola", "mnli", "sst5", "ewt", "wnut17", "swag", "arc_easy"} <= TASK_OF_BENCHMARK.keys()
    for name, task in TASK_OF_BENCHMARK.items():
        assert task.recipe_class(task=name).task == name  # type: ignore[call-arg]


def test_the_confusion_matrix_is_drawn(run: Any, classifier: Path, sst2: Path, tmp_path: Path) -> None:
    status, out, err = run("evaluate", classifier, "sst2", sst2, "--json", "--output", tmp_path / "confusion.svg")
    assert (status, without_warning(err)) == (0, "")
    classes = json.loads(out)["classes"]
    assert (tmp_path / "confusion.svg").read_text(encoding="utf-8").startswith("<?xml")
    for name, own in classes.items():
        assert own["recall"] == pytest.approx(own["predicted"][name] / max(1, own["examples"]))
    _, table, _ = run("evaluate", classifier, "sst2", sst2)
    assert [line.split()[0] for line in table.splitlines()[-len(classes) :]] == list(classes)


def test_the_line_on_a_table_of_numbers_counts_its_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    errors = number_errors({"text": ["a", "b"]}, [1.0, 4.0], [1.5, 2.0])
    table, task = tmp_path / "errors.csv", SimpleNamespace(errors=lambda *_: errors)
    evaluate._write_errors(cast(Any, task), None, None, None, cast(Any, None), table)
    assert capsys.readouterr().err == f"{table}: 2 rows, the largest errors first\n"


def test_wrong_predictions_are_written_surest_first(run: Any, classifier: Path, sst2: Path, tmp_path: Path) -> None:
    status, out, err = run("evaluate", classifier, "sst2", sst2, "--json", "--output", tmp_path / "errors.jsonl")
    assert status == 0
    rows = [json.loads(line) for line in (tmp_path / "errors.jsonl").read_text(encoding="utf-8").splitlines()]
    assert f"{tmp_path}/errors.jsonl: {len(rows)} wrong of {len(ROWS)}, the most confident first\n" in err
    assert 1 - len(rows) / len(ROWS) == pytest.approx(json.loads(out)["accuracy"])
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    for row in rows:
        given = ROWS[int(row["where"].removeprefix(f"{sst2}, row ")) - 1]
        names = ["positive", "negative"]
        assert (row["text"], row["gold"]) == (given["text"], names[given["label"]])
        assert row["predicted"] == names[1 - given["label"]]


def test_what_cannot_be_written_is_refused_before_the_model_is_read(run: Any, tmp_path: Path) -> None:
    status, _, err = run("evaluate", tmp_path / "nowhere", "causal_lm", "x.txt", "--output", tmp_path / "e.csv")
    assert (status, len(err.splitlines())) == (1, 1)
    assert "causal_lm has no right and wrong ones" in err
    status, _, err = run("evaluate", tmp_path / "nowhere", "sst2", "x.tsv", "--output", tmp_path / "e.txt")
    assert status == 2
    assert "e.txt must end in .csv, .tsv or .jsonl for errors, or in .svg, .pdf or .png" in " ".join(err.split())


def test_a_matrix_needs_classes(run: Any, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("the cat ran\n", encoding="utf-8")
    status, _, err = run("evaluate", folder, "causal_lm", tmp_path / "texts.txt", "--output", tmp_path / "a.svg")
    assert (status, len(err.splitlines())) == (1, 1)
    assert "causal_lm measures no classes" in err
    assert not (tmp_path / "a.svg").exists()


def test_the_rows_that_a_run_held_out_are_measured_again(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{'fine' if number % 2 else 'dull'} film {number},{'good' if number % 2 else 'bad'}" for number in range(60)
    ]
    Path("mine.csv").write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    fields = {"train_files": "mine.csv", "epochs": "2", "output_dir": "out"}
    outcome = train_from_command(
        TextClassification(), [word for name, value in fields.items() for word in (f"--{name}", value)]
    )
    for files in ([], ["mine.csv"]):
        status, out, _ = run("evaluate", "out", "text_classification", *files, "--held-out", "--json")
        measured = json.loads(out)
        assert (status, measured["examples"]) == (0, 6)
        assert measured["accuracy"] == outcome.training.best_metric
    status, _, err = run("evaluate", "out", "text_classification", "--held-out", "--split", "test")
    assert (status, "leave --split out" in err) == (1, True)
