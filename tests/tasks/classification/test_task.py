# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Classifiers of texts: labels from the data, losses and accuracies as an independent loop has them."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import classification_report
from tokenizers import processors
from torch.nn import functional as F
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertModel, pipeline

from benchmarks.records import record
from hf_lecture_models import RecurrentConfig, RecurrentForSequenceClassification
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.tasks.classification.defaults import note_pairs_of_bag
from hf_lecture_models.tasks.classification.labels import class_names, label_ids
from hf_lecture_models.tasks.classification.measures import measures_by_class
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe
from hf_lecture_models.trainer.batches import RowShard
from tests.tasks.small_classifier import ROWS, save_small_bert, small_bert, small_tokenizer
from tests.tasks.task_tests import HeadTaskTests, descend, train

TASK = TextClassification()
NUMBERS = [{"text": row["text"], "label": 4.5 - 3 * row["label"] + index / 10} for index, row in enumerate(ROWS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_bert(tmp_path_factory.mktemp("bert"))


def recipe(**fields: Any) -> TextClassificationRecipe:
    defaults: dict[str, Any] = {"train_rows": ROWS, "epochs": 2, "batch_size": 4, "optimizer": "sgd", "clip_norm": None}
    return TextClassificationRecipe(**(defaults | {"learning_rate": 0.1} | fields))


def logits_of(model: Any, chosen: TextClassificationRecipe, part: str = "train", **options: Any) -> torch.Tensor:
    tokenizer = small_tokenizer(**options)
    return TASK.predict(model, tokenizer, TASK.encode(model, tokenizer, TASK.read(chosen, part), chosen))


# Training and evaluation beside a loop of our own


def loss_of(model: Any, row: dict[str, Any]) -> tuple[torch.Tensor, int]:
    """-ln P(label), or the squared error of a number."""
    logits = model(**small_tokenizer()(row["text"], row.get("text_pair"), return_tensors="pt")).logits[0]
    if len(logits) == 1:
        return (logits[0] - row["label"]) ** 2, 1
    return -F.log_softmax(logits, 0)[row["label"]], 1


class TestTextClassification(HeadTaskTests):
    task = TASK
    savers = {"bert": save_small_bert}
    rows = ROWS[:10]
    items = 10

    def loss_of(self, model: Any, unit: Any) -> tuple[torch.Tensor, int]:
        return loss_of(model, unit)


def test_numbers_are_learned_by_squared_errors_and_measured_by_correlation(tmp_path: Path, folder: Path) -> None:
    chosen = recipe(
        train_rows=NUMBERS,
        validation_rows=NUMBERS,
        from_pretrained=str(folder),
        problem_type="regression",
        log_every=1,
        learning_rate=0.01,
    )
    expected = TASK.model(chosen, small_tokenizer(), TASK.read(chosen, "train"))
    result, model = train(TASK, chosen, tmp_path)
    assert (model.config.num_labels, model.config.problem_type) == (1, "regression")
    losses = descend(expected, NUMBERS, loss_of, chosen)
    found = [row["loss"] for row in result.history if "loss" in row]
    assert found == pytest.approx(losses, rel=1e-4)
    kept = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    predictions = logits_of(kept, chosen, "validation")[:, 0].numpy()
    labels = [row["label"] for row in NUMBERS]
    assert result.best_metric == pytest.approx(np.corrcoef(predictions, labels)[0, 1], abs=1e-6)


def test_predictions_and_accuracy_are_those_of_single_texts(folder: Path) -> None:
    chosen = recipe(validation_rows=ROWS)
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder), small_tokenizer()
    data = TASK.read(chosen, "validation")
    with torch.no_grad():
        expected = torch.cat([model(**tokenizer(row["text"], return_tensors="pt")).logits for row in ROWS])
    torch.testing.assert_close(logits_of(model, chosen, "validation"), expected, rtol=1e-4, atol=1e-5)
    right = sum(int(logits.argmax()) == row["label"] for logits, row in zip(expected, ROWS, strict=True))
    assert 0 < right < len(ROWS), "else the next line would prove little"
    measured = TASK.evaluate(model, tokenizer, data, chosen)
    assert (measured["accuracy"], measured["examples"]) == (right / len(ROWS), len(ROWS))
    predictions, labels = [int(logits.argmax()) for logits in expected], [row["label"] for row in ROWS]
    scores = classification_report(labels, predictions, output_dict=True, zero_division=0)
    assert measured["macro_f1"] == pytest.approx(scores["macro avg"]["f1-score"])
    for name, own in measured["classes"].items():
        theirs = scores[name.removeprefix("LABEL_")]
        assert [own[key] for key in ("precision", "recall", "f1", "examples")] == pytest.approx(
            [theirs[key] for key in ("precision", "recall", "f1-score", "support")]
        )
        assert sum(own["predicted"].values()) == own["examples"]
    assert not model.training


def test_the_first_text_of_a_pair_is_told_from_the_second(tmp_path: Path, folder: Path) -> None:
    rows = [
        {"text": a["text"], "text_pair": b["text"], "label": a["label"]} for a, b in zip(ROWS, ROWS[3:], strict=False)
    ]
    chosen = recipe(train_rows=rows, from_pretrained=str(folder), epochs=1, log_every=1)
    result, _ = train(TASK, chosen, tmp_path)
    losses = descend(small_bert(), rows, loss_of, chosen)
    assert [row["loss"] for row in result.history] == pytest.approx(losses, rel=1e-4)
    assert json.loads((tmp_path / "task.json").read_text())["pairs"]


# Classes


def rows_of(labels: list[Any]) -> Rows:
    return Rows({"text": ["a"] * len(labels), "label": labels}, [("data.tsv", len(labels))])


@pytest.mark.parametrize(
    ("labels", "names", "expected"),
    [
        ([1, 0, 10, 2], {}, ["0", "1", "2", "10"]),
        (["b", "a"], {}, ["a", "b"]),
        ([1, -1, 0], {-1: "bad", 0: "so so", 1: "good"}, ["bad", "so so", "good"]),
        (["0", "1", "2"], {1: "joined", 2: "joined"}, ["0", "joined"]),
        ([True, False], {}, ["False", "True"]),
    ],
)
def test_classes_are_those_of_the_data(labels: list[Any], names: dict[Any, str], expected: list[str]) -> None:
    assert class_names(rows_of(labels), recipe(label_names=names).label_names) == expected


def test_a_new_model_knows_the_names(tmp_path: Path) -> None:
    names = {"0": "good", "1": "bad"}
    chosen = recipe(label_names=names, model={"model_type": "distilbert", "dim": 8, "n_layers": 1, "n_heads": 2})
    train(TASK, chosen, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["id2label"] == {"0": "good", "1": "bad"}
    assert config["label2id"] == {"good": 0, "bad": 1}
    classify = pipeline("text-classification", model=str(tmp_path))
    assert classify("a fine film")[0]["label"] in names.values()
    assert json.loads((tmp_path / "task.json").read_text())["classes"] == ["good", "bad"]


def test_a_checkpoint_keeps_its_order_of_classes(tmp_path: Path) -> None:
    save_small_bert(tmp_path / "bert", id2label={0: "POSITIVE", 1: "NEGATIVE"}, label2id={"POSITIVE": 0, "NEGATIVE": 1})
    chosen = recipe(label_names={0: "negative", 1: "positive"}, from_pretrained=str(tmp_path / "bert"))
    data = TASK.read(chosen, "train")
    model = TASK.model(chosen, small_tokenizer(), data)
    assert model.config.id2label == {0: "POSITIVE", 1: "NEGATIVE"}
    assert label_ids(model.config, data, chosen)[:4] == [1, 0, 1, 0]
    assert torch.equal(model.classifier.weight, small_bert().classifier.weight)
    others = recipe(label_names={0: "ham", 1: "spam"}, from_pretrained=str(tmp_path / "bert"))
    with pytest.raises(
        ValueError, match="bert tells apart POSITIVE, NEGATIVE, the data ham, spam; `label_names.LABEL`"
    ):
        TASK.model(others, small_tokenizer(), data)


def test_a_head_of_another_size_starts_anew_and_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*ROWS, {"text": "film", "label": 2}]
    chosen = recipe(train_rows=rows, from_pretrained=str(folder))
    data = TASK.read(chosen, "train")
    model = TASK.model(chosen, small_tokenizer(), data)
    assert model.config.num_labels == model.classifier.out_features == 3
    assert "start anew: classifier.bias, classifier.weight\n" in capsys.readouterr().err
    again = TASK.model(chosen, small_tokenizer(), data)
    assert torch.equal(model.classifier.weight, again.classifier.weight), "the seed of the recipe"
    assert torch.equal(
        model.bert.embeddings.word_embeddings.weight, small_bert().bert.embeddings.word_embeddings.weight
    )


def test_a_model_without_a_head_gets_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    BertModel(small_bert().config).save_pretrained(tmp_path)
    small_tokenizer().save_pretrained(tmp_path)
    chosen = recipe(from_pretrained=str(tmp_path))
    TASK.model(chosen, AutoTokenizer.from_pretrained(tmp_path), TASK.read(chosen, "train"))
    assert "start anew: classifier.bias, classifier.weight\n" in capsys.readouterr().err


# What cannot be


@pytest.mark.parametrize(
    ("labels", "fields", "message"),
    [
        ([0, None], {}, r"data.tsv, row 2 has no label"),
        ([0, " "], {}, r"data.tsv, row 2 has no label"),
        ([0, 0.5], {}, r"data.tsv, row 2: label is 0.5, no class; problem_type regression in a recipe learns numbers"),
        ([0.0, 1.0, 0.5], {}, r"data.tsv, row 3: label is 0.5, no class"),
        ([0.0, 1.0], {}, r"data.tsv, row 1: label is 0.0, no class"),
        ([0.0, [1]], {}, r"data.tsv, row 2: label is \[1\], a list and not a class"),
        ([1, 1], {}, r"data.tsv: all labels are '1'"),
        (
            ["0", "0.5"],
            {},
            r"data.tsv, row 2: label is '0.5', no class; problem_type regression in a recipe learns numbers",
        ),
    ],
)
def test_labels_that_are_no_classes(labels: list[Any], fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        class_names(rows_of(labels), recipe(**fields).label_names)


def test_classes_are_listed_and_twins_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A blank behind a label once made a class of its own, and nothing said so."""
    assert class_names(rows_of(["pos", "neg", "pos ", "Neg", "neg"]), {}) == ["Neg", "neg", "pos", "pos "]
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "4 classes in data.tsv: Neg (1), neg (2), pos (1), pos  (1)"
    assert [line.split(" are two classes")[0] for line in told[1:]] == [
        "warning: 'Neg' and 'neg'",
        "warning: 'pos' and 'pos '",
    ]
    assert told[2].endswith("label_names: {'pos ': 'pos'} in the recipe makes one of them")
    assert class_names(rows_of(["pos", "neg", "pos "]), {"pos ": "pos"}) == ["neg", "pos"]
    assert capsys.readouterr().err == "2 classes in data.tsv: neg (1), pos (2)\n"
    class_names(rows_of(list(map(str, range(40)))), {})
    assert capsys.readouterr().err.endswith("28 (1), 29 (1) and 10 more\n")


def test_labels_keep_their_spelling(tmp_path: Path) -> None:
    """`01` once became 1."""
    (tmp_path / "a.tsv").write_text("text\tlabel\n1984\t01\n2001\t1\n")
    rows = TASK.read(TextClassificationRecipe(train_files=[str(tmp_path / "a.tsv")]), "train")
    assert rows is not None
    assert rows.texts("text") == ["1984", "2001"]
    assert class_names(rows, {}) == ["01", "1"]


def test_scores_of_a_table_are_converted_late(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("text\tlabel\na\t0.5\nb\t-2\nc\tmuch\n")
    chosen = TextClassificationRecipe(train_files=[str(tmp_path / "a.tsv")], problem_type="regression")
    rows = TASK.read(chosen, "train")
    with pytest.raises(ValueError, match=r"a.tsv, row 3: label is 'much', no number"):
        label_ids(None, rows, chosen)
    rows.columns["label"][2] = "7"
    assert label_ids(None, rows, chosen) == [0.5, -2.0, 7.0]


def test_labels_that_the_model_does_not_know() -> None:
    config = small_bert(id2label={0: "bad", 1: "good"}, label2id={"bad": 0, "good": 1}).config
    with pytest.raises(
        ValueError, match=r"data.tsv, row 2: label 'fair' is none of the model's classes, bad, good; `label_names.fair`"
    ):
        label_ids(config, rows_of(["bad", "fair"]), recipe())
    assert label_ids(config, rows_of(["bad", "fair"]), recipe(label_names={"fair": "good"})) == [0, 1]
    with pytest.raises(ValueError, match=r"data.tsv, row 2 has no label; rows without labels are for the verb predict"):
        label_ids(config, rows_of(["bad", ""]), recipe())
    with pytest.raises(ValueError, match=r"row 1: label '-1' is none of the model's .* without labels .*predict_files"):
        label_ids(config, rows_of([-1]), recipe())
    with pytest.raises(ValueError, match=r"data.tsv, row 1: label is 'much', no number"):
        label_ids(config, rows_of(["much"]), recipe(problem_type="regression"))
    with pytest.raises(ValueError, match=r"label is nan, no number"):
        label_ids(config, rows_of([math.nan]), recipe(problem_type="regression"))


def test_too_long_texts_are_an_error_or_cut(folder: Path) -> None:
    rows = [*ROWS, {"text": "film " * 20, "label": 0}]
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    for fields, message in (
        ({}, r"the recipe's train_rows, row 13 has 22 tokens, more .* longest input; `max_length` 16 cuts"),
        ({"max_length": 17}, "`max_length` 17 is more than the model's longest input, 16 tokens"),
    ):
        chosen = recipe(train_rows=rows, **fields)
        with pytest.raises(ValueError, match=message):
            logits_of(model, chosen)
    chosen = recipe(train_rows=rows, max_length=8)
    cut = logits_of(model, chosen)[-1]
    with torch.no_grad():
        expected = model(**small_tokenizer()("film " * 6, return_tensors="pt")).logits[0]
    torch.testing.assert_close(cut, expected, rtol=1e-4, atol=1e-5)


def test_of_a_pair_that_is_too_long_the_longer_text_is_cut_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"text": "film " * 9, "text_pair": "a warm one that is fine", "label": 0}]
    rows.append({"text": "a film", "text_pair": "fine", "label": 1})
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = small_tokenizer()

    def tokens(**fields: Any) -> list[str]:
        chosen = recipe(train_rows=rows, **fields)
        example = TASK.encode(model, tokenizer, TASK.read(chosen, "train"), chosen).inputs[0]
        return tokenizer.convert_ids_to_tokens(example["input_ids"])

    with pytest.raises(ValueError, match="row 1 has 18 tokens, more than the model's longest input; `max_length` 16"):
        tokens()
    assert capsys.readouterr().err == ""
    kept = ["a", "warm", "one", "that", "is", "fine"]
    assert tokens(max_length=15) == ["[CLS]", *["film"] * 6, "[SEP]", *kept, "[SEP]"]
    told = capsys.readouterr().err
    assert told == "the recipe's train_rows: 1 of 2 rows are longer than max_length and are cut\n"
    assert tokens(max_length=11) == ["[CLS]", *["film"] * 4, "[SEP]", *kept[:4], "[SEP]"]


def test_empty_texts_are_read_where_a_template_gives_them_tokens(folder: Path) -> None:
    rows = [{"text": "a film", "label": 0}, {"text": "", "label": 1}]
    chosen = recipe(train_rows=rows)
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.no_grad():
        expected = model(**small_tokenizer()("", return_tensors="pt")).logits[0]
    torch.testing.assert_close(logits_of(model, chosen)[1], expected, rtol=1e-4, atol=1e-5)
    bare = small_tokenizer()
    bare.backend_tokenizer.post_processor = processors.Sequence([])
    with pytest.raises(ValueError, match="train_rows, row 2 has no token, its text is ''; leave it out"):
        TASK.encode(model, bare, TASK.read(chosen, "train"), chosen)


def test_pairs_that_no_token_parts_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As of GPT-2, whose tokenizer joins two texts without a sign."""
    rows = [{"text": "a film", "text_pair": text, "label": index} for index, text in enumerate(("warm", "cold"))]
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    bare = small_tokenizer(model_input_names=["input_ids", "attention_mask"])
    bare.backend_tokenizer.post_processor = processors.Sequence([])
    for tokenizer, is_told in ((small_tokenizer(), False), (bare, True)):
        chosen = recipe(train_rows=rows)
        TASK.batches(model, tokenizer, TASK.read(chosen, "train"), chosen)
        told = capsys.readouterr().err
        assert ("the tokenizer puts nothing between the two texts of a pair, which are read as one" in told) == is_told


def test_pairs_that_a_bag_of_words_reads_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"text": "a film", "text_pair": text, "label": index} for index, text in enumerate(("warm", "cold"))]
    for fields, is_told in (({}, True), ({"problem_type": "regression"}, False)):
        chosen = TextClassificationRecipe(train_rows=rows, **fields)
        data = TASK.read(chosen, "train")
        tokenizer = TASK.processor(chosen, data)
        TASK.batches(TASK.model(chosen, tokenizer, data), tokenizer, data, chosen)
        assert ("a bag of words reads the two texts of a pair as one" in capsys.readouterr().err) == is_told


