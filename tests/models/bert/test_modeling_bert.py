# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""BERT: what every model must do, with transformers' own classes as the reference, and what only it does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import functional_call
from torch.testing import assert_close
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    PreTrainedModel,
)

from hf_lecture_models import (
    LectureBertConfig,
    LectureBertForMaskedLM,
    LectureBertForMultipleChoice,
    LectureBertForNextSentencePrediction,
    LectureBertForPreTraining,
    LectureBertForQuestionAnswering,
    LectureBertForSequenceClassification,
    LectureBertForTokenClassification,
    LectureBertModel,
)
from tests.model_tests import (
    ClassifierTests,
    MaskedLMTests,
    ModelTests,
    MultipleChoiceTests,
    NextSentenceTests,
    PreTrainingTests,
    QuestionAnsweringTests,
    TaggerTests,
    Tensors,
    TokenTests,
    perturb,
    token_inputs,
    uncompiled_flex_attention,
)
from tests.models.official_checkpoints import (
    assert_same_dependence,
    assert_same_gradients,
    at_real,
    gradients_of,
    renamed,
    tensors,
)
from tests.stand_in import encoder_tokenizer

PEERS: dict[type, type] = {
    LectureBertModel: BertModel,
    LectureBertForPreTraining: BertForPreTraining,
    LectureBertForMaskedLM: BertForMaskedLM,
    LectureBertForNextSentencePrediction: BertForNextSentencePrediction,
    LectureBertForSequenceClassification: BertForSequenceClassification,
    LectureBertForTokenClassification: BertForTokenClassification,
    LectureBertForQuestionAnswering: BertForQuestionAnswering,
    LectureBertForMultipleChoice: BertForMultipleChoice,
}
OFFICIAL = {
    "embed_tokens": "embeddings.word_embeddings",
    "embed_types": "embeddings.token_type_embeddings",
    "embed_positions": "embeddings.position_embeddings",
    "embedding_norm": "embeddings.LayerNorm",
    "layers": "encoder.layer",
    "self_attn.o_proj": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "ffn.up_proj": "intermediate.dense",
    "ffn.down_proj": "output.dense",
    "ffn_norm": "output.LayerNorm",
    "pooler": "pooler.dense",
    "transform.dense": "cls.predictions.transform.dense",
    "transform.norm": "cls.predictions.transform.LayerNorm",
    "lm_head": "cls.predictions.decoder",
    "seq_relationship": "cls.seq_relationship",
}


def small(**changes: Any) -> LectureBertConfig:
    fields = {"vocab_size": 20, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "num_labels": 3}
    fields |= {"intermediate_size": 24, "max_position_embeddings": 16, "pad_token_id": 19}
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return LectureBertConfig(**{**fields, **rates, **changes})


def peer(model: PreTrainedModel) -> Any:
    """transformers' model of the same class and shape."""
    names = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act")
    names += ("max_position_embeddings", "type_vocab_size", "pad_token_id", "layer_norm_eps")
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    # For answers it has as many outputs as there are labels.
    labels = 2 if isinstance(model, LectureBertForQuestionAnswering) else model.config.num_labels
    shape = {name: getattr(model.config, name) for name in names}
    return PEERS[type(model)](BertConfig(**shape, **rates, num_labels=labels)).eval()


def official_weights(model: PreTrainedModel) -> Tensors:
    """The model's weights under transformers' names; gradients flow back to the model's own."""
    found = renamed(model, "bert", OFFICIAL, [f"attention.self.{part}" for part in ("query", "key", "value")])
    if "cls.predictions.decoder.bias" in found:
        found["cls.predictions.bias"] = found["cls.predictions.decoder.bias"]
        if model.config.tie_word_embeddings:
            found["cls.predictions.decoder.weight"] = found["bert.embeddings.word_embeddings.weight"]
    return found


def reference(model: PreTrainedModel, inputs: Tensors, **options: Any) -> Any:
    theirs = peer(model)
    weights = official_weights(model)
    assert weights.keys() == dict(theirs.named_parameters(remove_duplicate=False)).keys()
    return functional_call(theirs, weights, kwargs={**inputs, **options}, tie_weights=False)


