# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The padded perceptron and one input per layer: every check of model_tests.py against plain loops, and each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, PreTrainedModel, pipeline

from hf_lecture_models import (
    LayerPerInputConfig,
    LayerPerInputForSequenceClassification,
    LayerPerInputModel,
    PaddedMlpConfig,
    PaddedMlpForSequenceClassification,
    PaddedMlpModel,
    RecurrentConfig,
    RecurrentModel,
    WordTokenizer,
)
from hf_lecture_models.hub import export
from hf_lecture_models.layers.input_codings import zero_pad
from tests.model_tests import ClassifierTests, Tensors, TokenTests, token_inputs

SPECIAL = {"bos_token_id": 17, "eos_token_id": 18, "pad_token_id": 19}
TEXTS = ["a fine film", "fine acting , fine story", "a dull film", "dull , dull and long"]
LONGEST = 7
CLASSES: dict[str, Any] = {
    "padded": (PaddedMlpConfig, PaddedMlpForSequenceClassification),
    "layer per input": (LayerPerInputConfig, LayerPerInputForSequenceClassification),
}
INPUTS: dict[str, dict[str, Any]] = {
    "vectors": {"embedding_size": 5},
    "one hot": {},
    "integer": {"input_coding": "integer"},
}


def inputs_of(model: PreTrainedModel, ids: Tensor) -> list[Tensor]:
    """u_1, ..., u_L of one text without special tokens, from the slides' words alone."""
    config = model.config
    if config.embedding_size is not None:
        return list(model.base_model.embed_tokens.weight[ids])
    if config.input_coding == "integer":
        return [torch.tensor([(int(token) + 1) / config.vocab_size]) for token in ids]
    return [torch.eye(config.vocab_size)[token] for token in ids]


class WordSequenceTests(TokenTests):
    """Not collected by itself: what both networks declare in common."""

    empty_rows = True
    config_class: ClassVar[type]
    fields: ClassVar[dict[str, Any]] = {"embedding_size": 5}
    contradictory_configs: ClassVar[tuple[dict[str, Any], ...]] = (
        {"input_coding": "integer", "embedding_size": 5},
        {"dropout": 1.0},
    )

    def config(self) -> Any:
        return self.config_class(vocab_size=20, max_position_embeddings=LONGEST, num_labels=3, **SPECIAL, **self.fields)

    def processing_class(self) -> Any:
        return WordTokenizer.from_words([f"w{number}" for number in range(17)], unk_token=None)

    def pipeline_inputs(self) -> list[Any]:
        return ["w3 w1 w4", "w1", "w5 w9"]

    def make_inputs(self, batch: int, lengths: Any) -> Tensors:
        return token_inputs(self.config(), lengths)


class PaddedMlpTests(WordSequenceTests):
    """Not collected by itself."""

    config_class = PaddedMlpConfig
    contradictory_configs = (*WordSequenceTests.contradictory_configs, {"hidden_sizes": []}, {"hidden_sizes": [4, 0]})

    def vectors(self, model: PreTrainedModel, inputs: Tensors) -> Tensor:
        """σ(h_K), σ the ReLU."""
        found = []
        for ids in inputs["input_ids"]:
            u = inputs_of(model, ids)
            hidden = torch.cat([*u, *(torch.zeros_like(u[0]) for _ in range(LONGEST - len(u)))])
            for layer in model.base_model.layers:
                if isinstance(layer, nn.Linear):
                    hidden = (layer.weight @ hidden + layer.bias).clamp(min=0)
            found.append(hidden)
        return torch.stack(found)


class LayerPerInputTests(WordSequenceTests):
    """Not collected by itself."""

    config_class = LayerPerInputConfig
    fields: ClassVar[dict[str, Any]] = {"embedding_size": 5, "hidden_size": 6}
    # Training reads texts of six words; no loss depends on the layer behind them.
    zero_gradients: ClassVar[dict[str, str]] = {"*layers.6.*": "no text has a seventh word"}

    def states(self, model: PreTrainedModel, inputs: Tensors) -> Tensor:
        """h_1, ..., h_L by the slide's formula."""
        found = []
        for ids in inputs["input_ids"]:
            h, row = torch.zeros(model.config.hidden_size), []
            for u, layer in zip(inputs_of(model, ids), model.base_model.layers, strict=False):
                h = torch.tanh(layer.linear.weight @ torch.cat((h, u)) + layer.linear.bias)
                row.append(h)
            found.append(torch.stack(row))
        return torch.stack(found)


