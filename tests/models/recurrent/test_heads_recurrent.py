# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The recurrent classifier, of texts and of pairs, and the tagger."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import PreTrainedModel

from hf_lecture_models import (
    RecurrentConfig,
    RecurrentForCausalLM,
    RecurrentForSequenceClassification,
    RecurrentForTokenClassification,
    RecurrentModel,
    WordTokenizer,
)
from tests.model_tests import ClassifierTests, TaggerTests, Tensors, TokenHeadTests, left_padded, token_inputs
from tests.models.recurrent.test_modeling_recurrent import WORDS, reference_states, small
from tests.models.recurrent_steps import OnTorchKernels

LENGTHS = (5, 2, 7, 1)


def pooled(config: RecurrentConfig, states: Tensor) -> Tensor:
    """The vector of one text from its states (seq, size)."""
    if config.pooling == "last" and config.bidirectional:
        half = states.shape[1] // 2
        return torch.cat((states[-1, :half], states[0, half:]))
    return {"last": states[-1], "mean": states.mean(0), "max": states.max(0).values}[config.pooling]


def combined(name: str, u: Any, v: Any, join: Any) -> Any:
    return {"sum": lambda: u + v, "concat": lambda: join([u, v])}.get(name, lambda: join([u, v, abs(u - v), u * v]))()


def affine(layer: Any, vectors: Tensor) -> Tensor:
    return vectors @ layer.weight.T + layer.bias


class RecurrentHeadTests(OnTorchKernels, TokenHeadTests):
    """Not collected by itself: what the heads declare in common."""

    fields: ClassVar[dict[str, Any]] = {}
    overfit: ClassVar[dict[str, float]] = {"learning_rate": 0.05}

    def config(self) -> RecurrentConfig:
        return small(num_labels=3, **self.fields)

    def processing_class(self) -> Any:
        return WordTokenizer.train([" ".join(WORDS)], progress=False)


class RecurrentClassifierTests(RecurrentHeadTests, ClassifierTests):
    model_class = RecurrentForSequenceClassification
    contradictory_configs = ({"pair_combination": "difference"},)

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        states = reference_states(model.model, inputs)
        vectors = torch.stack([pooled(model.config, one) for one in states])
        return {"logits": affine(model.classifier, vectors)}


class TestLstmLast(RecurrentClassifierTests):
    fields: ClassVar[dict[str, Any]] = {"dropout": 0.1}


class TestBidirectionalGruLast(RecurrentClassifierTests):
    fields: ClassVar[dict[str, Any]] = {"cell_type": "gru", "bidirectional": True}


class TestElmanMax(RecurrentClassifierTests):
    fields: ClassVar[dict[str, Any]] = {"cell_type": "elman", "pooling": "max"}


class TestProjectedLstmMean(RecurrentClassifierTests):
    fields: ClassVar[dict[str, Any]] = {"projection_size": 5, "output_projection_size": 9, "pooling": "mean"}


class TestPairs(RecurrentClassifierTests):
    """Read apart: a row is two texts, of which the tokenizer says which token belongs to which."""

    fields: ClassVar[dict[str, Any]] = {"bidirectional": True, "pooling": "max", "pair_combination": "infersent"}
    sequence_inputs = ("input_ids", "attention_mask", "token_type_ids")
    shortest = 2

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        inputs = super().make_inputs(batch, lengths)
        types = torch.zeros_like(inputs["input_ids"])
        for row, length in enumerate(lengths):
            types[row, 1 + row % max(length - 1, 1) : length] = 1
        return inputs | {"token_type_ids": types}

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        vectors = []
        for ids, types in zip(inputs["input_ids"], inputs["token_type_ids"], strict=True):
            texts = ({"input_ids": ids[types == side][None]} for side in (0, 1))
            u, v = (pooled(model.config, reference_states(model.model, text)[0]) for text in texts)
            vectors.append(torch.cat((u, v, (u - v).abs(), u * v)))
        return {"logits": affine(model.classifier, torch.stack(vectors))}

    def processing_class(self) -> Any:
        return WordTokenizer.train([" ".join(WORDS)], template="pair", progress=False)

    def pipeline_inputs(self) -> list[Any]:
        return [{"text": "w1 w2 w3", "text_pair": "w4"}, {"text": "w5", "text_pair": "w1 w2"}]

    @torch.no_grad()
    def test_states_on_request(self) -> None:
        """Of the first texts, then of the second ones, as many rows; 0 where the other text stands."""
        model, inputs = self.build(), self.make_inputs(2, (5, 3))
        found = model(**inputs, output_hidden_states=True).hidden_states
        types, real = inputs["token_type_ids"], inputs["attention_mask"].bool()
        for side in (0, 1):
            chosen = real & (types == side)
            expected = model.model(inputs["input_ids"], attention_mask=chosen, output_hidden_states=True).hidden_states
            for ours, theirs in zip(found, expected, strict=True):
                assert_close(ours.chunk(2)[side], theirs, rtol=0, atol=1e-6)
        assert not found[-1][:2][types == 1].any()


