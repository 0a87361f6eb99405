# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The bag of words against numpy, scikit-learn, and sums by hand."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import PreTrainedModel, pipeline

from hf_lecture_models import (
    BagOfWordsConfig,
    BagOfWordsForSequenceClassification,
    BagOfWordsModel,
    WordTokenizer,
)
from tests.model_tests import ClassifierTests, Tensors, TokenTests, token_inputs

SPECIAL = {"bos_token_id": 17, "eos_token_id": 18, "pad_token_id": 19}
TEXTS = ["a fine film", "fine acting , fine story", "a dull film", "dull , dull and long"]
LABELS = torch.tensor([1, 1, 0, 0])


def counts(config: BagOfWordsConfig, ids: Tensor) -> Tensor:
    """(batch, vocab): how often each word occurs in each row."""
    return torch.stack([torch.bincount(row, minlength=config.vocab_size) for row in ids]).float()


class BagOfWordsTests(TokenTests):
    """Not collected by itself: what the classifier and its base model declare in common."""

    empty_rows = True

    fields: ClassVar[dict[str, Any]] = {}
    contradictory_configs = ({"hidden_sizes": [4, 0]}, {"dropout": 1.0}, {"hidden_sizes": [], "dropout": 0.1})

    def config(self) -> BagOfWordsConfig:
        return BagOfWordsConfig(vocab_size=20, num_labels=3, **SPECIAL, **self.fields)

    def processing_class(self) -> Any:
        return WordTokenizer.from_words([f"w{number}" for number in range(17)], unk_token=None)

    def first_layer(self, model: PreTrainedModel, inputs: Tensors) -> Tensor:
        """b + a · Σ τ(w), by the product with the counts that the slide writes."""
        a, b = model.base_model.embed_tokens.weight, model.base_model.bias
        return b + counts(model.config, inputs["input_ids"]) @ a


class TestLinear(BagOfWordsTests, ClassifierTests):
    model_class = BagOfWordsForSequenceClassification

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        return {"logits": self.first_layer(model, inputs)}


class TestDeep(BagOfWordsTests, ClassifierTests):
    model_class = BagOfWordsForSequenceClassification
    fields: ClassVar[dict[str, Any]] = {"hidden_sizes": [6, 5], "hidden_act": "silu"}

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        hidden = self.first_layer(model, inputs)
        for name in ("model.hidden_layers.2", "classifier"):
            hidden = hidden * torch.sigmoid(hidden)
            hidden = hidden @ model.get_parameter(f"{name}.weight").T + model.get_parameter(f"{name}.bias")
        return {"logits": hidden}


class TestInteger(BagOfWordsTests, ClassifierTests):
    model_class = BagOfWordsForSequenceClassification
    fields: ClassVar[dict[str, Any]] = {"input_coding": "integer"}
    # One number is all that the model knows of a text: it cannot learn four texts by heart.
    overfit: ClassVar[dict[str, float]] = {"remaining": 0.9}

    def first_layer(self, model: PreTrainedModel, inputs: Tensors) -> Tensor:
        total = (inputs["input_ids"] + 1).sum(dim=1, keepdim=True) / model.config.vocab_size
        return model.base_model.bias + total * model.base_model.embed_tokens.weight[:, 0]

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        return {"logits": self.first_layer(model, inputs)}


class TestInnerModel(BagOfWordsTests):
    model_class = BagOfWordsModel
    sequence_inputs = ("input_ids", "attention_mask")
    fields: ClassVar[dict[str, Any]] = {"hidden_sizes": [6]}
    pipeline_task = "feature-extraction"

    def make_inputs(self, batch: int, lengths: Any) -> Tensors:
        return token_inputs(self.config(), lengths)

    def pipeline_inputs(self) -> list[Any]:
        return ["w3 w1 w4", "w1", "w5 w9"]

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        words = model.embed_tokens.weight[inputs["input_ids"]]
        return {"last_hidden_state": words, "pooler_output": torch.relu(self.first_layer(model, inputs))}

    def training_loss(self, model: PreTrainedModel, inputs: Tensors) -> Tensor:
        target = torch.rand(len(inputs["input_ids"]), 6, generator=torch.Generator().manual_seed(5))
        return (model(**inputs).pooler_output - target).square().mean()


def build(tokenizer: Any, **fields: Any) -> BagOfWordsForSequenceClassification:
    special = {f"{kind}_token_id": getattr(tokenizer, f"{kind}_token_id") for kind in ("bos", "eos", "pad")}
    names = {"id2label": {0: "negative", 1: "positive"}} | {"vocab_size": len(tokenizer)} | special
    return BagOfWordsForSequenceClassification(BagOfWordsConfig(**names | fields))


@pytest.fixture
def tokenizer() -> Any:
    return WordTokenizer.train(TEXTS, progress=False)


