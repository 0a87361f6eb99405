# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Synthetic recall: only answers have a loss, and each is predicted from the words before it alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.core.factories import make_tokenizer
from hf_lecture_models.tasks.core.lines import PredictionOptions
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.language_models.recall import SyntheticRecall, SyntheticRecallRecipe, encode_recall

TASK = SyntheticRecall()
SMALL: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
CAUSAL = {"model_type": "lecture_self_attention", "initializer_range": 0.5, "dropout": 0.0, **SMALL}
MASKED = {
    "model_type": "lecture_efficient_transformer",
    "attention_kind": "low_rank",
    "projected_length": 4,
    "max_position_embeddings": 16,
    "initializer_range": 0.5,
    "dropout": 0.0,
    **SMALL,
}
ROWS = [
    {"text": "k1 v7 k2 v8 . . k2 v8 k1 v7", "answers": [7, 9]},
    {"text": "k3 v9 . k3 v9 . .", "answers": [4]},
    {"text": "k2 v7 k2 v7", "answers": [1, 3]},
]


def made(masked: bool) -> tuple[Any, Any, SyntheticRecallRecipe]:
    tokenizer = {"type": "word", "template": "roberta"} if masked else {"type": "word"}
    recipe = SyntheticRecallRecipe(
        train_rows=ROWS, masked=masked, model=MASKED if masked else CAUSAL, tokenizer=tokenizer, batch_size=4
    )
    data = TASK.read(recipe, "train")
    assert data is not None
    processor = TASK.processor(recipe, data)
    return TASK.model(recipe, processor, data).eval(), processor, recipe


def alone(model: Any, tokenizer: Any, row: dict[str, Any], masked: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The logits of a row's answers, one forward pass for each, and their ids."""
    ids = tokenizer.convert_tokens_to_ids(row["text"].split())
    logits = []
    for place in row["answers"]:
        if masked:
            read = [tokenizer.mask_token_id if at in row["answers"] else token for at, token in enumerate(ids)]
            logits.append(model(torch.tensor([read])).logits[0, place])
        else:
            logits.append(model(torch.tensor([[tokenizer.bos_token_id, *ids[:place]]])).logits[0, -1])
    return torch.stack(logits), torch.tensor([ids[place] for place in row["answers"]])


@pytest.mark.parametrize("masked", [False, True])
def test_the_loss_is_that_of_the_answers_alone(masked: bool) -> None:
    model, tokenizer, recipe = made(masked)
    data = TASK.read(recipe, "train")
    batches: Any = TASK.batches(model, tokenizer, data, recipe)
    batch = batches.collate(np.array([2, 0, -1, 1]))
    pairs = [alone(model, tokenizer, row, masked) for row in ROWS]
    logits, answers = torch.cat([own for own, _ in pairs]), torch.cat([own for _, own in pairs])
    options = TASK.training_options(model, recipe)["forward_options"]
    assert batch.num_items == len(answers) == 5
    torch.testing.assert_close(model(**batch.inputs, **options).loss, F.cross_entropy(logits, answers))
    measured = TASK.evaluate(model, tokenizer, data, recipe)
    right = logits.argmax(-1) == answers
    assert measured["accuracy"] == pytest.approx(right.float().mean().item())
    assert measured["text_accuracy"] == pytest.approx(
        np.mean([bool((own.argmax(-1) == ids).all()) for own, ids in pairs])
    )
    assert (measured["answers"], measured["texts"]) == (5, 3)


@pytest.mark.parametrize("masked", [False, True])
def test_predictions_are_those_that_are_measured(masked: bool) -> None:
    model, tokenizer, recipe = made(masked)
    data = TASK.read(recipe, "train")
    found = TASK.predictions(model, tokenizer, data, recipe, PredictionOptions(top_k=2))
    for row, own in zip(ROWS, found, strict=True):
        logits, _ = alone(model, tokenizer, row, masked)
        best = logits.softmax(-1).topk(2)
        assert [word["place"] for word in own] == [place for place in row["answers"] for _ in range(2)]
        assert [word["label"] for word in own] == tokenizer.convert_ids_to_tokens(best.indices.flatten().tolist())
        assert [word["score"] for word in own] == pytest.approx(best.values.flatten().tolist(), rel=1e-4)


def test_without_answers_the_next_word_is_predicted() -> None:
    for masked in (False, True):
        model, tokenizer, recipe = made(masked)
        (found,) = TASK.predictions(
            model, tokenizer, Rows({"text": ["k1 v7 k1"]}, [("a", 1)]), recipe, PredictionOptions()
        )
        (expected,) = TASK.predictions(
            model, tokenizer, Rows({"text": ["k1 v7 k1 v9"], "answers": [[3]]}, [("a", 1)]), recipe, PredictionOptions()
        )
        assert found == expected


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": " ", "answers": [0]}, "row 2: text is ' '; give words"),
        ({"text": "a b", "answers": []}, r"row 2: answers is \[\]; give a list of places"),
        ({"text": "a b", "answers": "1"}, "row 2: answers is '1'; give a list of places"),
        ({"text": "a b", "answers": [True]}, r"row 2: answers is \[True\]; give a list of places"),
        ({"text": "a b", "answers": [2]}, "row 2: .* the text has the places 0 to 1"),
        ({"text": "a b", "answers": [-1]}, "row 2: .* the text has the places 0 to 1"),
        ({"text": "a b", "answers": [1, 0]}, "row 2: .* each counts once, in rising order"),
    ],
)
def test_rows_that_cannot_be_read_are_named(row: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TASK.read(SyntheticRecallRecipe(train_rows=[ROWS[0], row]), "train")


def test_words_of_several_tokens_and_unknown_answers_are_named() -> None:
    data = Rows({"text": ["the cat sat", "the cow sat"], "answers": [[1], [1]]}, [("a.jsonl", 2)])
    with pytest.raises(ValueError, match=r"a.jsonl, row 1 has 3 words and 11 tokens: recall needs one token"):
        encode_recall(make_tokenizer({"type": "byte"}, []), data, masked=False)
    words = make_tokenizer({"type": "word"}, ["the cat sat"])
    with pytest.raises(ValueError, match=r"a.jsonl, row 2: the tokenizer does not know the answer 'cow'"):
        encode_recall(words, data, masked=False)
    with pytest.raises(ValueError, match=r"has no token that the model needs: a mask \(tokenizer.template roberta\)"):
        encode_recall(words, data, masked=True)


def test_drawn_texts_are_learned_and_measured_on_others(tmp_path: Path) -> None:
    """With one pair, the value that was read is the answer: a few steps teach it."""
    recipe = SyntheticRecallRecipe(
        length=8,
        words=10,
        pairs=[1],
        train_size=600,
        validation_size=60,
        test_size=80,
        model=CAUSAL | {"initializer_range": 0.1},
        learning_rate=0.01,
        epochs=5,
        batch_size=32,
        output_dir=str(tmp_path / "run"),
    )
    outcome = train_and_test(TASK, recipe)
    assert outcome.test_results is not None
    assert outcome.test_results["texts"] == 80
    assert outcome.test_results["accuracy"] > 0.9
    facts = json.loads((tmp_path / "run" / "facts.json").read_text())
    assert facts["data"]["name"] == "texts drawn for associative_recall"