class RecurrentTaggerTests(RecurrentHeadTests, TaggerTests):
    model_class = RecurrentForTokenClassification
    lora: ClassVar[dict[str, Any]] = {
        "target_modules": ["embed_tokens"],
        "target_parameters": ["rnn.weight_ih_l0", "rnn.weight_hh_l0"],
    }

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        return {"logits": affine(model.classifier, reference_states(model.model, inputs))}


class TestBidirectionalLstmTagger(RecurrentTaggerTests):
    bidirectional = True
    fields: ClassVar[dict[str, Any]] = {"bidirectional": True, "dropout": 0.1}
    pipeline_arguments: ClassVar[dict[str, Any]] = {"aggregation_strategy": "simple"}


class TestElmanTagger(RecurrentTaggerTests):
    bidirectional = False
    fields: ClassVar[dict[str, Any]] = {"cell_type": "elman", "output_projection_size": 9}


def build(model_class: Any = RecurrentForSequenceClassification, **fields: Any) -> Any:
    model = model_class(small(num_labels=3, **fields))
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model.eval()


# Against others


@pytest.mark.parametrize("bidirectional", [False, True], ids=["ahead", "both ways"])
@torch.no_grad()
def test_last_states_of_torch(bidirectional: bool) -> None:
    """Those that a stacked nn.LSTM itself returns for a text without padding, and we find in a padded batch."""
    model = build(bidirectional=bidirectional)
    theirs = nn.LSTM(10, 12, num_layers=2, bidirectional=bidirectional, batch_first=True)
    for index, layer in enumerate(model.model.layers):
        for half, suffix in ((layer.forwards, ""), (layer.backwards, "_reverse")) if bidirectional else ((layer, ""),):
            for name, parameter in half.rnn.named_parameters():
                getattr(theirs, name.replace("_l0", f"_l{index}{suffix}")).copy_(parameter)
    inputs = token_inputs(model.config, LENGTHS)
    for given in (inputs, left_padded(inputs, tuple(inputs), LENGTHS)):
        logits = model(**given).logits
        for row, length in enumerate(LENGTHS):
            _, (h, _) = theirs(model.model.embed_tokens(inputs["input_ids"][row : row + 1, :length]))
            last = h[-2:].flatten() if bidirectional else h[-1, 0]  # the last layer's, ahead and back
            assert_close(logits[row], affine(model.classifier, last), rtol=0, atol=1e-5)


@pytest.mark.parametrize("pooling", ["last", "mean", "max"])
@pytest.mark.parametrize("combination", ["sum", "concat", "infersent"])
@pytest.mark.parametrize("bidirectional", [False, True])
@torch.no_grad()
def test_two_separate_calls(bidirectional: bool, combination: str, pooling: str) -> None:
    """Wherever the texts of a pair and padding stand, its vectors are those of each text by itself, with one set."""
    model = build(bidirectional=bidirectional, pooling=pooling, pair_combination=combination)
    single = build(bidirectional=bidirectional, pooling=pooling)
    single.model.load_state_dict(model.model.state_dict())
    single.classifier = nn.Identity()  # its logits are the vectors
    firsts, seconds = (torch.randint(28, (3, 4)) for _ in range(2))
    texts = [[side[row, : 2 + (row + k) % 3] for k, side in enumerate((firsts, seconds))] for row in range(3)]
    expected = []
    for pair in texts:
        u, v = (single(text[None]).logits[0].double().numpy() for text in pair)
        vector = torch.from_numpy(combined(combination, u, v, np.concatenate)).float()
        expected.append(affine(model.classifier, vector))
    for layout in ("right", "left", "apart", "second first", "mixed"):
        rows = [laid_out(*pair, layout) for pair in texts]
        ids, types, mask = (torch.stack(columns) for columns in zip(*rows, strict=True))
        logits = model(ids, attention_mask=mask, token_type_ids=types).logits
        assert_close(logits, torch.stack(expected), rtol=0, atol=1e-5, msg=lambda m, where=layout: f"{where}: {m}")


