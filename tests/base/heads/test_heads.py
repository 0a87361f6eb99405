# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Each head on the smallest encoder: every check of model_tests.py, against plain torch."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close
from transformers import AutoModel, PreTrainedModel

from hf_lecture_models.base.heads.classification import SequenceClassificationHead, TokenClassificationHead
from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentModel
from hf_lecture_models.models.recurrent.modeling_recurrent import RecurrentPreTrainedModel
from tests.model_tests import (
    ClassifierTests,
    MaskedLMTests,
    ModelTests,
    MultipleChoiceTests,
    QuestionAnsweringTests,
    TaggerTests,
    Tensors,
    token_inputs,
)
from tests.stand_in import (
    EncoderConfig,
    EncoderForMaskedLM,
    EncoderForMultipleChoice,
    EncoderForQuestionAnswering,
    EncoderForSequenceClassification,
    EncoderForTokenClassification,
    EncoderModel,
    encoder_tokenizer,
)
from tests.stand_in.modeling_encoder import EncoderPreTrainedModel


def states(model: PreTrainedModel, ids: Tensor) -> Tensor:
    """The encoder's states (seq, hidden) for the ids (seq,) of one text without padding, from its weights by name."""
    weights = {name.removeprefix("model."): parameter for name, parameter in model.named_parameters()}
    vectors = weights["embed_tokens.weight"][ids] + weights["embed_types.weight"][0]
    mixed = torch.softmax(vectors @ vectors.T, dim=1) @ vectors
    return torch.tanh(vectors + F.linear(mixed, weights["block.projection.weight"], weights["block.projection.bias"]))


def affine(model: PreTrainedModel, name: str, vectors: Tensor) -> Tensor:
    return vectors @ model.get_parameter(f"{name}.weight").T + model.get_parameter(f"{name}.bias")


class EncoderTests(ModelTests):
    """Not collected by itself: what the encoder's heads declare in common."""

    registered_by = "tests.stand_in"

    def config(self) -> EncoderConfig:
        return EncoderConfig(num_labels=3)


class TestEncoderModel(EncoderTests):
    model_class = EncoderModel
    auto_class = AutoModel
    sequence_inputs = ("input_ids", "attention_mask")

    def make_inputs(self, batch: int, lengths: Any) -> Tensors:
        return token_inputs(self.config(), lengths)

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        return {"last_hidden_state": torch.stack([states(model, ids) for ids in inputs["input_ids"]])}


class TestSequenceClassification(EncoderTests, ClassifierTests):
    model_class = EncoderForSequenceClassification

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        means = [states(model, ids).mean(dim=0) for ids in inputs["input_ids"]]
        return {"logits": affine(model, "classifier", torch.stack(means))}

    def processing_class(self) -> Any:
        return encoder_tokenizer()


class TestTokenClassification(EncoderTests, TaggerTests):
    model_class = EncoderForTokenClassification

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        return {"logits": torch.stack([affine(model, "classifier", states(model, ids)) for ids in inputs["input_ids"]])}

    def processing_class(self) -> Any:
        return encoder_tokenizer(padding_side="left")


class TestQuestionAnswering(EncoderTests, QuestionAnsweringTests):
    model_class = EncoderForQuestionAnswering

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        both = torch.stack([affine(model, "qa_outputs", states(model, ids)) for ids in inputs["input_ids"]])
        return {"start_logits": both[:, :, 0], "end_logits": both[:, :, 1]}

    def processing_class(self) -> Any:
        return encoder_tokenizer()


class TestMultipleChoice(EncoderTests, MultipleChoiceTests):
    model_class = EncoderForMultipleChoice

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        means = [[states(model, choice).mean(dim=0) for choice in choices] for choices in inputs["input_ids"]]
        vectors = torch.stack([torch.stack(row) for row in means])
        return {"logits": affine(model, "classifier", vectors)[:, :, 0]}


class TestMaskedLM(EncoderTests, MaskedLMTests):
    model_class = EncoderForMaskedLM

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        return {"logits": torch.stack([affine(model, "lm_head", states(model, ids)) for ids in inputs["input_ids"]])}

    def processing_class(self) -> Any:
        return encoder_tokenizer()


