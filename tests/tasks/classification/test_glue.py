# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""GLUE's tasks by name: files of every kind, classes, official measures, and predictions as GLUE takes them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score
from transformers import AutoModelForSequenceClassification

from hf_lecture_models.data.benchmarks import benchmarks_of
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.classification.task import (
    TextClassification,
    TextClassificationRecipe,
    label_ids,
)
from hf_lecture_models.tasks.registry import measure_file
from tests.tasks.small_classifier import save_small_bert, small_bert, small_tokenizer, stand_in_hub

TASK = TextClassification()
CLASSES = {
    "cola": ["unacceptable", "acceptable"],
    "sst2": ["negative", "positive"],
    "mrpc": ["not_equivalent", "equivalent"],
    "stsb": [],
    "qqp": ["not_duplicate", "duplicate"],
    "mnli": ["entailment", "neutral", "contradiction"],
    "qnli": ["entailment", "not_entailment"],
    "rte": ["entailment", "not_entailment"],
    "wnli": ["not_entailment", "entailment"],
    "sst3": ["negative", "neutral", "positive"],
    "sst5": ["very negative", "negative", "neutral", "positive", "very positive"],
}
PAIRS = ("mrpc", "stsb", "qqp", "mnli", "qnli", "rte", "wnli")
HUB_COLUMNS = {"qqp": ("question1", "question2"), "mnli": ("premise", "hypothesis"), "qnli": ("question", "sentence")}


def tsv(*lines: str) -> str:
    """Lines whose columns are written with | between them."""
    return "".join(line.replace("|", "\t") + "\n" for line in lines)


