# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The bag of words against numpy, scikit-learn, and sums by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import AutoModel, AutoModelForSequenceClassification, PreTrainedModel, pipeline

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


# Against others


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


@pytest.mark.parametrize(("name", "act"), [("relu", lambda h: h.clip(0)), ("silu", lambda h: h / (1 + np.exp(-h)))])
def test_hidden_layers_in_numpy(tokenizer: Any, name: str, act: Any) -> None:
    model = build(tokenizer, hidden_sizes=[5, 4, 3], hidden_act=name).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    a, b, *rest = (parameter.detach().double().numpy() for parameter in model.parameters())
    # The bag's bias is a parameter of the base model itself, and so comes before those of its modules.
    b, a = (a, b) if a.ndim == 1 else (b, a)
    for text in TEXTS:
        hidden = b + sum(a[tokenizer.convert_tokens_to_ids(word)] for word in text.split())
        for weight, bias in zip(rest[::2], rest[1::2], strict=True):
            hidden = weight @ act(hidden) + bias
        with torch.no_grad():
            logits = model(**tokenizer(text, return_tensors="pt")).logits[0].double()
        assert_close(logits, torch.from_numpy(hidden), rtol=0, atol=1e-5)


def test_integers_by_hand() -> None:
    """Texts whose numbers, from 1, have one sum are one text: 1 + 5 + 6 = 12 = 4 + 8; the ends are no part of it."""
    config = BagOfWordsConfig(vocab_size=20, num_labels=1, input_coding="integer", **SPECIAL)
    model = BagOfWordsForSequenceClassification(config).eval()
    with torch.no_grad():
        model.model.embed_tokens.weight.fill_(20 * 0.5)  # numbers are divided by the size of the vocabulary
        model.model.bias.fill_(3.0)
        logits = model(torch.tensor([[17, 0, 4, 5, 18], [19, 17, 3, 7, 18]])).logits
    assert logits[:, 0].tolist() == pytest.approx([0.5 * 12 + 3, 0.5 * 12 + 3])


# What is a bag


@pytest.mark.parametrize("fields", [{}, {"hidden_sizes": [6]}, {"input_coding": "integer"}], ids=str)
@torch.no_grad()
def test_the_order_of_the_words_does_not_count(fields: dict[str, Any]) -> None:
    model = BagOfWordsForSequenceClassification(BagOfWordsConfig(vocab_size=20, **SPECIAL, **fields)).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    words = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
    logits = model(words).logits
    for _ in range(5):
        assert_close(model(words[:, torch.randperm(8)]).logits, logits)
    assert not torch.allclose(model(words[:, 1:]).logits, logits), "a missing word counts"


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


def test_what_each_word_adds(tokenizer: Any) -> None:
    """The linear model explains itself: its output is the bias and one row per word."""
    model = build(tokenizer).eval()
    nn.init.normal_(model.model.embed_tokens.weight)
    batch = tokenizer(["a dull film"], return_tensors="pt")
    with torch.no_grad():
        words = model.model(**batch).last_hidden_state[0]
        assert_close(model.model.bias + words.sum(dim=0), model(**batch).logits[0])
    table = model.get_input_embeddings().weight
    assert_close(words[1:], table[[tokenizer.convert_tokens_to_ids(word) for word in ("a", "dull", "film")]])
    assert not words[0].any(), "<s> adds nothing"


# Training


@pytest.mark.parametrize("optimizer_class", [torch.optim.SGD, torch.optim.AdamW])
@pytest.mark.parametrize("fields", [{}, {"hidden_sizes": [16, 8], "dropout": 0.1}], ids=["linear", "deep"])
def test_a_handful_of_texts_is_learnt(tokenizer: Any, optimizer_class: Any, fields: dict[str, Any]) -> None:
    torch.manual_seed(0)
    model = build(tokenizer, initializer_range=0.3, **fields).train()
    optimizer = optimizer_class(model.parameters(), lr=0.2 if optimizer_class is torch.optim.SGD else 0.02)
    batch, losses = tokenizer(TEXTS, padding=True, return_tensors="pt"), []
    for _ in range(60):
        optimizer.zero_grad()
        losses.append(model(**batch, labels=LABELS).loss)
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 0.5 * losses[0]
    assert torch.equal(model.eval()(**batch).logits.argmax(dim=1), LABELS)


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


# In other hands


def test_a_text_or_a_list_of_them_in_the_pipeline(tokenizer: Any, tmp_path: Path) -> None:
    model = build(tokenizer)
    with torch.no_grad():
        model.model.embed_tokens.weight[tokenizer.convert_tokens_to_ids("fine"), 1] = 2.0
        model.model.embed_tokens.weight[tokenizer.convert_tokens_to_ids("dull"), 0] = 3.0
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    pipe = pipeline("text-classification", model=str(tmp_path))
    fine, dull = (
        {"label": label, "score": pytest.approx(1 / (1 + np.exp(-weight)))}
        for label, weight in (("positive", 2), ("negative", 3))
    )
    assert pipe("a fine film") == [fine]
    assert pipe(["a fine film", "and dull"], batch_size=2) == [fine, dull]
    assert pipe(["long"])[0]["score"] == pytest.approx(0.5)


def test_auto_classes_share_the_weights(tokenizer: Any, tmp_path: Path) -> None:
    model = build(tokenizer, hidden_sizes=[4]).eval()
    model.save_pretrained(tmp_path)
    batch = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        vectors = AutoModel.from_pretrained(tmp_path)(**batch).pooler_output
        logits = AutoModelForSequenceClassification.from_pretrained(tmp_path)(**batch).logits
        assert_close(model.classifier(vectors), logits, rtol=0, atol=0)


@pytest.mark.parametrize("fields", [{}, {"hidden_sizes": [4]}], ids=["linear", "deep"])
def test_words_can_be_added(tokenizer: Any, fields: dict[str, Any]) -> None:
    model = build(tokenizer, **fields).eval()
    before = model(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits
    tokenizer.add_tokens(["superb"])
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    assert model.config.vocab_size == len(tokenizer)
    assert_close(model(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits, before)


def test_integers_cannot_be_resized(tokenizer: Any) -> None:
    """What each word adds would change with the number of words."""
    model = build(tokenizer, input_coding="integer")
    for call in ({"new_num_tokens": len(tokenizer) + 1}, {"new_num_tokens": 5}, {"pad_to_multiple_of": 8}):
        with pytest.raises(ValueError, match="input_coding='integer' cannot be resized: .* train a new model"):
            model.resize_token_embeddings(**call)
    for size in (None, len(tokenizer)):
        assert model.resize_token_embeddings(size) is model.model.embed_tokens
    assert model.config.vocab_size == len(tokenizer)


def test_what_cannot_be_read_is_refused(tokenizer: Any) -> None:
    model = build(tokenizer)
    mask = torch.ones(1, 2)
    with pytest.raises(ValueError, match=r"attention_mask has shape \(1, 2\); that of input_ids, \(1, 3\), is needed"):
        model(torch.tensor([[3, 1, 4]]), attention_mask=mask)
    with pytest.raises(TypeError, match="BagOfWordsModel.* takes no argument token_type_ids"):
        model(torch.tensor([[3, 1]]), token_type_ids=torch.tensor([[0, 1]]))