def classified(model: PreTrainedModel, vectors: Tensor) -> Tensors:
    return {"logits": vectors @ model.classifier.weight.T + model.classifier.bias}


class TestPaddedMlp(PaddedMlpTests, ClassifierTests):
    model_class = PaddedMlpForSequenceClassification
    fields: ClassVar[dict[str, Any]] = {"embedding_size": 5, "hidden_sizes": [6, 4]}

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        return classified(model, self.vectors(model, inputs))


class TestPaddedMlpOneHot(TestPaddedMlp):
    fields: ClassVar[dict[str, Any]] = {"hidden_sizes": [6]}


class TestPaddedMlpInteger(TestPaddedMlp):
    fields: ClassVar[dict[str, Any]] = {"input_coding": "integer", "hidden_sizes": [16]}


class TestPaddedMlpModel(PaddedMlpTests):
    model_class = PaddedMlpModel
    # A ReLU that is 0 for all four texts stays so, whatever its target.
    overfit: ClassVar[dict[str, float]] = {"remaining": 0.4}
    sequence_inputs = ("input_ids", "attention_mask")
    pipeline_task = "feature-extraction"

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        words = [torch.stack(inputs_of(model, ids)) for ids in inputs["input_ids"]]
        return {"last_hidden_state": torch.stack(words), "pooler_output": self.vectors(model, inputs)}

    def training_loss(self, model: PreTrainedModel, inputs: Tensors) -> Tensor:
        target = torch.rand(len(inputs["input_ids"]), 64, generator=torch.Generator().manual_seed(5))
        return (model(**inputs).pooler_output - target).square().mean()


class TestLayerPerInput(LayerPerInputTests, ClassifierTests):
    model_class = LayerPerInputForSequenceClassification

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        return classified(model, self.states(model, inputs)[:, -1])


class TestLayerPerInputOneHot(TestLayerPerInput):
    fields: ClassVar[dict[str, Any]] = {"hidden_size": 6}


class TestLayerPerInputInteger(TestLayerPerInput):
    fields: ClassVar[dict[str, Any]] = {"input_coding": "integer", "hidden_size": 6}


class TestLayerPerInputModel(LayerPerInputTests):
    model_class = LayerPerInputModel
    sequence_inputs = ("input_ids", "attention_mask")
    pipeline_task = "feature-extraction"

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        states = self.states(model, inputs)
        return {"last_hidden_state": states, "pooler_output": states[:, -1]}


def build(name: str, tokenizer: Any, **fields: Any) -> Any:
    config_class, model_class = CLASSES[name]
    special = {f"{kind}_token_id": getattr(tokenizer, f"{kind}_token_id") for kind in ("bos", "eos", "pad")}
    names = {"id2label": {0: "negative", 1: "positive"}, "vocab_size": len(tokenizer), "max_position_embeddings": 8}
    torch.manual_seed(0)
    return model_class(config_class(**names | special | fields))


@pytest.fixture
def tokenizer() -> Any:
    return WordTokenizer.train(TEXTS, progress=False)


both = pytest.mark.parametrize("name", CLASSES)


# Against others


