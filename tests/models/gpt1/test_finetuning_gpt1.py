# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A language model's folder becomes a classifier: its tokenizer gets the template, its vocabulary the new tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional as F
from torch.testing import assert_close
from transformers import (
    pipeline,
)

from hf_lecture_models import Gpt1ForCausalLM, WordTokenizer
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe, encode_examples
from tests.model_tests import perturb
from tests.models.gpt1.test_modeling_gpt1 import small

TASK = TextClassification()
WORDS = ["red", "blue", "green", "cat", "dog", "bird"]
# Whether both texts name one colour.
TRIPLES = [(colour, animal, other) for colour in WORDS[:3] for animal in WORDS[3:] for other in (*WORDS[:3], colour)]
PAIRS = [
    {"text": f"{one} {animal}", "text_pair": f"{other} {WORDS[5 - i % 3]}", "label": "yes" if one == other else "no"}
    for i, (one, animal, other) in enumerate(TRIPLES)
]
SINGLES = [{"text": row["text"], "label": str("cat" in row["text"])} for row in PAIRS]
NO_DROPOUT = dict.fromkeys(("dropout", "embedding_dropout", "attention_dropout"), 0.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A language model and its tokenizer."""
    tokenizer = WordTokenizer.train([" ".join(WORDS)], progress=False)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    model = Gpt1ForCausalLM(small(vocab_size=len(tokenizer), max_position_embeddings=16, **ids, **NO_DROPOUT))
    perturb(model, 0.3)
    model.tie_weights()
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "lm")
    return tmp_path / "lm"


def recipe(folder: Path | str, rows: list[dict[str, Any]] = PAIRS, **fields: Any) -> TextClassificationRecipe:
    plain = {"epochs": 2, "batch_size": 4, "optimizer": "sgd", "clip_norm": None, "learning_rate": 0.1, "log_every": 1}
    model = {"classifier_dropout": 0.0, **fields.pop("model", {})}
    return TextClassificationRecipe(train_rows=rows, from_pretrained=str(folder), model=model, **plain | fields)


def parts(chosen: TextClassificationRecipe) -> tuple[Any, Any, Any]:
    data = TASK.read(chosen, "train")
    tokenizer = TASK.processor(chosen, data)
    return TASK.model(chosen, tokenizer, data), tokenizer, data


def test_the_tokenizer_gets_the_template_and_the_model_its_tokens(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = load_file(folder / "model.safetensors")["model.embed_tokens.weight"]
    model, tokenizer, data = parts(recipe(folder))
    said = capsys.readouterr().err
    assert "gets the template 'gpt1', a pair is <start> <delim> <extract>; new tokens start anew" in said
    assert "classifier.bias, classifier.weight" in said
    assert tokenizer(data.columns["text"][0]).tokens() == ["<start>", "red", "cat", "<extract>"]
    assert len(tokenizer) == len(before) + 3 == model.config.vocab_size == model.get_input_embeddings().num_embeddings
    ids = [model.config.extract_token_id, model.config.delim_token_id]
    assert ids == tokenizer.convert_tokens_to_ids(["<extract>", "<delim>"])
    rows = model.get_input_embeddings().weight
    assert torch.equal(rows[: len(before)], before)
    assert 0.005 < rows[len(before) :].std() < 0.05, "as the model's first weights: N(0, 0.02)"
    other = parts(recipe(folder, seed=1))[0]
    assert not torch.equal(other.get_input_embeddings().weight[len(before) :], rows[len(before) :])


@pytest.mark.parametrize("max_length", [4, 5, 7])
def test_extract_survives_truncation(folder: Path, max_length: int) -> None:
    long = [{**row, "text": " ".join([row["text"]] * 9)} for row in PAIRS]
    for rows in (long, [{"text": row["text"], "label": row["label"]} for row in long]):
        chosen = recipe(folder, rows, max_length=max_length)
        model, tokenizer, data = parts(chosen)
        for side in ("right", "left"):
            tokenizer.truncation_side = side
            for example in encode_examples(model, tokenizer, data, chosen.max_length):
                assert len(example["input_ids"]) == max_length
                assert example["input_ids"][-1] == model.config.extract_token_id


def by_hand(model: Any, tokenizer: Any, chosen: TextClassificationRecipe, step_rows: list[list[int]]) -> list[float]:
    """Plain descent, text by text: the mean over texts of the loss and λ times the mean over a text's tokens."""
    losses, weight = [], model.config.auxiliary_lm_weight
    for rows in step_rows:
        total = torch.zeros(())
        for row in (chosen.train_rows[index] for index in rows):
            inputs = tokenizer(row["text"], row.get("text_pair"), return_tensors="pt")
            states = model.model(**inputs).last_hidden_state[0]
            label = torch.tensor(model.config.label2id[row["label"]])
            total = total + F.cross_entropy(model.classifier(states[-1]), label)
            if weight:
                logits = F.linear(states[:-1], model.model.embed_tokens.weight)
                total = total + weight * F.cross_entropy(logits, inputs["input_ids"][0, 1:])
        mean = total / len(rows)
        model.zero_grad()
        mean.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter -= chosen.learning_rate * parameter.grad
        losses.append(mean.item())
    return losses


@pytest.mark.parametrize("weight", [0.0, 0.5])
@pytest.mark.parametrize("accumulation_steps", [1, pytest.param(2, marks=pytest.mark.slow), 4])
def test_training_is_that_of_a_loop_of_our_own(
    folder: Path, tmp_path: Path, weight: float, accumulation_steps: int
) -> None:
    """With the auxiliary loss too: however a step is cut, each text weighs the same, however long it is."""
    rows = [{**row, "text": " ".join([row["text"]] * (1 + i % 3))} for i, row in enumerate(PAIRS)][:10]
    fields = {"auxiliary_lm_weight": weight}
    chosen = recipe(folder, rows, accumulation_steps=accumulation_steps, model=fields)
    model, tokenizer, data = parts(chosen)
    expected = parts(chosen)[0]
    result = TASK.train(model, tokenizer, data, None, chosen, output_dir=tmp_path / "run", quiet=True)
    orders = [np.random.default_rng((0, epoch)).permutation(10) for epoch in range(2)]
    steps = [list(order[start : start + 4]) for order in orders for start in (0, 4, 8)]
    losses = by_hand(expected, tokenizer, chosen, steps)
    assert [row["loss"] for row in result.history] == pytest.approx(losses, rel=1e-4)
    for name, parameter in expected.named_parameters():
        assert_close(model.get_parameter(name), parameter, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("both_orders", [False, True])
@torch.no_grad()
def test_the_pipeline_reads_single_texts_and_pairs(folder: Path, tmp_path: Path, both_orders: bool) -> None:
    """One by one and in batches, which are padded; in fresh processes the checks of all classifiers do so."""
    model, tokenizer, _ = parts(recipe(folder, model={"both_orders": both_orders}))
    for part in (model.eval(), tokenizer):
        part.save_pretrained(tmp_path / "saved")
    texts: list[Any] = [{"text": "red cat bird", "text_pair": "blue"}, {"text": "dog", "text_pair": "green dog"}]
    texts += [] if both_orders else [{"text": "red cat"}, {"text": "a blue bird"}]
    pipe = pipeline("text-classification", model=str(tmp_path / "saved"))
    for found in (pipe(texts, top_k=None), pipe(texts, top_k=None, batch_size=len(texts))):
        for ours, text in zip(found, texts, strict=True):
            probabilities = model(**tokenizer(**text, return_tensors="pt")).logits[0].softmax(0)
            expected = {model.config.id2label[index]: float(value) for index, value in enumerate(probabilities)}
            assert {each["label"]: each["score"] for each in ours} == pytest.approx(expected, abs=1e-5)


def test_fields_of_the_checkpoint_may_be_changed_but_for_its_kind(folder: Path) -> None:
    model = parts(recipe(folder, model={"both_orders": True, "auxiliary_lm_weight": 0.5, "dropout": 0.2}))[0]
    assert (model.config.both_orders, model.config.auxiliary_lm_weight) == (True, 0.5)
    assert model.model.layers[0].dropout.p == 0.2
    assert model.lm_head.weight is model.model.embed_tokens.weight
    for fields, message in (
        ({"both_ordres": True}, "no field model.both_ordres in Gpt1Config; did you mean model.both_orders?"),
        ({"dropout": 2.0}, "dropout is 2.0"),
        ({"dropout": "much"}, "dropout"),
        ({"hidden_act": "swish"}, "hidden_act is 'swish'"),
    ):
        with pytest.raises(ValueError, match=message):
            parts(recipe(folder, model=fields))
    with pytest.raises(ValueError, match="from_pretrained brings its own model; leave model out"):
        recipe(folder, model={"model_type": "lecture_gpt1"})


def test_what_cannot_be_read_is_refused_by_name(folder: Path) -> None:
    chosen = recipe(folder, SINGLES, model={"both_orders": True})
    model, tokenizer, data = parts(chosen)
    message = r"train_rows has no column text_pair, but the model reads pairs \(both_orders\)"
    with pytest.raises(ValueError, match=message):
        encode_examples(model, tokenizer, data, chosen.max_length)
    chosen = recipe(folder)
    model, tokenizer, data = parts(chosen)
    plain = WordTokenizer.from_pretrained(folder)
    with pytest.raises(ValueError, match="template 'gpt1'.*set_template"):
        encode_examples(model, plain, data, chosen.max_length)