class RecurrentTagger(TokenClassificationHead, RecurrentPreTrainedModel):
    """A head around a model of the package that can go on from a state."""

    base_model_class = RecurrentModel

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config)
        self.model = RecurrentModel(config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()


class Pools(SequenceClassificationHead, EncoderPreTrainedModel):
    """A classifier whose author forgot to say how a text becomes a vector."""

    base_model_class = EncoderModel


class Tagger(TokenClassificationHead, EncoderPreTrainedModel):
    base_model_class = EncoderModel


class DoubleTagger(Tagger):
    def add_layers(self, config: EncoderConfig) -> None:
        super().add_layers(config)
        self.classifier = nn.Linear(config.hidden_size, 2 * config.num_labels)


def test_no_way_of_pooling_is_assumed() -> None:
    with pytest.raises(NotImplementedError, match="Pools must define pool"):
        Pools(EncoderConfig())(**token_inputs(EncoderConfig(), (6, 6)))


def test_a_head_builds_the_base_model_and_its_own_layers() -> None:
    torch.manual_seed(0)
    built = Tagger(EncoderConfig(dropout=0.25))
    assert [name for name, _ in built.named_children()] == ["model", "dropout", "classifier"]
    assert built.dropout.p == 0.25
    torch.manual_seed(0)
    spelled_out = EncoderForTokenClassification(EncoderConfig())  # it has an `__init__` of its own
    for name, weight in spelled_out.state_dict().items():
        assert torch.equal(weight, built.state_dict()[name]), name


def test_an_architecture_may_have_other_layers_in_its_head() -> None:
    logits = DoubleTagger(EncoderConfig())(**token_inputs(EncoderConfig(), (6, 6))).logits
    assert logits.shape[-1] == 2 * EncoderConfig().num_labels
    parameters = inspect.signature(DoubleTagger.forward).parameters
    assert list(parameters).count("token_type_ids") == 1


def test_dropout_acts_in_front_of_the_classifier() -> None:
    inputs = token_inputs(EncoderConfig(), (6, 6))
    for head in (EncoderForSequenceClassification, EncoderForTokenClassification):
        model = head(EncoderConfig(dropout=0.5)).train()
        assert not torch.equal(model(**inputs).logits, model(**inputs).logits)
        model.eval()
        assert_close(model(**inputs).logits, model(**inputs).logits, rtol=0, atol=0)


def test_a_head_compiles_in_one_piece_and_exports() -> None:
    """Nothing of it, the refusal of inputs and the check of labels included, breaks the graph."""
    model = EncoderForSequenceClassification(EncoderConfig(num_labels=3)).eval()
    inputs, labels = token_inputs(model.config, (6, 4)), torch.tensor([2, 0])
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    assert_close(compiled(**inputs, labels=labels).loss, model(**inputs, labels=labels).loss)
    free = {name: {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO} for name in inputs}
    exported = torch.export.export(model, (), kwargs=inputs, dynamic_shapes=free).module()
    other = token_inputs(model.config, (3, 5, 2))
    assert_close(exported(**other).logits, model(**other).logits)


def test_the_base_model_may_be_compiled() -> None:
    model = EncoderForTokenClassification(EncoderConfig(num_labels=3)).eval()
    inputs = token_inputs(model.config, (6, 4))
    expected = model(**inputs).logits
    model.model = torch.compile(model.model, backend="eager")
    assert_close(model(**inputs).logits, expected)
    with pytest.raises(TypeError, match="takes no argument position_ids"):
        model(**inputs, position_ids=inputs["input_ids"])


def test_no_cache_is_kept() -> None:
    """A base model that returns its state unless told otherwise is told so; a user may insist."""
    model = RecurrentTagger(RecurrentConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_labels=3))
    returned: list[Any] = []
    model.model.register_forward_hook(lambda module, given, outputs: returned.append(outputs.get("past_key_values")))
    inputs = token_inputs(model.config, (6, 4))
    assert model.model(**inputs).past_key_values is not None
    for use_cache in (None, True):
        model(**inputs, use_cache=use_cache)
    model(**inputs)
    assert [cache is None for cache in returned] == [False, True, False, True]


@pytest.mark.parametrize(
    ("model_class", "names"),
    [
        (EncoderForSequenceClassification, ["labels"]),
        (EncoderForTokenClassification, ["labels"]),
        (EncoderForMaskedLM, ["labels"]),
        (EncoderForQuestionAnswering, ["start_positions", "end_positions"]),
    ],
)
@pytest.mark.parametrize("given", [["good", "bad"], [0, 1]])
def test_labels_that_are_no_tensor_are_refused(model_class: Any, names: list[str], given: list[Any]) -> None:
    model = model_class(EncoderConfig(num_labels=3))
    kinds = (None, "regression") if model_class is EncoderForSequenceClassification else (None,)
    for kind in kinds:
        model.config.problem_type = kind
        with pytest.raises(ValueError, match=f"{names[0]} are a list, but a tensor of numbers is needed.*label2id"):
            model(**token_inputs(model.config, (3, 3)), **dict.fromkeys(names, given))