def test_logistic_regression_of_scikit_learn(tokenizer: Any) -> None:
    """Its decision function, with its weights; for two classes it is the difference of our two outputs."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    texts = pytest.importorskip("sklearn.feature_extraction.text")
    vocabulary = tokenizer.get_vocab()
    counter = texts.CountVectorizer(tokenizer=str.split, token_pattern=None, lowercase=False, vocabulary=vocabulary)
    for labels in (LABELS, torch.tensor([2, 1, 0, 0])):
        theirs = linear_model.LogisticRegression().fit(counter.transform(TEXTS), labels.numpy())
        expected = torch.tensor(theirs.decision_function(counter.transform([*TEXTS, "a long story"])))
        ours = build(tokenizer, id2label=dict(enumerate(theirs.classes_.astype(str)))).eval()
        weights, bias = torch.tensor(theirs.coef_), torch.tensor(theirs.intercept_)
        if len(weights) == 1:
            weights, bias = torch.cat([-weights / 2, weights / 2]), torch.cat([-bias / 2, bias / 2])
        with torch.no_grad():
            ours.model.embed_tokens.weight.copy_(weights.T)
            ours.model.bias.copy_(bias)
            logits = ours(**tokenizer([*TEXTS, "a long story"], padding=True, return_tensors="pt")).logits.double()
        found = logits[:, 1] - logits[:, 0] if expected.dim() == 1 else logits
        assert_close(found, expected, rtol=0, atol=1e-5)


def test_integers_by_hand() -> None:
    """Texts whose numbers, from 1, have one sum are one text: 1 + 5 + 6 = 12 = 4 + 8; the ends are no part of it."""
    config = BagOfWordsConfig(vocab_size=20, num_labels=1, input_coding="integer", **SPECIAL)
    model = BagOfWordsForSequenceClassification(config).eval()
    with torch.no_grad():
        model.model.embed_tokens.weight.fill_(20 * 0.5)  # numbers are divided by the size of the vocabulary
        model.model.bias.fill_(3.0)
        logits = model(torch.tensor([[17, 0, 4, 5, 18], [19, 17, 3, 7, 18]])).logits
    assert logits[:, 0].tolist() == pytest.approx([0.5 * 12 + 3, 0.5 * 12 + 3])


@torch.no_grad()
def test_ends_and_padding_are_no_words(tokenizer: Any) -> None:
    """With a mask or without, wherever they stand; each of several ends, too."""
    model = build(tokenizer, eos_token_id=[tokenizer.eos_token_id, 0]).eval()
    nn.init.normal_(model.model.embed_tokens.weight)
    bos, eos, pad = tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id
    expected = model(torch.tensor([[3, 1, 4]])).logits
    for row in (
        [bos, 3, 1, 4, eos],
        [pad, pad, bos, 3, 1, 4],
        [3, 1, 4, pad],
        [3, 0, 1, 4, 0],
        [bos, 3, eos, 1, 4, eos],
    ):
        ids = torch.tensor([row])
        assert_close(model(ids).logits, expected)
        assert_close(model(ids, attention_mask=(ids != pad).long()).logits, expected)
    nothing = model(torch.empty(1, 0, dtype=torch.long)).logits
    assert_close(nothing, model.model.bias[None])


def test_the_linear_model_knows_nothing_at_first(tokenizer: Any) -> None:
    """All classes are equally probable, and a word that training does not meet stays without weight."""
    model = build(tokenizer)
    batch = tokenizer(TEXTS[:2], padding=True, return_tensors="pt")
    assert not model(**batch).logits.any()
    model(**batch, labels=LABELS[:2]).loss.backward()
    torch.optim.SGD(model.parameters(), lr=0.5).step()
    table = model.get_input_embeddings().weight
    assert not table[tokenizer.convert_tokens_to_ids("dull")].any()
    assert table[tokenizer.convert_tokens_to_ids("fine")].all()


def test_one_scalar_output_for_two_classes(tokenizer: Any) -> None:
    """The slide's own case: logistic regression on labels 0 and 1, whose pipeline gives the probability of 1."""
    one = build(tokenizer, id2label={0: "positive"}, problem_type="multi_label_classification")
    two = build(tokenizer)
    batch = tokenizer(TEXTS, padding=True, return_tensors="pt")
    for model in (one, two):
        # Twice as far for the scalar: the two outputs move apart from both sides.
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0 if model is one else 0.5)
        for _ in range(5):
            optimizer.zero_grad()
            model(**batch, labels=LABELS).loss.backward()
            optimizer.step()
    difference = two(**batch).logits.diff(dim=1)
    assert_close(one(**batch).logits, difference)
    pipe = pipeline("text-classification", model=one, tokenizer=tokenizer)
    probability = two(**tokenizer("fine story", return_tensors="pt")).logits.softmax(dim=1)[0, 1].item()
    assert pipe("fine story") == [{"label": "positive", "score": pytest.approx(probability, rel=1e-5)}]


@pytest.mark.parametrize("fields", [{}, {"hidden_sizes": [4]}], ids=["linear", "deep"])
def test_words_can_be_added(tokenizer: Any, fields: dict[str, Any]) -> None:
    model = build(tokenizer, **fields).eval()
    before = model(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits
    tokenizer.add_tokens(["superb"])
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    assert model.config.vocab_size == len(tokenizer)
    assert_close(model(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits, before)
    with pytest.raises(ValueError, match="input_coding='integer' cannot be resized: .* train a new model"):
        build(tokenizer, input_coding="integer", **fields).resize_token_embeddings(pad_to_multiple_of=8)
