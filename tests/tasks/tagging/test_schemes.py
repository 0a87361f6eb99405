# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The scheme of tags by the training data, and other letters for entities than B and I."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from transformers import pipeline

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.core.task import recipe_of
from hf_lecture_models.tasks.tagging.entities import find_entities
from hf_lecture_models.tasks.tagging.measures import entities
from hf_lecture_models.tasks.tagging.schemes import in_iob2, scheme_of, scheme_of_rows
from hf_lecture_models.tasks.tagging.task import TaggingSettings, TokenClassification, TokenClassificationRecipe
from tests.tasks.small_tagger import ROWS, TAGS, save_small_bert, small_tokenizer

TASK = TokenClassification()
FORMS = {
    "IOB2": "B-PER I-PER I-PER O B-LOC B-LOC I-LOC B-PER",
    "IOB1": "I-PER I-PER I-PER O I-LOC B-LOC I-LOC I-PER",
    "IOBES": "B-PER I-PER E-PER O S-LOC B-LOC E-LOC S-PER",
    "BILOU": "B-PER I-PER L-PER O U-LOC B-LOC L-LOC U-PER",
    "BMES": "B-PER M-PER E-PER O S-LOC B-LOC E-LOC S-PER",
    "BMEWO": "B-PER M-PER E-PER O W-LOC B-LOC E-LOC W-PER",
}


def rows_of(*sentences: str) -> Rows:
    tags = [sentence.split() for sentence in sentences]
    return Rows({"tokens": [["x"] * len(own) for own in tags], "tags": tags}, [("train.jsonl", len(tags))])


def as_bilou(tags: list[str]) -> list[str]:
    """By the definition, from tags of IOB2: L before the end of an entity of several words, U for one of one word."""
    found = []
    for tag, behind in zip(tags, [*tags[1:], "O"], strict=True):
        ends = not behind.startswith("I-")
        letter = {("B", True): "U", ("I", True): "L"}.get((tag[0], ends), tag[0])
        found.append(letter + tag[1:])
    return found


def entities_of_bilou(tags: list[str]) -> set[tuple[str, int, int]]:
    """The entities of well-formed BILOU, by its letters alone."""
    found, first = set(), 0
    for place, tag in enumerate(tags):
        if tag[0] in "BU":
            first = place
        if tag[0] in "LU":
            found.add((tag[2:], first, place))
    return found


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_mark_the_same_entities(form: str) -> None:
    tags = FORMS[form].split()
    expected = [("PER", 0, 2), ("LOC", 4, 4), ("LOC", 5, 6), ("PER", 7, 7)]
    assert [(one.kind, one.first, one.last) for one in find_entities(tags)] == expected
    assert in_iob2(tags) == FORMS["IOB2"].split()
    assert scheme_of(set(tags)) == "entities"
    assert entities([tags], [FORMS["IOB2"].split()]) == {"f1": 1, "precision": 1, "recall": 1}