def test_the_line_on_pairs_has_the_figures_of_the_records(capsys: pytest.CaptureFixture[str]) -> None:
    note_pairs_of_bag()
    told = capsys.readouterr().err
    rte = record("own_data", "cases", "rte")
    measured = rte["programs"]["hf-lecture"]["accuracy"], rte["trivial"]["accuracy"]
    for share in (*measured, record("fine_tuning", "cells", "MiniLM", "RTE", "mean")):
        assert f" {100 * share:.1f}" in told


def test_a_new_classifier_reads_small_letters_and_punctuation() -> None:
    rows = [{"text": "A fine film!", "label": "good"}, {"text": "Dull, dull.", "label": "bad"}]
    chosen = TextClassificationRecipe(train_rows=rows)
    data = TASK.read(chosen, "train")
    tokenizer = TASK.processor(chosen, data)
    assert tokenizer.tokenize("DULL film, a Film") == ["dull", "film", ",", "a", "film"]
    model = TASK.model(chosen, tokenizer, data)
    assert (model.config.model_type, model.config.hidden_sizes, model.config.dropout) == (
        "lecture_bag_of_words",
        [64],
        0.5,
    )
    assert chosen.learning_rate == 1e-3


def test_another_tokenizer_or_model_takes_no_part_of_the_default() -> None:
    """As `--tokenizer.type char` and `--model.model_type lecture_recurrent` in the terminal."""
    values = {"train_rows": ROWS, "tokenizer.type": "char", "model.model_type": "lecture_recurrent"}
    chosen = load_recipe(None, values, recipe_class=TextClassificationRecipe)
    assert (chosen.tokenizer, chosen.model) == ({"type": "char"}, {"model_type": "lecture_recurrent"})
    kept = load_recipe(None, {"train_rows": ROWS, "tokenizer.min_count": 2}, recipe_class=TextClassificationRecipe)
    assert kept.tokenizer == {"type": "word", "lower_case": True, "split_punctuation": True, "min_count": 2}