def json_lines(*rows: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def read(task: str, path: Path, part: str = "train", **fields: Any) -> Rows:
    rows = TASK.read(TextClassificationRecipe(task=task, **{f"{part}_files": [str(path)]}, **fields), part)
    assert rows is not None
    return rows


# Files


TEXTS = {"a fine film", "a dull film", "film a", 'a "fine film', "a film", "cold", "film"}
PAIR = {"sentence1": 'a "fine film', "sentence2": "a dull film"}
FILES: list[tuple[str, str, str, Any]] = [
    ("cola", "in_domain_dev.tsv", tsv("gj04|1||a fine film", "gj04|0|*|film a"), ["acceptable", "unacceptable"]),
    ("cola", "named.tsv", tsv("sentence|label", "a fine film|1", "film a|0"), ["acceptable", "unacceptable"]),
    ("sst2", "dev.tsv", tsv("sentence|label", "a fine film|1", "a dull film|0"), ["positive", "negative"]),
    (
        "mrpc",
        "msr_paraphrase_train.tsv",
        "\ufeff" + tsv("Quality|#1 ID|#2 ID|#1 String|#2 String", '1|7|8|a "fine film|a film', "0|7|9|a film|cold"),
        ["equivalent", "not_equivalent"],
    ),
    (
        "mrpc",
        "validation.jsonl",
        json_lines({"label": 1, "id1": "7", **PAIR}, {"label": 0, "id1": "8", **PAIR}),
        ["equivalent", "not_equivalent"],
    ),
    (
        "stsb",
        "dev.tsv",
        tsv(
            "index|genre|filename|year|old_index|source1|source2|sentence1|sentence2|score",
            "0|main|MSRvid|2012|1|none|none|a film|a fine film|5.000",
            "1|main|MSRvid|2012|2|none|none|a film|cold|0.250",
        ),
        [5.0, 0.25],
    ),
    ("stsb", "dev.jsonl", json_lines({"id": "0000", "score": 4.75, **PAIR}, {"score": 0, **PAIR}), [4.75, 0]),
    (
        "qqp",
        "train.tsv",
        tsv("id|qid1|qid2|question1|question2|is_duplicate", "5|1|2|a film|a film|1", "9|3|4|a film|cold|0"),
        ["duplicate", "not_duplicate"],
    ),
    (
        "mnli",
        "train.tsv",
        tsv(
            "index|promptID|pairID|genre|sentence1_binary_parse|sentence2_binary_parse|sentence1_parse|sentence2_parse|"
            "sentence1|sentence2|label1|gold_label",
            "0|1|1c|fiction|(|(|(|(|a film|cold|neutral|contradiction",
            "1|1|1e|fiction|(|(|(|(|a film|film|neutral|entailment",
        ),
        ["contradiction", "entailment"],
    ),
    (
        "qnli",
        "dev.tsv",
        tsv("index|question|sentence|label", "0|a film|a fine film|entailment", "1|a film|cold|not_entailment"),
        ["entailment", "not_entailment"],
    ),
    (
        "rte",
        "dev.tsv",
        tsv("index|sentence1|sentence2|label", "0|a film|a fine film|entailment", "1|a film|cold|not_entailment"),
        ["entailment", "not_entailment"],
    ),
    (
        "wnli",
        "dev.tsv",
        tsv("index|sentence1|sentence2|label", "0|a film|a fine film|0", "1|a film|cold|1"),
        ["not_entailment", "entailment"],
    ),
    (
        "sst3",
        "dev.jsonl",
        json_lines({"sentence": "a film", "label": 3, "label3": 1}, {"sentence": "cold", "label": 2, "label3": 0}),
        ["positive", "neutral"],
    ),
    (
        "sst5",
        "dev.jsonl",
        json_lines({"sentence": "a film", "label": 3, "label3": 1}, {"sentence": "cold", "label": 0, "label3": -1}),
        ["positive", "very negative"],
    ),
]


@pytest.mark.parametrize(("task", "name", "content", "labels"), FILES)
def test_files_are_read_as_they_are_handed_out(
    tmp_path: Path, task: str, name: str, content: str, labels: list[Any]
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    rows = read(task, tmp_path / name)
    recipe = TextClassificationRecipe(task=task)
    found = [recipe.label_names.get(str(label), label) for label in rows.columns["label"]]
    assert ([float(label) for label in found] if task == "stsb" else found) == labels
    assert ("text_pair" in rows.columns) == (task in PAIRS)
    for column in ("text", "text_pair")[: 1 + (task in PAIRS)]:
        assert set(rows.texts(column)) <= TEXTS


def test_malformed_rows_of_qqp_are_left_out_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GLUE hands out a train.tsv with questions that hold ends of lines; files of other columns are refused."""
    rows = ("1|1|2|a film|cold|0", "2|3|4|a", "film|cold|1", "3|5|6|film|cold|1|1", "4|7|8|cold|a film|1")
    own, other = tmp_path / "train.tsv", tmp_path / "own.tsv"
    own.write_text(tsv("id|qid1|qid2|question1|question2|is_duplicate", *rows))
    assert [list(row.values()) for row in read("qqp", own)] == [["a film", "cold", "0"], ["cold", "a film", "1"]]
    message = "3 rows of another width than the header's 6 columns, as this benchmark's file is known to have, left out"
    assert capsys.readouterr().err == f"{own}: {message}; the first in line 3\n"
    other.write_text(tsv("id|question1|question2|is_duplicate", "1|a film|cold|0", "2|a"))
    for task, path, line in (("qqp", other, 3), (None, own, 3)):
        columns = {"text": "question1", "text_pair": "question2", "label": "is_duplicate"}
        with pytest.raises(ValueError, match=rf"{path.name}, line {line}: \d fields"):
            TASK.read(TextClassificationRecipe(task=task, train_files=[str(path)], columns=columns), "train")


@pytest.mark.parametrize("task", CLASSES)
def test_a_task_has_its_classes_whichever_the_data_have(tmp_path: Path, task: str) -> None:
    text = {"text": "a film"} | ({"text_pair": "a fine film"} if task in PAIRS else {})
    labels = [4.5, 0] if task == "stsb" else CLASSES[task][:2]
    recipe = TextClassificationRecipe(task=task, train_rows=[{**text, "label": label} for label in labels])
    data = TASK.read(recipe, "train")
    assert data is not None
    recipe.from_pretrained, recipe.model = str(save_small_bert(tmp_path)), {}
    config = TASK.model(recipe, small_tokenizer(), data).config
    if task == "stsb":
        assert (config.problem_type, config.num_labels) == ("regression", 1)
    else:
        assert list(config.id2label.values()) == CLASSES[task]


def test_the_files_of_the_lectures(shared_data: Path) -> None:
    rows = {
        "cola": ("glue/cola/out_of_domain_dev.tsv", 516),
        "sst2": ("glue/sst2/dev.tsv", 872),
        "mrpc": ("glue/mrpc/validation.jsonl", 500),
        "stsb": ("glue/stsb/dev.jsonl", 1500),
        "qnli": ("glue/qnli/dev.tsv", 5463),
        "rte": ("glue/rte/dev.tsv", 277),
        "wnli": ("glue/wnli/dev.tsv", 71),
        "sst3": ("sst5/dev.jsonl", 1101),
        "sst5": ("sst5/dev.jsonl", 1101),
    }
    for task, (path, count) in rows.items():
        assert len(read(task, shared_data / path)) == count


# The Hub


@pytest.mark.parametrize("task", [task for task in CLASSES if task not in ("sst3", "sst5")])
def test_without_files_the_data_are_those_of_the_hub(monkeypatch: pytest.MonkeyPatch, task: str) -> None:
    texts = HUB_COLUMNS.get(task, ("sentence1", "sentence2") if task in PAIRS else ("sentence",))
    asked = stand_in_hub(monkeypatch, texts, CLASSES[task])
    recipe = TextClassificationRecipe(task=task, predict_split="test", test_split="test")
    data = {part: TASK.read(recipe, part) for part in ("train", "validation", "predict")}
    splits = ["train", "validation", "test"]
    if task == "mnli":
        splits = ["train", *(f"{split}_{kind}" for split in splits[1:] for kind in ("matched", "mismatched"))]
        assert asked.pop()[:3] == ("nyu-mll/glue", "ax", "test"), "the diagnostic rows are predicted too"
    assert [call[2] for call in asked] == splits
    assert {(*call[:2], len(call[3])) for call in asked} == {("nyu-mll/glue", task, 40)}
    assert data["train"].columns["label"] == (CLASSES[task][:2] or [0, 1])
    assert data["predict"].columns["index"][:2] == [11, 7]
    assert "label" not in data["predict"].columns
    where = "split test_matched of nyu-mll/glue" if task == "mnli" else "split test of nyu-mll/glue"
    problem = "label -1.0 of stsb is no number" if task == "stsb" else " has no label"
    with pytest.raises(ValueError, match=rf"{where}, row 1.*{problem}.*; rows without labels are for the verb predict"):
        TASK.read(recipe, "test")
    assert TextClassificationRecipe(**recipe.to_dict()) == recipe, "as a resumed run reads it"


def test_named_data_win_over_the_hub() -> None:
    assert TextClassificationRecipe(task="rte").dataset_name == "nyu-mll/glue"
    for fields in (
        {"train_files": ["a.tsv"]},
        {"train_rows": [{"text": "a", "text_pair": "b", "label": "entailment"}]},
    ):
        assert not TextClassificationRecipe(task="rte", **fields).dataset_name
    mixed = TextClassificationRecipe(task="rte", validation_files=["a.tsv"])
    assert (mixed.dataset_name, mixed.train_split, mixed.validation_split) == ("nyu-mll/glue", "train", "")
    own = TextClassificationRecipe(task="rte", dataset_name="my/rte", dataset_revision="abc", validation_split="dev")
    assert (own.dataset_name, own.dataset_config, own.validation_split) == ("my/rte", None, "dev")


# Measures


def config_of(*names: str) -> Any:
    return small_bert(id2label=dict(enumerate(names)), label2id={name: i for i, name in enumerate(names)}).config


def data_of(*sources: tuple[str, int]) -> Rows:
    return Rows({"text": ["a"] * sum(length for _, length in sources)}, list(sources))


@pytest.mark.parametrize(
    ("task", "keys"),
    [
        ("cola", ["matthews_correlation", "accuracy"]),
        ("mrpc", ["f1", "accuracy"]),
        ("qqp", ["f1", "accuracy"]),
        ("stsb", ["pearson", "spearmanr"]),
        ("mnli", ["accuracy", "accuracy_mismatched"]),
        *((task, ["accuracy"]) for task in ("sst2", "qnli", "rte", "wnli", "sst3", "sst5")),
        (None, ["accuracy", "macro_f1"]),
    ],
)
def test_the_official_measure_is_the_first(task: str | None, keys: list[str]) -> None:
    # Without a benchmark the training data say what labels are.
    recipe = TextClassificationRecipe(task=task, problem_type=None if task else "single_label_classification")
    assert [measure.key for measure in TASK.measures(recipe)] == keys
    scores = TASK.scores(
        config_of(*CLASSES[task or "sst2"] or ["score"]), [0, 1, 1], [0, 1, 0], data_of(("a", 3)), recipe
    )
    assert list(scores) == [key for key in keys if key != "accuracy_mismatched"]


@pytest.mark.parametrize("names", [("not_equivalent", "equivalent"), ("EQUIVALENT", "NOT_EQUIVALENT")])
def test_f1_is_that_of_equivalent_pairs_whatever_their_number(names: tuple[str, str]) -> None:
    right, predicted = np.array([1, 1, 1, 1, 0, 0]), np.array([1, 1, 0, 0, 1, 0])
    order = (lambda values: 1 - values) if names[0] == "EQUIVALENT" else (lambda values: values)
    recipe = TextClassificationRecipe(task="mrpc")
    scores = TASK.scores(config_of(*names), order(predicted).tolist(), order(right).tolist(), data_of(("a", 6)), recipe)
    assert scores == {"f1": pytest.approx(f1_score(right, predicted)), "accuracy": pytest.approx(3 / 6)}
    assert scores["f1"] == pytest.approx(2 * 2 / (3 + 4))


def test_both_sets_of_mnli_are_measured_apart() -> None:
    config, recipe = config_of(*CLASSES["mnli"]), TextClassificationRecipe(task="mnli")
    predictions, labels = [0, 1, 2, 0, 1], [0, 1, 1, 1, 1]
    both = data_of(("dev_matched.tsv", 2), ("dev_mismatched.tsv", 3))
    assert TASK.scores(config, predictions, labels, both, recipe) == {
        "accuracy": 1.0,
        "accuracy_mismatched": pytest.approx(1 / 3),
    }
    elsewhere = data_of(("mismatched/dev_matched.tsv", 2), ("mismatched/dev_mismatched.tsv.gz", 3))
    assert TASK.scores(config, predictions, labels, elsewhere, recipe)["accuracy"] == 1.0
    one = data_of(("dev_mismatched.tsv", 5))
    assert TASK.scores(config, predictions, labels, one, recipe) == {"accuracy": pytest.approx(3 / 5)}


def test_classes_without_names_are_taken_in_the_tasks_order_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"text": "a film", "text_pair": "film", "label": label} for label in ("entailment", "not_entailment")]
    recipe = TextClassificationRecipe(
        task="rte", train_rows=rows, from_pretrained=str(save_small_bert(tmp_path / "unnamed"))
    )
    data = TASK.read(recipe, "train")
    assert data is not None
    model = TASK.model(recipe, small_tokenizer(), data)
    assert list(model.config.id2label.values()) == CLASSES["rte"]
    assert torch.equal(model.classifier.weight, small_bert().classifier.weight)
    told = capsys.readouterr().err
    assert "have no names and are taken in order, LABEL_0 for entailment, LABEL_1 for not_entailment; id2label" in told
    unnamed = AutoModelForSequenceClassification.from_pretrained(tmp_path / "unnamed")
    assert label_ids(unnamed.config, data, recipe) == [0, 1]
    TASK.evaluate(unnamed, small_tokenizer(), data, recipe)
    assert "unnamed have no names and are taken in order, LABEL_0 for entailment" in capsys.readouterr().err
    save_small_bert(tmp_path / "three", num_labels=3)
    recipe = TextClassificationRecipe(task="rte", train_rows=rows, from_pretrained=str(tmp_path / "three"))
    TASK.model(recipe, small_tokenizer(), data)
    assert "three tells apart 3 classes, the data 2: its head starts anew\n" in capsys.readouterr().err


def test_a_saved_model_is_measured_as_its_task_is(tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text(FILES[0][2])
    folder = save_small_bert(tmp_path / "bert", id2label={0: "acceptable", 1: "unacceptable"})
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    facts = measure_file(tmp_path / "dev.tsv", model, small_tokenizer(), {"recipe": {"task": "cola"}})
    assert list(facts["results"]) == ["matthews_correlation", "accuracy", "examples", "classes"]


# Predictions


@pytest.mark.parametrize("task", CLASSES)
def test_predictions_are_written_as_glue_takes_them(tmp_path: Path, task: str) -> None:
    names = CLASSES[task]
    # The model's classes stand in another order than the task's.
    config = config_of(*names[::-1]) if names else config_of("LABEL_0")
    torch.manual_seed(1)
    model = AutoModelForSequenceClassification.from_config(config)
    torch.nn.init.normal_(model.classifier.weight, std=99.0)
    texts = ["a film", "fine film", "a dull film", "cold and long", "warm", "this is a fine one"]
    rows = {"text": texts, "index": [7, 3, 5, 1, 0, 2]} | ({"text_pair": texts[::-1]} if task in PAIRS else {})
    sources = [("test_matched.tsv", 4), ("test_mismatched.tsv", 2)] if task == "mnli" else [("test.tsv", 6)]
    data, recipe = Rows(rows, sources), TextClassificationRecipe(task=task)
    encoded = TASK.encode(model, small_tokenizer(), data, recipe)
    model.classifier.bias.data -= TASK.predict(model, small_tokenizer(), encoded).mean(0)
    logits = TASK.predict(model, small_tokenizer(), encoded)
    numbers = [len(names) - 1 - row.argmax().item() for row in logits]
    if task == "stsb":
        values = [f"{min(max(score.item(), 0), 5):.3f}" for score in logits[:, 0]]
        assert len({"0.000", "5.000"} & set(values)), "one is cut to the range"
    elif task in ("mnli", "qnli", "rte", "sst3", "sst5"):
        values = [names[number] for number in numbers]
    else:
        values = [str(number) for number in numbers]
    assert len(set(values)) > 1, "else the next lines would prove little"
    lines = [f"{index}\t{value}" for index, value in zip(rows["index"], values, strict=True)]
    written = TASK.write_predictions(model, small_tokenizer(), data, recipe, tmp_path)
    expected = {"cola": "CoLA", "sst2": "SST-2", "stsb": "STS-B", "sst3": "predictions", "sst5": "predictions"}
    if task == "mnli":
        assert written == tmp_path
        found = {name: (tmp_path / f"MNLI-{name}.tsv").read_text().splitlines() for name in ("m", "mm")}
        assert found == {"m": ["index\tprediction", *lines[:4]], "mm": ["index\tprediction", *lines[4:]]}
    else:
        assert written.name == f"{expected.get(task, task.upper())}.tsv"
        assert written.read_text().splitlines() == ["index\tprediction", *lines]


@pytest.mark.parametrize("source", ["diagnostic.tsv", "glue/AX.tsv", "split ax/test of nyu-mll/glue"])
def test_the_model_of_mnli_predicts_the_diagnostic_rows(tmp_path: Path, source: str) -> None:
    texts = ["a film", "fine film", "a dull film", "cold and long", "warm", "this is a fine one"]
    rows = {"text": texts, "text_pair": texts[::-1], "index": [0, 1, 0, 1, 0, 1]}
    data = Rows(rows, [("ax/test_matched.tsv", 2), (source, 2), ("test_mismatched.tsv", 2)])
    model = AutoModelForSequenceClassification.from_config(config_of(*CLASSES["mnli"]))
    recipe = TextClassificationRecipe(task="mnli")
    predicted = TASK.predict(model, small_tokenizer(), TASK.encode(model, small_tokenizer(), data, recipe))
    names = [CLASSES["mnli"][number] for number in predicted.argmax(1).tolist()]
    assert TASK.write_predictions(model, small_tokenizer(), data, recipe, tmp_path) == tmp_path
    for number, name in enumerate(("MNLI-m", "AX", "MNLI-mm")):
        first, second = names[2 * number : 2 * number + 2]
        assert (tmp_path / f"{name}.tsv").read_text() == f"index\tprediction\n0\t{first}\n1\t{second}\n"


def test_rows_without_a_number_are_counted_from_0(tmp_path: Path) -> None:
    data = Rows({"text": ["a film", "cold"]}, [("a.tsv", 2)])
    model = small_bert(id2label={0: "bad", 1: "good"})
    written = TASK.write_predictions(model, small_tokenizer(), data, TextClassificationRecipe(), tmp_path)
    assert written.name == "predictions.tsv"
    _, *lines = written.read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["0", "1"]
    assert {line.split("\t")[1] for line in lines} <= {"bad", "good"}


# What cannot be


@pytest.mark.parametrize(
    ("task", "content", "message"),
    [
        (
            "rte",
            tsv("index|sentence1|label", "0|a|entailment"),
            "has no column 'sentence2', only index, sentence1, lab",
        ),
        ("mrpc", tsv("sentence1|label", "a|1"), "no column 'sentence2' or '#2 String', only sentence1, label; `colum"),
        (
            "rte",
            tsv("sentence1|sentence2", "a|b"),
            "no column 'label', .*; rows without labels are for the verb predict",
        ),
        (
            "sst2",
            tsv("sentence|label", "a film|1", "cold|-1"),
            "row 2: label '-1' is none of sst2's, .*predict_files",
        ),
        ("sst5", tsv("sentence|label", "a film|1", "cold|5"), "row 2: label '5' is none of sst5's, .*`label_names.5`"),
        ("mnli", tsv("sentence1|sentence2|gold_label", "a|b|-"), "row 1: label '-' is none of mnli's, 0 .entailment"),
        ("stsb", tsv("sentence1|sentence2|score", "a|b|5.5"), "row 1: label 5.5 of stsb is no number from 0 to 5"),
        ("stsb", tsv("sentence1|sentence2|score", "a|b|-1"), "label -1 of stsb is no .*predict_files"),
        ("stsb", tsv("sentence1|sentence2|score", "a|b|much"), "row 1: label is 'much', no number"),
        ("cola", tsv("gj04|1|a film"), "line 1 names none of the columns source, label, mark, sentence, .* 3 columns"),
        ("cola", tsv("gj04|1||a film", "gj04|-1||cold"), "row 2: label '-1' is none of cola's"),
        ("cola", tsv("text|label", "a film|1"), "has no column 'sentence', only text, label"),
    ],
)
def test_bad_files_are_named_with_the_way_out(tmp_path: Path, task: str, content: str, message: str) -> None:
    (tmp_path / "dev.tsv").write_text(content)
    with pytest.raises(ValueError, match=rf"dev\.tsv.*{message}"):
        read(task, tmp_path / "dev.tsv", "validation")


def test_hidden_labels_are_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text(tsv("idx|sentence|label", "4|a film|-1", "6|cold|nonsense"))
    rows = read("sst2", tmp_path / "test.tsv", "predict")
    assert rows[:] == [{"text": "a film", "index": "4"}, {"text": "cold", "index": "6"}]
    (tmp_path / "test.tsv").write_text(tsv("index|sentence", "0|a film"))
    assert read("cola", tmp_path / "test.tsv", "predict")[:] == [{"text": "a film", "index": "0"}]
    (tmp_path / "test.tsv").write_text(tsv("id|question1|question2", "8|a film|cold"))
    assert read("qqp", tmp_path / "test.tsv", "predict")[:] == [{"text": "a film", "text_pair": "cold", "index": "8"}]


def test_every_task_is_tested() -> None:
    assert set(benchmarks_of("text_classification")) == set(CLASSES)