def laid_out(first: Tensor, second: Tensor, layout: str) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, types and mask of one pair, in 16 columns; padding has any ids and types."""
    ids, types, mask = torch.randint(28, (16,)), torch.randint(2, (16,)), torch.zeros(16, dtype=torch.long)
    total = len(first) + len(second)
    begin = {"right": 0, "left": 16 - total, "apart": 2, "second first": 3, "mixed": 0}[layout]
    places = torch.arange(begin, begin + total)
    if layout == "apart":
        places[len(first) :] += 5
    if layout == "second first":
        places = places.roll(-len(second))
    if layout == "mixed":
        places = torch.randperm(16)[:total]
        places = torch.cat([part.sort().values for part in places.split([len(first), len(second)])])
    ids[places], mask[places] = torch.cat((first, second)), 1
    types[places] = torch.tensor([0] * len(first) + [1] * len(second))
    return ids, types, mask


# Padding


@pytest.mark.parametrize("pooling", ["last", "mean", "max"])
@pytest.mark.parametrize("bidirectional", [False, True])
@torch.no_grad()
def test_holes_in_the_mask(bidirectional: bool, pooling: str) -> None:
    """A text is what the mask lets through, and a row of nothing a vector of zeros."""
    model = build(bidirectional=bidirectional, pooling=pooling)
    ids = torch.randint(28, (5, 9))
    mask = torch.tensor([[0, 0, 1, 0, 1, 1, 0, 1, 0], [1] * 9, [0] * 9, [0] * 8 + [1], [1] + [0] * 8])
    logits = model(ids, attention_mask=mask).logits
    for row in (0, 1, 3, 4):
        alone = model(ids[row][mask[row].bool()][None]).logits[0]
        assert_close(logits[row], alone, rtol=0, atol=1e-5)
    assert_close(logits[2], model.classifier.bias)


def test_no_gradient_flows_into_padding() -> None:
    for fields in ({"pooling": "max"}, {"pooling": "mean"}, {"bidirectional": True}):
        model, ids = build(**fields), torch.arange(8).view(2, 4)
        model(ids, attention_mask=torch.tensor([[1, 1, 0, 0], [0, 1, 1, 1]])).logits.sum().backward()
        moved = model.model.embed_tokens.weight.grad.abs().sum(1) > 0
        assert moved.nonzero().flatten().tolist() == [0, 1, 5, 6, 7]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@torch.no_grad()
def test_half_precision_hides_padding(dtype: torch.dtype) -> None:
    """The number that the maximum has for minus infinity fits into the type."""
    model, ids = build(pooling="max", num_hidden_layers=1).to(dtype), torch.randint(28, (2, 6))
    alone = model(ids[:1, :3]).logits[0]
    found = model(ids, attention_mask=torch.tensor([[1, 1, 1, 0, 0, 0], [1] * 6])).logits[0]
    assert_close(found, alone, rtol=0, atol=0.05)


# Dropout


@pytest.mark.parametrize("fields", [{"pooling": "max"}, {"bidirectional": True, "pooling": "mean"}], ids=str)
def test_dropout_acts_on_the_texts_vector(fields: dict[str, Any]) -> None:
    """And not on the states below it, whose maximum it would raise."""
    model = build(num_hidden_layers=1, dropout=0.5, **fields)
    inputs = token_inputs(model.config, (6, 6))
    whole = model.model(**inputs).last_hidden_state
    model.train()
    model.model.dropout.p = 0.0  # of the word vectors
    assert_close(model.model(**inputs).last_hidden_state, whole, rtol=0, atol=0)
    assert not torch.equal(model(**inputs).logits, model(**inputs).logits)


def test_the_taggers_dropout_acts_once() -> None:
    model = build(RecurrentForTokenClassification, num_hidden_layers=1, dropout=0.5).train()
    model.classifier = nn.Identity()
    dropped = torch.stack([model(torch.randint(28, (4, 6))).logits == 0 for _ in range(20)]).float().mean()
    assert 0.45 < dropped < 0.55


# From a language model (Dai & Le 2015)


@pytest.mark.parametrize(
    "fields", [{}, {"tie_word_embeddings": True, "embedding_size": None}, {"output_layer": "adaptive"}], ids=str
)
@pytest.mark.parametrize("head", [RecurrentForSequenceClassification, RecurrentForTokenClassification])
def test_a_head_starts_from_a_saved_language_model(head: Any, fields: dict[str, Any], tmp_path: Path) -> None:
    language_model = build(RecurrentForCausalLM, **fields)
    language_model.save_pretrained(tmp_path / "lm")
    model, info = head.from_pretrained(tmp_path / "lm", num_labels=4, output_loading_info=True)
    assert sorted(info["missing_keys"]) == ["classifier.bias", "classifier.weight"]
    for name, tensor in language_model.model.state_dict().items():
        assert torch.equal(model.model.state_dict()[name], tensor), name
    assert model.classifier.out_features == model.config.num_labels == 4


def test_how_a_text_becomes_a_vector_is_the_classifiers_choice(tmp_path: Path) -> None:
    build(RecurrentForCausalLM).save_pretrained(tmp_path)
    fields = {"pooling": "max", "pair_combination": "infersent"}
    model = RecurrentForSequenceClassification.from_pretrained(tmp_path, **fields)
    assert model.classifier.in_features == 4 * 12
    with pytest.raises(ValueError, match=r"lacks tensors: model\.layers\.0\.backwards"):
        RecurrentForSequenceClassification.from_pretrained(tmp_path, bidirectional=True)


# Bad input


def test_the_types_of_a_pair_are_named_in_the_signature() -> None:
    names = signature(RecurrentForSequenceClassification.forward).parameters
    assert names["token_type_ids"].default is None, "Trainer and pipelines read the signature"
    assert "token_type_ids" not in signature(RecurrentForTokenClassification.forward).parameters


def test_single_texts_and_pairs_are_told_apart() -> None:
    pairs, single, ids = build(pair_combination="concat"), build(), torch.randint(28, (2, 4))
    types, zeros = torch.tensor([[0, 0, 1, 1], [0, 1, 1, 1]]), torch.zeros(2, 4, dtype=torch.long)
    assert_close(single(ids, token_type_ids=zeros).logits, single(ids).logits)
    wrong = [
        (single, types, "tell two texts apart, but this model reads one: build it with a pair_combination, or leave"),
        (pairs, None, r"token_type_ids are missing, .* tokenizer\(texts, other_texts\)"),
        (pairs, zeros, r"row 0 of the batch has no token of the second text \(token_type_ids 1\)"),
        (pairs, types + torch.tensor([[0], [1]]), "hold other values than 0, for the first of two texts, and 1"),
        (pairs, torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1]]), "row 1 of the batch has no token of the first text"),
        (pairs, types[:, :3], r"token_type_ids has shape \(2, 3\); that of the input, \(2, 4\), is needed"),
    ]
    for model, given, message in wrong:
        with pytest.raises(ValueError, match=message):
            model(ids, token_type_ids=given)
    hidden = torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0]])
    with pytest.raises(ValueError, match="row 1 of the batch has no token of the second text"):
        pairs(ids, attention_mask=hidden, token_type_ids=types)


@pytest.mark.parametrize("fields", [{"pooling": "max"}, {"pair_combination": "sum"}], ids=str)
@pytest.mark.parametrize("model_class", [RecurrentForCausalLM, RecurrentForTokenClassification])
def test_pooling_of_a_model_without_a_texts_vector_is_refused(model_class: Any, fields: dict[str, Any]) -> None:
    (name,) = fields
    with pytest.raises(
        ValueError, match=f"{name} is .*{model_class.__name__} makes no vector of a text; .* set {name}"
    ):
        model_class(small(**fields))
    RecurrentModel(small(**fields))  # what a classifier has below its head


def test_directions_that_are_mixed_are_not_taken_apart() -> None:
    fields = {"bidirectional": True, "output_projection_size": 9}
    with pytest.raises(ValueError, match="set output_projection_size=None, or pooling='mean' or 'max'"):
        build(**fields)
    build(pooling="max", **fields)