class BertTests(ModelTests):
    """Not collected by itself: what all classes declare in common."""

    contradictory_configs = (
        {"hidden_act": "quick_gelu"},
        {"hidden_size": 12, "num_attention_heads": 5},
        {"hidden_dropout_prob": 1.0},
        {"attention_probs_dropout_prob": -0.1},
        {"classifier_dropout": 1.5},
        {"max_position_embeddings": 0},
        {"type_vocab_size": 0},
        {"is_decoder": True},
        {"add_cross_attention": True},
        {"position_embedding_type": "relative_key"},
        {"hiden_size": 8},
    )

    def config(self) -> LectureBertConfig:
        return small()

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        return tensors(reference(model, inputs))


class TestLectureBertModel(BertTests, TokenTests):
    model_class = LectureBertModel
    bidirectional = True
    sequence_inputs = ("input_ids", "attention_mask")
    pipeline_task = "feature-extraction"

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        assert batch == len(lengths)
        return token_inputs(self.config(), lengths)

    def training_loss(self, model: PreTrainedModel, inputs: Tensors) -> Tensor:
        """Of both outputs."""
        target = torch.rand(12, generator=torch.Generator().manual_seed(5)) - 0.5
        return sum((output - target).square().mean() for output in self.outputs(model, inputs).values())

    def processing_class(self) -> Any:
        return encoder_tokenizer(padding_side="left")

    def pipeline_inputs(self) -> list[str]:
        return ["w1 w2 w3", "w4"]


class TestLectureBertForMaskedLM(BertTests, MaskedLMTests):
    model_class = LectureBertForMaskedLM
    bidirectional = True

    def processing_class(self) -> Any:
        return encoder_tokenizer()


class TestUntiedLectureBertForMaskedLM(TestLectureBertForMaskedLM):
    def config(self) -> LectureBertConfig:
        return small(tie_word_embeddings=False, hidden_act="silu", type_vocab_size=3)


class TestLectureBertForPreTraining(BertTests, PreTrainingTests):
    model_class = LectureBertForPreTraining
    bidirectional = True


class TestLectureBertForNextSentencePrediction(BertTests, NextSentenceTests):
    model_class = LectureBertForNextSentencePrediction


class TestLectureBertForSequenceClassification(BertTests, ClassifierTests):
    model_class = LectureBertForSequenceClassification

    def processing_class(self) -> Any:
        return encoder_tokenizer()


class TestLectureBertForTokenClassification(BertTests, TaggerTests):
    model_class = LectureBertForTokenClassification
    bidirectional = True
    # Post-LN with small first weights learns slowly at first.
    lora_share = 0.95

    def processing_class(self) -> Any:
        return encoder_tokenizer(padding_side="left")


class TestLectureBertForQuestionAnswering(BertTests, QuestionAnsweringTests):
    model_class = LectureBertForQuestionAnswering
    bidirectional = True
    perturbation = 0.25
    # It adds the same number to the scores of all positions, too.
    zero_gradients = {**QuestionAnsweringTests.zero_gradients, "model.layers.1.ffn_norm.bias": "as qa_outputs.bias"}

    def processing_class(self) -> Any:
        return encoder_tokenizer()


class TestLectureBertForMultipleChoice(BertTests, MultipleChoiceTests):
    model_class = LectureBertForMultipleChoice


# Beside transformers' own, with everything that it is given