def test_a_model_of_pairs_wants_two_texts_and_their_types() -> None:
    config = RecurrentConfig(vocab_size=len(small_tokenizer()), hidden_size=4, num_labels=2, pair_combination="sum")
    model = RecurrentForSequenceClassification(config)
    pairs = [{"text": "a film", "text_pair": text, "label": 0} for text in ("a fine film", "a dull film")]
    for rows, names, message in (
        (
            ROWS,
            ["input_ids", "token_type_ids", "attention_mask"],
            "train_rows has no column text_pair, .* `columns.text_pair` says which one it is",
        ),
        (
            pairs,
            ["input_ids", "attention_mask"],
            r"which token is of which \(token_type_ids\): tokenizer.template pair in a recipe",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            logits_of(model, recipe(train_rows=rows), model_input_names=names)
    apart = logits_of(model, recipe(train_rows=pairs))
    assert not torch.allclose(apart[0], apart[1])


def test_a_folder_without_weights_of_ours_is_refused(tmp_path: Path) -> None:
    small_bert().config.save_pretrained(tmp_path)
    small_tokenizer().save_pretrained(tmp_path)
    from safetensors.torch import save_file

    save_file({"other": torch.zeros(2)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    chosen = recipe(from_pretrained=str(tmp_path))
    with pytest.raises(ValueError, match="holds no weight of BertForSequenceClassification"):
        TASK.model(chosen, small_tokenizer(), TASK.read(chosen, "train"))


def test_rows_of_heavier_classes_count_more(tmp_path: Path, folder: Path) -> None:
    """The loss is the mean over a step's rows of w_y times -ln P(y), and its gradient, however the step is cut."""
    weights = {"0": 3.0}
    chosen = recipe(class_weights=weights, from_pretrained=str(folder), epochs=1, batch_size=12, accumulation_steps=3)
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder), small_tokenizer()
    data = TASK.read(chosen, "train")
    model.config.id2label, model.config.label2id = {0: "0", 1: "1"}, {"0": 0, "1": 1}
    batches = TASK.batches(model.eval(), tokenizer, data, chosen)
    batches.set_shard(RowShard(12, accumulation_steps=3))
    losses = [batch.loss_of(model(**batch.inputs)) * batch.num_items for batch in batches.next_step()]
    encoded = TASK.encode(model, tokenizer, data, chosen)
    nats = -torch.log_softmax(TASK.predict(model, tokenizer, encoded), 1)
    expected = sum((3.0 if label == 0 else 1.0) * nats[row, label] for row, label in enumerate(encoded.labels))
    torch.testing.assert_close(sum(losses).detach(), expected, rtol=1e-4, atol=1e-5)


def test_names_with_dots_are_names() -> None:
    overrides = {"class_weights.U.S. news": 2.0, "label_names.a.b": "c.d", "model.hidden_sizes": [3]}
    chosen = load_recipe(None, overrides, recipe_class=TextClassificationRecipe)
    assert (chosen.class_weights, chosen.label_names) == ({"U.S. news": 2.0}, {"a.b": "c.d"})
    assert chosen.model["hidden_sizes"] == [3]
    with pytest.raises(ValueError, match='put a name such as "no" or "yes" into quotes'):
        recipe(class_weights={False: 2.0})


def test_figures_of_classes_where_nothing_is_right_or_names_are_equal() -> None:
    found = measures_by_class([1, 1, 0], [0, 0, 1], ["a", "b"])
    assert (found["macro_f1"], str(found["classes"]["a"]["examples"])) == (0.0, "2")
    found = measures_by_class([0, 1, 2], [0, 1, 1], ["x", "x", "y"])
    assert list(found["classes"]) == ["x (0)", "x (1)", "y (2)"]
    assert found["classes"]["x (1)"]["predicted"] == {"x (0)": 0, "x (1)": 1, "y (2)": 1}
    assert found["macro_f1"] == pytest.approx((1 + 2 / 3 + 0) / 3)