def test_counts_of_bilou_are_those_by_its_letters() -> None:
    """seqeval alone knows no L and U; every right answer is measured beside every predicted one."""
    tags = ["O", "B-X", "I-X", "B-Y"]
    valid = [
        list(own)
        for own in itertools.product(tags, repeat=4)
        if all(b != "I-X" or a in ("B-X", "I-X") for a, b in zip(("O", *own), own, strict=False))
    ]
    pairs = [(valid[n], valid[-n * 7 % len(valid)]) for n in range(len(valid))]
    sides = [[as_bilou(pair[side]) for pair in pairs] for side in (0, 1)]
    ours, right = ([entities_of_bilou(own) for own in side] for side in sides)
    found = sum(len(a & b) for a, b in zip(ours, right, strict=True))
    measured = entities(*sides)
    assert measured["precision"] == pytest.approx(found / sum(map(len, ours)), abs=1e-12)
    assert measured["recall"] == pytest.approx(found / sum(map(len, right)), abs=1e-12)
    assert 0 < found < sum(map(len, ours)), "else the lines above would prove little"


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ("O B-LOC I-LOC", "entities"),
        ("O I-LOC", "entities"),
        ("O S-LOC", "entities"),
        ("B-NP I-NP B-VP", "entities"),  # chunks fill all of a sentence
        ("NOUN VERB", "plain"),
        ("O NOUN", "plain"),
        ("S-adj S-noun", "plain"),  # without O, letters are no proof
        ("B-1 B-2", "plain"),
        ("O S-adj NOUN", "plain"),
        ("O", "plain"),
        ("0 1 2", "plain"),
    ],
)
def test_the_scheme_follows_from_the_tags(tags: str, scheme: str) -> None:
    assert scheme_of_rows(rows_of(tags), {}) == scheme
    assert scheme_of(tags.split()) == scheme


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (("O B-PER", "O PER"), r"train.jsonl, row 2, word 2: tag 'PER' is not part of an entity, .*`label_names.PER`"),
        (("O U-PER", "O B-PER S-LOC"), r"train.jsonl, row 2, word 3: tag 'S-LOC' does not go with 'U-PER' above"),
        (("O U-PER", "O S-LOC"), r"train.jsonl, row 2, word 2: tag 'S-LOC' does not go with 'U-PER' above"),
        (("O B-PER L-PER", "E-LOC O"), r"row 2, word 1: tag 'E-LOC' does not go with 'L-PER' above"),
        (("O B-PER I-PER M-PER",), r"row 1, word 4: tag 'M-PER' does not go with 'I-PER' above"),
    ],
)
def test_mixtures_are_refused(sentences: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scheme_of_rows(rows_of(*sentences), {})
    data = rows_of(*sentences).columns
    rows = [{"tokens": words, "tags": tags} for words, tags in zip(data["tokens"], data["tags"], strict=True)]
    chosen = TokenClassificationRecipe(train_rows=rows, scheme="plain")
    read = TASK.read(chosen, "train")
    assert read is not None
    assert read.columns["tags"] == data["tags"], "which scheme plain takes as they are"
    assert scheme_of_rows(rows_of("O B-PER", "O PER"), {"PER": "I-PER"}) == "entities"


# Runs


def recipe(**fields: Any) -> TokenClassificationRecipe:
    small: dict[str, Any] = {"epochs": 10, "batch_size": 4, "learning_rate": 0.05, "optimizer": "adamw", "seed": 1}
    small["model"] = {"model_type": "lecture_recurrent", "bidirectional": True, "hidden_size": 16}
    return TokenClassificationRecipe(**(small | fields))


BILOU = [row | {"tags": as_bilou(row["tags"])} for row in ROWS]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("bilou") / "run"
    return folder, train_and_test(TASK, recipe(train_rows=BILOU, validation_rows=BILOU, output_dir=str(folder)))


def test_bilou_is_learned_and_predicted_as_iob2(run: tuple[Path, Any]) -> None:
    folder, outcome = run
    assert (outcome.training.metric_name, outcome.training.best_metric) == ("f1", 1.0)
    saved = json.loads((folder / "task.json").read_text())
    assert (saved["classes"], saved["settings"]["scheme"]) == (TAGS, "entities")
    model, tokenizer = load_model(str(folder))
    settings, measures, labels = recipe_of(TASK, facts_of(str(folder), model, tokenizer)), [], []
    for form in (ROWS, BILOU):
        chosen = recipe(train_rows=form, validation_rows=form)
        data = TASK.read(chosen, "train")
        assert data is not None
        batches: Any = TASK.batches(model, tokenizer, data, chosen)
        labels.append([batch.inputs["labels"].tolist() for batch in batches.in_order(4)])
        measures.append(TASK.evaluate(model, tokenizer, TASK.read(chosen, "validation"), settings))
    assert labels[0] == labels[1]
    assert measures[0] == measures[1]
    assert measures[0]["f1"] == 1.0


def test_transformers_pipeline_finds_the_same_entities(run: tuple[Path, Any]) -> None:
    tag = pipeline("token-classification", model=str(run[0]), aggregation_strategy="simple")
    for row in BILOU:
        words = [sum(len(word) + 1 for word in row["tokens"][:place]) for place in range(len(row["tokens"]))]
        expected = [
            (kind, words[first], words[last] + len(row["tokens"][last]))
            for kind, first, last in sorted(entities_of_bilou(row["tags"]), key=lambda entity: entity[1])
        ]
        assert [(one["entity_group"], one["start"], one["end"]) for one in tag(" ".join(row["tokens"]))] == expected


def test_what_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    for rows, scheme, said in (
        (ROWS, None, ["all tags are parts of entities, and entities are measured; --scheme plain measures words"]),
        (ROWS, "entities", []),
        (BILOU, "entities", ["the recipe's train_rows: the tags are BILOU; they are learned and predicted as B-, I- "]),
        (BILOU, "plain", []),
    ):
        chosen = recipe(train_rows=rows, scheme=scheme)
        data = TASK.read(chosen, "train")
        assert data is not None
        lines = capsys.readouterr().err.splitlines()
        assert [line[: len(own)] for line, own in zip(lines, said, strict=True)] == said
        assert data.columns["tags"] == [row["tags"] for row in (BILOU if scheme == "plain" else ROWS)]


def test_a_checkpoint_with_letters_of_its_own_keeps_them(tmp_path: Path) -> None:
    names = ["O", *(f"{letter}-{kind}" for letter in "BILU" for kind in ("LOC", "PER"))]
    own = {"id2label": dict(enumerate(names)), "label2id": dict(zip(names, range(9), strict=True))}
    folder = str(save_small_bert(tmp_path / "bert", **own))
    chosen = TokenClassificationRecipe(train_rows=BILOU, from_pretrained=folder)
    data = TASK.read(chosen, "train")
    assert data is not None
    assert data.columns["tags"] == [row["tags"] for row in BILOU]
    assert list(TASK.model(chosen, small_tokenizer(), data).config.id2label.values()) == names
    model, tokenizer = load_model(folder)
    measured = TASK.evaluate(model, tokenizer, data, TaggingSettings())
    assert list(measured)[:3] == ["f1", "precision", "recall"], "by the tags of the model"


def test_older_folders_keep_their_scheme(tmp_path: Path) -> None:
    """Their `task.json` has the scheme beside the settings."""
    older = {"name": TASK.name, "settings": {"max_length": 9}, "scheme": "plain"}
    found = TaggingSettings.of({"task": older}, TASK.name)
    assert (found.scheme, found.max_length) == ("plain", 9)
    assert TaggingSettings.of({"task": older, "recipe": {"scheme": "plain"}}, TASK.name).scheme == "plain"
    assert TaggingSettings.of({"task": older | {"name": "other"}}, TASK.name).scheme is None


def test_tags_that_the_model_does_not_know_are_named_as_the_data_spell_them(run: tuple[Path, Any]) -> None:
    model, tokenizer = load_model(str(run[0]))
    rows = [*BILOU, {"tokens": ["Ada", "met"], "tags": ["U-DOG", "O"]}]
    data = TASK.read(recipe(train_rows=ROWS, validation_rows=rows), "validation")
    with pytest.raises(ValueError, match=r"row 11, word 1, 'Ada': tag 'U-DOG' is none of the model's, .*_names.U-DOG`"):
        TASK.evaluate(model, tokenizer, data, TaggingSettings(scheme="entities"))