def given(how: str, model: PreTrainedModel) -> Tensors:
    """Inputs of one kind; but for padding, which theirs does not count, both read the same."""
    inputs = token_inputs(model.config, (7, 7, 7) if how in ("positions", "prepared") else (7, 4, 6))
    if how == "types":
        inputs["token_type_ids"] = torch.arange(7).expand(3, -1) // 3 % 2
    if how == "positions":
        inputs["position_ids"] = torch.tensor([[1, 4, 3, 9, 15, 2, 2], [0, 1, 2, 3, 4, 5, 6], [15] * 7])
    if how == "vectors":
        inputs["inputs_embeds"] = torch.randn(3, 7, 12)
        del inputs["input_ids"]
    if how == "prepared":
        inputs["attention_mask"] = (torch.rand(3, 1, 7, 7) < 0.5) | torch.eye(7).bool()
    if isinstance(model, LectureBertForMultipleChoice):
        inputs = {name: tensor[:, None].repeat_interleave(2, 1) for name, tensor in inputs.items()}
        for name in inputs.keys() & {"input_ids", "inputs_embeds"}:
            inputs[name][:, 1, 1:3] = inputs[name][:, 0, 2:4]
    return inputs


def build(model_class: type = LectureBertForMaskedLM, **changes: Any) -> Any:
    model = model_class(small(**changes))
    perturb(model, 0.5)
    model.tie_weights()
    return model.eval()


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize("how", ["padded", "types", "positions", "vectors", "prepared"])
@pytest.mark.parametrize("model_class", [LectureBertModel, LectureBertForPreTraining, LectureBertForMultipleChoice])
def test_outputs_and_gradients_are_theirs(model_class: type, how: str, implementation: str) -> None:
    """Other heads read the same states, and are compared above."""
    model = build(model_class)
    if how == "prepared" and model_class is LectureBertForMultipleChoice:
        return  # its masks have an axis of choices
    model.set_attn_implementation(implementation)
    inputs = theirs = given(how, model)
    if how == "prepared":  # theirs are numbers to add
        theirs = inputs | {"attention_mask": torch.zeros(3, 1, 7, 7).masked_fill(~inputs["attention_mask"], -1e9)}
    outputs = tensors(model(**inputs)), tensors(reference(model, theirs))
    assert_same_dependence(model, *(at_real(each, inputs.get("attention_mask")) for each in outputs))


@pytest.mark.parametrize("model_class", PEERS, ids=lambda cls: cls.__name__)
def test_states_and_attentions_are_theirs(model_class: type) -> None:
    model = build(model_class)
    inputs = given("types", model)
    asked = {"output_hidden_states": True, "output_attentions": True}
    theirs = reference(model, inputs, output_hidden_states=True)
    found = model(**inputs, **asked)
    mask = inputs["attention_mask"].flatten(0, -2).bool()
    assert len(found.hidden_states) == len(theirs.hidden_states) == 3
    for our, their in zip(found.hidden_states, theirs.hidden_states, strict=True):
        assert_close(our[mask], their[mask], rtol=0, atol=1e-5)
    eager = peer(model)
    eager.set_attn_implementation("eager")
    weights = functional_call(eager, official_weights(model), kwargs={**inputs, **asked}, tie_weights=False).attentions
    for our, their in zip(found.attentions, weights, strict=True):
        assert_close(our.transpose(1, 2)[mask], their.transpose(1, 2)[mask], rtol=0, atol=1e-6)


