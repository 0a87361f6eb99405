# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Taggers: labels and measures of words, and losses as an independent loop has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from seqeval.metrics.sequence_labeling import get_entities
from torch.nn import functional as F
from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.tagging.sentences import encode_sentences
from hf_lecture_models.tasks.tagging.task import (
    TokenClassification,
    TokenClassificationRecipe,
    read_tags,
    tag_names,
)
from tests.tasks.small_tagger import (
    ROWS,
    TAGS,
    save_small_bert,
    save_small_lstm,
    small_bert,
    small_tokenizer,
    write_conll,
)
from tests.tasks.task_tests import HeadTaskTests, train

TASK = TokenClassification()
WORDS = sum(len(row["tokens"]) for row in ROWS)


@pytest.fixture(scope="module", params=[save_small_bert, save_small_lstm], ids=["bert", "lstm"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return request.param(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_bert(tmp_path_factory.mktemp("bert"))


def recipe(**fields: Any) -> TokenClassificationRecipe:
    defaults: dict[str, Any] = {"train_rows": ROWS, "epochs": 2, "batch_size": 4, "optimizer": "sgd", "clip_norm": None}
    return TokenClassificationRecipe(**(defaults | {"learning_rate": 0.1, "scheme": "entities"} | fields))


def read(rows: list[dict[str, Any]], **fields: Any) -> Rows:
    data = TASK.read(recipe(train_rows=rows, **fields), "train")
    assert data is not None
    return data


def word_logits(model: Any, row: dict[str, Any]) -> torch.Tensor:
    """The logits at the first piece of each word, one sentence alone, found by transformers' own alignment."""
    encoded = small_tokenizer()(row["tokens"], is_split_into_words=True, return_tensors="pt")
    places = encoded.word_ids()
    logits = model(encoded["input_ids"]).logits[0]
    return torch.stack([logits[places.index(word)] for word in range(len(row["tokens"]))])


# Training and evaluation beside a loop of our own


class TestTokenClassification(HeadTaskTests):
    """The LSTM's tokenizer pads on the left; its labels must be there too."""

    task = TASK
    savers = {"bert": save_small_bert, "lstm": save_small_lstm}
    rows = ROWS
    items = WORDS

    def recipe(self, **fields: Any) -> Any:
        return super().recipe(**{"scheme": "entities", **fields})

    def loss_of(self, model: Any, unit: Any) -> tuple[torch.Tensor, int]:
        ids = torch.tensor([TAGS.index(tag) for tag in unit["tags"]])
        return F.cross_entropy(word_logits(model, unit), ids, reduction="sum"), len(ids)

    def ids_of(self, encoded: Any) -> list[list[int]]:
        return [sentence.inputs["input_ids"] for sentence in encoded]


@torch.no_grad()
def test_measures_are_those_of_single_sentences(folder: Path) -> None:
    model, tokenizer = AutoModelForTokenClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    data = read(ROWS)
    expected = [word_logits(model, row).argmax(-1).tolist() for row in ROWS]
    found = TASK.predict(model, tokenizer, TASK.encode(model, tokenizer, data, recipe()))
    assert [[tag for tag, _ in row] for row in found] == expected
    named = [[TAGS[tag] for tag in row] for row in expected]
    hits = sum(a == b for row, tags in zip(ROWS, named, strict=True) for a, b in zip(row["tags"], tags, strict=True))
    assert 0 < hits < WORDS, "else the next line would prove little"
    plain = recipe(scheme="plain")
    counts = {"words": WORDS, "unread_words": 0, "sentences": len(ROWS)}
    assert TASK.evaluate(model, tokenizer, data, plain) == {"accuracy": pytest.approx(hits / WORDS), **counts}
    pairs = [(set(get_entities(tags)), set(get_entities(row["tags"]))) for row, tags in zip(ROWS, named, strict=True)]
    found, predicted, there = (sum(map(len, sets)) for sets in ([a & b for a, b in pairs], *zip(*pairs, strict=True)))
    measured = TASK.evaluate(model, tokenizer, data, recipe())
    assert list(measured) == ["f1", "precision", "recall", "accuracy", *counts]
    assert measured["precision"] == pytest.approx(found / predicted)
    assert measured["recall"] == pytest.approx(found / there)
    assert not model.training


def test_a_new_model_knows_the_names(tmp_path: Path) -> None:
    model = {"model_type": "distilbert", "dim": 8, "n_layers": 1, "n_heads": 2}
    train(TASK, recipe(model=model, scheme="plain"), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert list(config["id2label"].values()) == TAGS
    assert config["label2id"] == {tag: index for index, tag in enumerate(TAGS)}
    tagged = pipeline("token-classification", model=str(tmp_path), ignore_labels=[])("Ada met zebras")
    assert [entry["word"] for entry in tagged] == ["Ada", "met", "zebras"]
    assert {entry["entity"] for entry in tagged} <= set(TAGS)
    described = json.loads((tmp_path / "task.json").read_text())
    assert (described["classes"], described["scheme"]) == (TAGS, "plain")


def test_a_new_bert_reads_its_template() -> None:
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    chosen, data = recipe(model={"model_type": "lecture_bert", **shape}), read(ROWS)
    tokenizer = TASK.processor(chosen, data)
    model = TASK.model(chosen, tokenizer, data)
    (sentence, *_) = encode_sentences(model, tokenizer, data)
    assert tokenizer.convert_ids_to_tokens(sentence.inputs["input_ids"]) == ["[CLS]", *ROWS[0]["tokens"], "[SEP]"]
    assert "token_type_ids" in sentence.inputs
    assert sentence.first_tokens == list(range(1, 8))
    assert set(TASK.evaluate(model, tokenizer, data, chosen)) >= {"f1", "accuracy"}


def test_numbers_have_the_names_that_the_recipe_gives() -> None:
    rows = [{"tokens": ["a", "b", "c"], "tags": [10, 0, 2]}]
    chosen = recipe(label_names={0: "O", 10: "B-X"}, scheme="plain")
    assert tag_names(read(rows), chosen) == ["O", "2", "B-X"]


# Tags


def test_a_checkpoint_keeps_its_tags_where_it_has_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["O", "I-PER", "B-PER", "I-LOC", "B-LOC", "B-MISC"]
    ids = {"id2label": dict(enumerate(names)), "label2id": {name: index for index, name in enumerate(names)}}
    chosen = recipe(from_pretrained=str(save_small_bert(tmp_path / "bert", **ids)))
    data = read(ROWS)
    model = TASK.model(chosen, small_tokenizer(), data)
    assert list(model.config.id2label.values()) == names
    assert torch.equal(model.classifier.weight, small_bert(**ids).classifier.weight)
    batch = TASK.batches(model, small_tokenizer(), data, recipe(batch_size=10)).next_step()[0]
    assert sorted(batch.inputs["labels"][batch.inputs["labels"] != -100].tolist()) == sorted(
        names.index(tag) for row in ROWS for tag in row["tags"]
    )
    assert capsys.readouterr().err.startswith("5 classes in the recipe's train_rows: B-LOC (9), B-PER (9)")


def test_a_checkpoint_of_other_tags_is_refused(tmp_path: Path) -> None:
    names = ["O", "B-per", "I-per", "B-loc", "I-loc"]
    ids = {"id2label": dict(enumerate(names)), "label2id": {name: index for index, name in enumerate(names)}}
    chosen = recipe(from_pretrained=str(save_small_bert(tmp_path / "bert", **ids)))
    with pytest.raises(ValueError, match="bert tells apart O, B-per, .*, the data B-LOC, .*; `label_names.TAG` gives"):
        TASK.model(chosen, small_tokenizer(), read(ROWS))
    renamed = recipe(
        from_pretrained=chosen.from_pretrained, label_names={tag: f"{tag[:2]}{tag[2:].lower()}" for tag in TAGS}
    )
    assert list(TASK.model(renamed, small_tokenizer(), read(ROWS)).config.id2label.values()) == names


def test_tags_that_look_like_entities_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    tag_names(read(ROWS), recipe(scheme="plain"))
    assert capsys.readouterr().err.endswith(
        "all tags are parts of entities; `scheme` entities measures entities in place of words\n"
    )
    tag_names(read([{"tokens": ["a", "b"], "tags": ["O", "NOUN"]}]), recipe(scheme="plain"))
    assert capsys.readouterr().err == "2 classes in the recipe's train_rows: NOUN (1), O (1)\n"


# Tasks by name, and predictions


def test_named_tasks_know_their_columns_and_tags(tmp_path: Path, shared_data: Path) -> None:
    for task, path, scheme, tags in (
        ("ewt", "ud_english_ewt/dev.jsonl", "plain", {"NOUN", "PUNCT"}),
        ("ewt", "ud_english_ewt/en_ewt-ud-dev.conllu.gz", "plain", {"NOUN", "PUNCT"}),
        ("wnut17", "wnut17/dev.jsonl", "entities", {"O", "B-creative-work"}),
    ):
        chosen = TokenClassificationRecipe(task=task, train_files=[str(shared_data / path)])
        data = TASK.read(chosen, "train")
        assert data is not None
        assert chosen.scheme == scheme
        assert len(data) == (2001 if task == "ewt" else 1009)
        assert tags <= set(tag_names(data, chosen))
    assert chosen.column_aliases("tokens") == ("tokens",)
    assert TokenClassificationRecipe(task="ewt", columns={"tags": "xpos"}).column_aliases("tags") == ["xpos"]


@pytest.mark.parametrize("has_names", [True, False])
def test_wnut_is_read_from_the_hub(monkeypatch: pytest.MonkeyPatch, has_names: bool) -> None:
    import datasets

    names = ["O", "B-corporation", "I-corporation", "B-creative-work"]
    tags = datasets.ClassLabel(names=names) if has_names else datasets.Value("int64")
    features = datasets.Features({"tokens": datasets.List(datasets.Value("string")), "ner_tags": datasets.List(tags)})
    table = datasets.Dataset.from_dict({"tokens": [["Acme", "Inc", "!"]], "ner_tags": [[1, 2, 0]]}, features=features)
    asked: list[tuple[Any, ...]] = []

    def load_dataset(name: str, config: str | None, **options: Any) -> Any:
        asked.append((name, options["split"]))
        return table

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    chosen = TokenClassificationRecipe(task="wnut17")
    data = TASK.read(chosen, "validation")
    assert data is not None
    assert asked == [("leondz/wnut_17", "validation")]
    read_as = [chosen.label_names.get(tag, tag) for tag in data.columns["tags"][0]]
    assert read_as == ["B-corporation", "I-corporation", "O"]
    assert tag_names(data, chosen)[:4] == names, "all that the task has, in its order"
    assert len(tag_names(data, chosen)) == 13
    assert TokenClassificationRecipe(**chosen.to_dict()) == chosen, "as a resumed run reads it"


@pytest.mark.parametrize("suffix", [".jsonl", ".conll"])
def test_sentences_without_tags_get_them(tmp_path: Path, bert: Path, suffix: str) -> None:
    rows = [{"tokens": ["Ada", "met", "Berlin"]}, {"tokens": ["London", "lives"]}]
    path = tmp_path / f"test{suffix}"
    lines = ["\n".join([*row["tokens"], ""]) if suffix == ".conll" else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    chosen = recipe(from_pretrained=str(bert), predict_files=[str(path)], epochs=1, output_dir=str(tmp_path / "out"))
    outcome = train_and_test(TASK, chosen)
    assert outcome.predictions == tmp_path / "out" / "predictions" / "predictions.conll"
    model = AutoModelForTokenClassification.from_pretrained(tmp_path / "out")
    expected = [[TAGS[tag] for tag in word_logits(model, row).argmax(-1).tolist()] for row in rows]
    sentences = [
        "".join(f"{word}\t{tag}\n" for word, tag in zip(row["tokens"], tags, strict=True))
        for row, tags in zip(rows, expected, strict=True)
    ]
    assert outcome.predictions.read_text() == "\n".join(sentences) + "\n"
    for scheme, tag in (("plain", "_"), ("entities", "O")):
        cut = recipe(scheme=scheme, max_length=4)
        TASK.write_predictions(model, small_tokenizer(), TASK.read(chosen, "predict"), cut, tmp_path)
        assert (tmp_path / "predictions.conll").read_text().splitlines()[2] == f"Berlin\t{tag}"
    with pytest.raises(
        ValueError, match=rf"test{suffix}.*" + ("a word and its tag" if suffix == ".conll" else "no colu")
    ):
        TASK.read(recipe(validation_files=[str(path)]), "validation")


# What cannot be


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"tokens": ["a", "b"], "tags": ["O"]}, r"train_rows, row 2 has 2 words and 1 tags"),
        ({"tokens": [], "tags": []}, r"train_rows, row 2 has no word; leave it out"),
        ({"tokens": ["a", " "], "tags": ["O", "O"]}, r"train_rows, row 2, word 2 is ' ', no word"),
        ({"tokens": ["a", 7], "tags": ["O", "O"]}, r"train_rows, row 2, word 2 is 7, no word"),
        ({"tokens": ["a", "b"], "tags": ["O", None]}, r"train_rows, row 2, word 2, 'b': its tag is None, no class"),
        ({"tokens": ["a", "b"], "tags": ["O", ""]}, r"train_rows, row 2, word 2, 'b': its tag is '', no class"),
        ({"tokens": ["a", "b"], "tags": ["O", False]}, r"train_rows, row 2, word 2, 'b': its tag is False, no class"),
        ({"tokens": "a b", "tags": ["O", "O"]}, r"train_rows, row 2: tokens is 'a b', no list"),
        ({"tokens": ["a"]}, r"train_rows, row 2: tags is None, no list"),
    ],
)
def test_rows_that_are_no_sentences(row: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read([ROWS[0], row])


def test_tags_that_are_all_one_or_no_entities() -> None:
    with pytest.raises(ValueError, match=r"train_rows: all tags are 'O'; there is nothing to learn"):
        tag_names(read([{"tokens": ["a", "b"], "tags": ["O", "O"]}]), recipe())
    with pytest.raises(ValueError, match=r"tag 'NOUN' is not part of an entity, .*; `scheme` plain is for other tags"):
        tag_names(read([{"tokens": ["a", "b"], "tags": ["O", "NOUN"]}]), recipe())
    model = small_bert(id2label={index: f"LABEL_{index}" for index in range(5)}, label2id={})
    with pytest.raises(ValueError, match="the model: tag 'LABEL_0' is not part of an entity"):
        TASK.evaluate(model, small_tokenizer(), read(ROWS), recipe())


def test_tags_that_the_model_does_not_know(tmp_path: Path, bert: Path) -> None:
    rows = [*ROWS, {"tokens": ["in", "Paris"], "tags": ["O", "B-CITY"]}]
    path = str(write_conll(tmp_path / "dev.conll", rows))
    line = Path(path).read_text().splitlines().index("Paris\tB-CITY") + 1
    chosen = recipe(validation_files=[path], from_pretrained=str(bert))
    with pytest.raises(
        ValueError,
        match=rf"dev.conll, line {line}, 'Paris': tag 'B-CITY' is none of the model's, B-LOC, .*_names.B-CITY",
    ):
        train(TASK, chosen, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    mapped = recipe(validation_files=[path], from_pretrained=str(bert), label_names={"B-CITY": "B-LOC"})
    data = TASK.read(mapped, "validation")
    assert read_tags(small_bert().config, data, mapped)[-1] == ["O", "B-LOC"]
    unnamed = small_bert(id2label={index: f"LABEL_{index}" for index in range(5)}, label2id={}).config
    assert read_tags(unnamed, read([{"tokens": ["a"], "tags": [3]}]), recipe()) == [["3"]]


def test_too_long_sentences_are_an_error_or_cut(bert: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*ROWS, {"tokens": ["London"] * 5 + ["met"] * 5, "tags": ["B-LOC"] * 5 + ["O"] * 5}]
    model, tokenizer = AutoModelForTokenClassification.from_pretrained(bert), small_tokenizer()
    data = read(rows)
    for fields, message in (
        ({}, r"the recipe's train_rows, row 11 has 22 tokens, more .* longest input; `max_length` 16 cuts"),
        ({"max_length": 17}, "`max_length` 17 is more than the model's longest input, 16 tokens"),
        ({"max_length": 2}, "max_length 2 leaves no word of any sentence"),
    ):
        with pytest.raises(ValueError, match=message):
            TASK.batches(model, tokenizer, data, recipe(train_rows=rows, **fields))
    chosen = recipe(train_rows=rows, max_length=13)
    assert capsys.readouterr().err == ""
    # Eleven pieces stay: of three each, four words begin among them.
    batches = TASK.batches(model, tokenizer, data, chosen)
    assert capsys.readouterr().err.startswith(f"6 of {WORDS + 10} words are not learned: max_length cuts them")
    assert sum(batch.num_items for _ in range(3) for batch in batches.next_step()) == WORDS + 4
    whole, cut = (
        TASK.evaluate(model, tokenizer, data, recipe(scheme="plain", max_length=13)),
        TASK.evaluate(model, tokenizer, read(ROWS), recipe(scheme="plain")),
    )
    assert (whole["words"], whole["unread_words"]) == (WORDS + 10, 6)
    with torch.no_grad():
        logits = model(**tokenizer(" ".join(rows[-1]["tokens"]), truncation=True, max_length=13, return_tensors="pt"))
    kept = logits.logits[0, [1, 4, 7, 10]].argmax(-1).tolist()
    hits = cut["accuracy"] * WORDS + kept.count(TAGS.index("B-LOC"))
    assert whole["accuracy"] == pytest.approx(hits / (WORDS + 10)), "words that are cut count as wrong"


@pytest.mark.parametrize("names", [TAGS, TAGS[::-1]], ids=["O_last", "O_first"])
def test_words_that_are_cut_are_no_entities(names: list[str], tmp_path: Path) -> None:
    """They are O, in measures and predictions, wherever that stands among the model's classes."""
    rows = [{"tokens": ["Berlin", "met", "Berlin"], "tags": ["B-LOC", "O", "B-LOC"]}]
    model = small_bert(id2label=dict(enumerate(names)), label2id={name: index for index, name in enumerate(names)})
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.eye(len(names))[names.index("B-LOC")])
    data, cut = read(rows), recipe(max_length=4)
    TASK.write_predictions(model, small_tokenizer(), data, cut, tmp_path)
    lines = (tmp_path / "predictions.conll").read_text().splitlines()
    assert lines[:3] == ["Berlin\tB-LOC", "met\tB-LOC", "Berlin\tO"]
    measured = TASK.evaluate(model, small_tokenizer(), data, cut)
    assert measured == {
        "f1": pytest.approx(2 * 1 / (2 + 2)),
        "precision": pytest.approx(1 / 2),
        "recall": pytest.approx(1 / 2),
        "accuracy": pytest.approx(1 / 3),
        "words": 3,
        "unread_words": 1,
        "sentences": 1,
    }


def test_a_tokenizer_without_places_is_refused() -> None:
    class Slow:
        is_fast = False

    with pytest.raises(ValueError, match="Slow does not say where its tokens stand in a text"):
        encode_sentences(small_bert(), Slow(), read(ROWS))


@pytest.mark.parametrize(
    ("given", "tokenizer", "model_type"),
    [
        ({}, "elmo", "lecture_elmo"),
        ({"model": {"model_type": "lecture_recurrent", "hidden_size": 4}}, "word", "lecture_recurrent"),
        ({"tokenizer": {"type": "char"}}, "char", "lecture_recurrent"),
        ({"tokenizer": {"min_count": 2}}, None, "lecture_recurrent"),
        ({"tokenizer": {"type": "bpe"}, "model": {"model_type": "lecture_bert"}}, "bpe", "lecture_bert"),
    ],
)
def test_tokenizer_and_model_suit_each_other(given: dict[str, Any], tokenizer: str, model_type: str) -> None:
    """A recipe that names one of them gets the other one to suit it; without `type` a tokenizer is of words."""
    recipe = TokenClassificationRecipe(train_rows=ROWS, **given)
    assert (recipe.tokenizer.get("type"), recipe.model["model_type"]) == (tokenizer, model_type)


def test_default_learns_rare_words_by_their_spelling(tmp_path: Path) -> None:
    """No test word is in the training data: endings and capitals tell the tags."""
    stems = ["walk", "talk", "jump", "look", "call", "play", "help", "turn", "work", "open"]
    rows = [{"tokens": ["Bo", f"{stem}ing", f"{stem}ed"], "tags": ["NAME", "ING", "PAST"]} for stem in stems]
    recipe = TokenClassificationRecipe(train_rows=rows, epochs=20, validation_share=0, output_dir=str(tmp_path / "out"))
    train_and_test(TASK, recipe)
    model, tokenizer = (
        cls.from_pretrained(tmp_path / "out") for cls in (AutoModelForTokenClassification, AutoTokenizer)
    )
    unseen = Rows({"tokens": [["Al", "fishing", "rested"]], "tags": [["NAME", "ING", "PAST"]]}, [("test", 1)])
    assert TASK.evaluate(model, tokenizer, unseen, recipe)["accuracy"] == 1