def test_equal_weights_make_the_elman_network() -> None:
    """With one A and one b for all layers, one input per layer is the recurrent network: states and gradients."""
    elman = RecurrentModel(
        RecurrentConfig(vocab_size=20, cell_type="elman", hidden_size=6, embedding_size=5, num_hidden_layers=1)
    ).eval()
    ours = LayerPerInputModel(
        LayerPerInputConfig(vocab_size=20, embedding_size=5, hidden_size=6, max_position_embeddings=9)
    ).eval()
    for parameter in elman.parameters():
        nn.init.normal_(parameter, std=0.5)
    rnn = elman.layers[0].rnn
    with torch.no_grad():
        ours.embed_tokens.weight.copy_(elman.embed_tokens.weight)
        for layer in ours.layers:
            layer.linear.weight.copy_(torch.cat((rnn.weight_hh_l0, rnn.weight_ih_l0), 1))
            layer.linear.bias.copy_(rnn.bias_hh_l0 + rnn.bias_ih_l0)
    ids = torch.randint(20, (3, 9), generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[1] * 9, [0] * 4 + [1] * 5, [1] * 2 + [0] * 7])
    found, expected = (model(input_ids=ids, attention_mask=mask).last_hidden_state for model in (ours, elman))
    assert_close(found, expected, rtol=0, atol=1e-6)
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(1))
    for states in (found, expected):
        (states * weights).sum().backward()
    assert_close(ours.embed_tokens.weight.grad, elman.embed_tokens.weight.grad, rtol=0, atol=1e-5)
    total = sum(layer.linear.weight.grad for layer in ours.layers)
    assert_close(total, torch.cat((rnn.weight_hh_l0.grad, rnn.weight_ih_l0.grad), 1), rtol=0, atol=1e-5)
    assert_close(sum(layer.linear.bias.grad for layer in ours.layers), rnn.bias_hh_l0.grad, rtol=0, atol=1e-5)


# What counts as a word


@both
@pytest.mark.parametrize("fields", INPUTS.values(), ids=INPUTS)
@torch.no_grad()
def test_only_words_in_their_order_count(name: str, fields: dict[str, Any]) -> None:
    """`<s>`, `</s>` and padding change nothing, with a mask and without, wherever they stand."""
    config_class, model_class = CLASSES[name]
    torch.manual_seed(0)
    model = model_class(config_class(vocab_size=20, max_position_embeddings=4, **SPECIAL, **fields)).eval()
    bos, eos, pad = SPECIAL.values()
    expected = model(torch.tensor([[3, 1, 4]])).logits
    rows = ([pad, pad, bos, 3, 1, 4, eos], [3, 1, 4, pad], [bos, 3, eos, 1, 4, eos], [3, 1, pad, pad, 4])
    for row in rows:
        ids = torch.tensor([row])
        assert_close(model(ids).logits, expected)
        assert_close(model(ids, attention_mask=(ids != pad).long()).logits, expected)
    masked = model(torch.tensor([[9, 3, 9, 1, 4, 9]]), attention_mask=torch.tensor([[0, 1, 0, 1, 1, 0]]))
    assert_close(masked.logits, expected)
    assert not torch.allclose(model(torch.tensor([[1, 3, 4]])).logits, expected), "the order counts"


@both
@torch.no_grad()
def test_empty_texts(name: str, tokenizer: Any) -> None:
    """A text without words is M zero vectors, or h_0 = 0; in a batch, alone, and in the pipeline."""
    model = build(name, tokenizer, embedding_size=4).eval()
    nothing = model(torch.empty(1, 0, dtype=torch.long)).logits
    hidden = torch.zeros(1, 64)
    if name == "padded":
        hidden = torch.relu(model.model.layers[0].bias)[None]
    assert_close(nothing, model.classifier(hidden))
    batch = tokenizer(["", "a fine film"], padding=True, return_tensors="pt")
    assert_close(model(**batch).logits[:1], nothing)
    pipe = pipeline("text-classification", model=model, tokenizer=tokenizer)
    assert pipe("")[0]["score"] == pytest.approx(nothing.softmax(1).max().item(), rel=1e-5)


@torch.no_grad()
def test_layers_behind_a_text_are_not_read() -> None:
    """A short text stops at its own layer, also beside a long one, whatever the weights behind it are."""
    model = LayerPerInputForSequenceClassification(
        LayerPerInputConfig(vocab_size=20, embedding_size=3, max_position_embeddings=6, **SPECIAL)
    ).eval()
    inputs = token_inputs(model.config, (2, 3))
    before = model(**inputs).logits
    for layer in model.model.layers[3:]:
        layer.linear.weight.fill_(float("nan"))
    for each in (model, model.train()):
        assert_close(each(**inputs).logits, before, rtol=0, atol=0)
    model.model.layers[2].linear.weight.fill_(float("nan"))
    assert model(**inputs).logits.isnan().any(1).tolist() == [False, True]