LABELS: dict[type, Tensors] = {
    LectureBertForPreTraining: {
        "labels": torch.tensor([[-100, 3, -100, 4, 18, -100, -100], [0] * 4 + [-100] * 3, [-100] * 7]),
        "next_sentence_label": torch.tensor([1, 0, 1]),
    },
    LectureBertForNextSentencePrediction: {"labels": torch.tensor([1, 0, 1])},
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("model_class", LABELS, ids=lambda cls: cls.__name__)
def test_losses_are_theirs(model_class: type, training: bool) -> None:
    """From all logits or, in training, from those of the masked words; other heads: test_against_transformers.py."""
    model = build(model_class).train(training)
    inputs, labels = given("types", model), LABELS[model_class]
    found, expected = model(**inputs, **labels).loss, reference(model, inputs, **labels).loss
    assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert_same_gradients(gradients_of(model, found), gradients_of(model, expected))


# Texts and masks


def test_token_types() -> None:
    model, ids = build(LectureBertModel), torch.randint(18, (2, 5))
    zeros = torch.zeros_like(ids)
    plain = model(ids).last_hidden_state
    for types in (zeros, zeros[:1], zeros.bool(), zeros.to(torch.int32)):
        assert_close(model(ids, token_type_ids=types).last_hidden_state, plain, rtol=0, atol=0)
    assert not torch.allclose(model(ids, token_type_ids=1 - zeros).last_hidden_state, plain)
    for wrong in (2, -1):
        with pytest.raises(ValueError, match=rf"token_type_ids hold {wrong}; .*0 to 1 \(type_vocab_size=2\)"):
            model(ids, token_type_ids=torch.full_like(ids, wrong))
    for types in (zeros[:, :4], zeros[0], zeros.float(), torch.zeros(3, 5).long()):
        with pytest.raises(ValueError, match=r"token_type_ids have shape .*integers of shape \(2, 5\)"):
            model(ids, token_type_ids=types)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("implementation", ["eager", "sdpa", "flex_attention"])
def test_packed_texts_stay_apart(implementation: str, padded: bool) -> None:
    """As data collators pack them: positions begin anew at 0; with a mask too."""
    model, ids = build(LectureBertModel), torch.randint(18, (2, 9))
    model.set_attn_implementation(implementation)
    positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4], [0, 0, 1, 0, 1, 2, 3, 4, 5]])
    mask = torch.ones_like(ids)
    mask[:, -1] = 0
    with uncompiled_flex_attention():
        found = model(ids, mask if padded else None, position_ids=positions).last_hidden_state
        for row, begins in enumerate(([0, 4, 9], [0, 1, 3, 9])):
            for begin, end in pairwise(begins):
                end -= padded and end == 9
                alone = model(ids[row : row + 1, begin:end]).last_hidden_state
                assert_close(found[row : row + 1, begin:end], alone, rtol=0, atol=1e-5)
    assert found.isfinite().all()


# Configuration and weights


@pytest.mark.parametrize("name", ["is_decoder", "add_cross_attention"])
def test_a_decoder_is_refused(name: str, tmp_path: Path) -> None:
    """However it is asked for."""
    build().save_pretrained(tmp_path)
    config = small(**{name: False})
    assert getattr(config, name) is False
    assert name not in config.to_dict()
    for ask in (
        lambda: setattr(config, name, True),
        lambda: LectureBertForMaskedLM.from_pretrained(tmp_path, **{name: True}),
    ):
        with pytest.raises(ValueError, match=f"{name} is True; this model computes {name}=False alone"):
            ask()
    with pytest.raises(ValueError, match="Unrecognized configuration class"):
        AutoModelForCausalLM.from_config(small())


def test_dropout_everywhere_the_page_names_it() -> None:
    ids = torch.randint(18, (2, 6))
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"):
        model = build(LectureBertForSequenceClassification, **{name: 0.5})
        expected = model(ids).logits
        model.train()
        assert not torch.allclose(model(ids).logits, expected), name
    model = LectureBertForTokenClassification(small(hidden_dropout_prob=0.5, classifier_dropout=0.0)).train()
    assert (model.dropout.p, model.model.dropout.p) == (0.0, 0.5)
    assert LectureBertForTokenClassification(small(hidden_dropout_prob=0.5)).dropout.p == 0.5


def test_initial_weights() -> None:
    """Normal, cut off at two standard deviations, as in Google's code; the published shape has 110,106,428 weights."""
    model = LectureBertForPreTraining(small(hidden_size=48, vocab_size=500, initializer_range=0.03))
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2:
            assert parameter.abs().max() <= 0.06, name
            if parameter.numel() > 1000:
                assert_close(parameter.std().item(), 0.03 * 0.8796, rtol=0.1, atol=0)
        else:
            assert (parameter == (1.0 if name.endswith("norm.weight") else 0.0)).all()
    with torch.device("meta"):
        ours, theirs = LectureBertForPreTraining(LectureBertConfig()), BertForPreTraining(BertConfig())
    assert ours.num_parameters() == theirs.num_parameters() == 110_106_428