# The maximum length


@both
def test_a_text_that_is_too_long_is_an_error(name: str, tokenizer: Any, tmp_path: Path) -> None:
    """Never cut silently: the error names the row and the way out, truncation=True, which then works."""
    model = build(name, tokenizer, embedding_size=4).eval()
    long = "fine " * 9 + "film"
    batch = tokenizer(["a film", long, "dull"], padding=True, return_tensors="pt")
    with pytest.raises(ValueError, match=r"row 1 of the batch has 10 words; the model reads at most 8 .*truncation"):
        model(**batch)
    export(model, tokenizer, tmp_path)
    pipe = pipeline("text-classification", model=str(tmp_path))
    with pytest.raises(ValueError, match="10 words"):
        pipe(long)
    assert pipe.tokenizer.model_max_length == 8
    assert pipe(long, truncation=True) == pipe("fine " * 7)


@pytest.mark.cases(1, 1)
@both
def test_a_text_that_is_too_long_while_tracing_is_an_error(name: str, tokenizer: Any) -> None:
    model = build(name, tokenizer, embedding_size=4).eval()
    compiled: Any = torch.compile(model, backend="eager")
    assert_close(compiled(torch.zeros(2, 8, dtype=torch.long)).logits.shape, torch.Size((2, 2)))
    for words in (9, 30):
        with pytest.raises(RuntimeError, match="out of bounds"):
            compiled(torch.zeros(2, words, dtype=torch.long))


def test_zero_pad_counts_words_only() -> None:
    words = torch.tensor([[True] * 3 + [False] * 9, [True] * 4 + [False] * 8])
    assert zero_pad(torch.ones(2, 12, 1), words, 4).sum(1).flatten().tolist() == [3, 4]
    with pytest.raises(ValueError, match="row 1 of the batch has 4 words; the model reads at most 3"):
        zero_pad(torch.ones(2, 12, 1), words, 3)


def test_layers_have_a_bound() -> None:
    with pytest.raises(ValueError, match="max_position_embeddings is 100000; at most 1024 is allowed"):
        LayerPerInputConfig(max_position_embeddings=100_000)
    with pytest.raises(ValueError, match="num_hidden_layers of LayerPerInputConfig follows from its other fields"):
        LayerPerInputConfig(num_hidden_layers=3)


# Files


@both
def test_auto_classes_give_the_saved_network(name: str, tokenizer: Any, tmp_path: Path) -> None:
    """Each of the two has a model type of its own, so a folder, a configuration and a new model are never the other."""
    config_class, model_class = CLASSES[name]
    model = build(name, tokenizer, embedding_size=4).eval()
    model.save_pretrained(tmp_path)
    batch = tokenizer(TEXTS, padding=True, return_tensors="pt")
    config = AutoConfig.from_pretrained(tmp_path)
    assert type(config) is config_class
    assert type(AutoModelForSequenceClassification.from_config(config)) is model_class
    with torch.no_grad():
        vectors = AutoModel.from_pretrained(tmp_path)(**batch).pooler_output
        logits = AutoModelForSequenceClassification.from_pretrained(tmp_path)(**batch).logits
    assert_close(model.classifier(vectors), logits, rtol=0, atol=0)
    other = next(cls for kind, (_, cls) in CLASSES.items() if kind != name)
    with pytest.raises(ValueError, match=f"cannot read a checkpoint of model_type '{config.model_type}'"):
        other.from_pretrained(tmp_path)


@both
def test_words_can_be_added_to_trained_vectors_only(name: str, tokenizer: Any) -> None:
    model = build(name, tokenizer, embedding_size=4).eval()
    before = model(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits
    tokenizer.add_tokens(["superb"])
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    assert model.config.vocab_size == len(tokenizer)
    assert_close(model(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits, before)
    for coding in ("one_hot", "integer"):
        fixed = build(name, tokenizer, input_coding=coding)
        with pytest.raises(ValueError, match=f"input_coding='{coding}' .*cannot be resized: .* train a new model"):
            fixed.resize_token_embeddings(len(tokenizer) + 1)
        assert fixed.resize_token_embeddings(len(tokenizer)) is fixed.model.embed_tokens
