# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Official `openai-gpt` checkpoints, with random weights, as transformers' own classes write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.testing import assert_close
from transformers import (
    AutoModelForCausalLM,
    OpenAIGPTConfig,
    OpenAIGPTDoubleHeadsModel,
    OpenAIGPTForSequenceClassification,
    OpenAIGPTLMHeadModel,
    OpenAIGPTModel,
)

from hf_lecture_models.models.gpt1 import (
    Gpt1Config,
    Gpt1ForCausalLM,
    Gpt1ForMultipleChoice,
    Gpt1ForSequenceClassification,
    Gpt1Model,
)
from tests.model_tests import Tensors, left_padded, perturb
from tests.models.gpt1.test_modeling_gpt1 import official_weights
from tests.models.official_checkpoints import OfficialCheckpointTests, assert_same_models, at_real, rewrite

SHAPE = {"vocab_size": 31, "n_embd": 12, "n_layer": 3, "n_head": 3, "n_positions": 20}
LENGTHS = (8, 3, 6)


def official(model_class: type = OpenAIGPTLMHeadModel, **changes: Any) -> Any:
    model = model_class(OpenAIGPTConfig(**SHAPE, **changes))
    perturb(model, 0.4)
    model.tie_weights()
    return model.eval()


def with_all_names(tensors: Tensors) -> Tensors:
    """As old versions of transformers saved it: the causal masks, the positions, and the output matrix."""
    mask = torch.ones(20, 20).tril().view(1, 1, 20, 20)
    more = {f"transformer.h.{block}.attn.bias": mask.clone() for block in range(3)}
    more |= {"lm_head.weight": tensors["transformer.tokens_embed.weight"].clone()}
    return tensors | more | {"transformer.position_ids": torch.arange(20)}


def without_prefix(tensors: Tensors) -> Tensors:
    named = {name.removeprefix("transformer."): tensor for name, tensor in with_all_names(tensors).items()}
    return {name: tensor for name, tensor in named.items() if name != "lm_head.weight"}


@pytest.fixture
def inputs() -> Tensors:
    """Three rows of unequal lengths, padded on the right; ours counts positions itself."""
    mask = torch.tensor([[1] * length + [0] * (8 - length) for length in LENGTHS])
    return {"input_ids": torch.randint(31, (3, 8)), "attention_mask": mask}


def with_positions(inputs: Tensors) -> Tensors:
    """What transformers' class needs beside."""
    return inputs | {"position_ids": (inputs["attention_mask"].cumsum(1) - 1).clamp(min=0)}


def last_states(theirs: Any, inputs: Tensors) -> Tensor:
    inner = getattr(theirs, "transformer", theirs)
    return inner(**with_positions(inputs)).last_hidden_state[inputs["attention_mask"].bool()]


@pytest.mark.parametrize(("layout", "side"), [(None, "right"), (with_all_names, "right"), (without_prefix, "left")])
def test_it_computes_what_transformers_does(tmp_path: Path, inputs: Tensors, layout: Any, side: str) -> None:
    """Logits, loss, every hidden state, every attention weight, and all gradients."""
    theirs = official()
    theirs.save_pretrained(tmp_path)
    if layout is not None:
        rewrite(tmp_path, layout)
    ours, info = Gpt1ForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info.values()), info
    if side == "left":
        inputs = left_padded(inputs, list(inputs), LENGTHS)
    mask = inputs["attention_mask"]
    # After padding, they predict the first token too.
    labels = inputs["input_ids"].masked_fill((mask == 0) | (mask.cumsum(1) == 1), -100)
    asked = {"output_hidden_states": True, "output_attentions": True, "labels": labels}
    outputs = ours(**inputs, **asked), theirs(**with_positions(inputs), **asked)
    assert_close(outputs[0].loss, outputs[1].loss, rtol=1e-5, atol=1e-6)
    found, expected = ({"logits": each.logits} for each in outputs)
    for values, each in ((found, outputs[0]), (expected, outputs[1])):
        values |= {f"state {layer}": state for layer, state in enumerate(each.hidden_states)}
        values |= {f"weights {layer}": weights.transpose(1, 2) for layer, weights in enumerate(each.attentions)}
    assert_same_models(
        ours, theirs, at_real(found, mask), at_real(expected, mask), lambda model: official_weights(model.model)
    )


@pytest.mark.parametrize("layout", [with_all_names, without_prefix])
@pytest.mark.parametrize("model_class", [Gpt1Model, Gpt1ForSequenceClassification, Gpt1ForMultipleChoice])
def test_other_heads_on_the_language_model(tmp_path: Path, inputs: Tensors, layout: Any, model_class: Any) -> None:
    theirs = official()
    theirs.save_pretrained(tmp_path)
    rewrite(tmp_path, layout)
    ours, info = model_class.from_pretrained(tmp_path, output_loading_info=True)
    new = set() if model_class is Gpt1Model else {"classifier.weight", "classifier.bias"}
    assert set(info["missing_keys"]) == new
    found = ours.base_model(**inputs).last_hidden_state[inputs["attention_mask"].bool()]
    assert_close(found, last_states(theirs, inputs), rtol=0, atol=1e-5)


@pytest.mark.parametrize("model_class", [OpenAIGPTModel, OpenAIGPTDoubleHeadsModel])
def test_checkpoints_of_their_other_classes(tmp_path: Path, inputs: Tensors, model_class: type) -> None:
    theirs = official(model_class)
    theirs.save_pretrained(tmp_path)
    found = Gpt1ForCausalLM.from_pretrained(tmp_path)(**inputs).logits[inputs["attention_mask"].bool()]
    expected = last_states(theirs, inputs) @ theirs.get_input_embeddings().weight.T
    assert_close(found, expected, rtol=0, atol=1e-5)


def test_their_classifier(tmp_path: Path, inputs: Tensors) -> None:
    """Which knows padding by its id, stands on the right only, and has no bias; what we save is under our names."""
    theirs = official(OpenAIGPTForSequenceClassification, num_labels=3, pad_token_id=30)
    theirs.save_pretrained(tmp_path / "theirs")
    ours, info = Gpt1ForSequenceClassification.from_pretrained(tmp_path / "theirs", output_loading_info=True)
    assert set(info["missing_keys"]) == {"classifier.bias"}
    assert not info["unexpected_keys"]
    ids = (inputs["input_ids"] % 30).masked_fill(inputs["attention_mask"] == 0, 30)
    given = {"input_ids": ids, "labels": torch.tensor([2, 0, 1])}
    found, expected = ours(attention_mask=inputs["attention_mask"], **given), theirs(**given)
    assert_close(found.logits, expected.logits, rtol=0, atol=1e-5)
    assert_close(found.loss, expected.loss)
    ours.save_pretrained(tmp_path / "ours")
    assert load_file(tmp_path / "ours" / "model.safetensors").keys() == ours.state_dict().keys()


def test_their_model_with_both_heads(tmp_path: Path, inputs: Tensors) -> None:
    """transformers 5 saves its word vectors as those of the output layer, which the auxiliary loss brings along."""
    theirs = official(OpenAIGPTDoubleHeadsModel)
    theirs.save_pretrained(tmp_path)
    ours, info = Gpt1ForMultipleChoice.from_pretrained(tmp_path, auxiliary_lm_weight=0.5, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    places = inputs["attention_mask"].sum(1)[None] - 1
    expected = theirs(inputs["input_ids"][None], mc_token_ids=places).mc_logits
    found = ours(inputs["input_ids"][None], inputs["attention_mask"][None]).logits
    assert_close(found, expected, rtol=0, atol=1e-5)


class TestOfficialGpt1(OfficialCheckpointTests):
    model_class = Gpt1ForCausalLM
    auto_class = AutoModelForCausalLM
    tied = frozenset({"lm_head.weight"})
    their_fields = frozenset({"n_embd", "n_layer", "afn", "resid_pdrop", "summary_type", "summary_first_dropout"})
    weights = (
        ("transformer.h.1.mlp.c_fc.weight", "layers.1.ffn.up_proj.weight"),
        ("transformer.positions_embed.weight", "embed_positions.weight"),
    )

    def official(self) -> Any:
        return official()

    def make_inputs(self) -> Tensors:
        return {"input_ids": torch.randint(31, (3, 8))}


# Configuration

PUBLISHED = {"afn": "gelu", "attn_pdrop": 0.3, "embd_pdrop": 0.2, "resid_pdrop": 0.4, "initializer_range": 0.03}
PUBLISHED |= {"layer_norm_epsilon": 1e-4, "model_type": "openai-gpt", "n_ctx": 512, "n_special": 0, "n_embd": 8}
PUBLISHED |= {"n_head": 2, "n_layer": 1, "n_positions": 16, "predict_special_tokens": True, "vocab_size": 31}
PUBLISHED |= {"summary_type": "cls_index", "task_specific_params": {"text-generation": {"max_length": 50}}}


def test_the_fields_of_the_published_config(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(PUBLISHED))
    fields = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "max_position_embeddings": 16}
    fields |= {"dropout": 0.4, "embedding_dropout": 0.2, "attention_dropout": 0.3, "layer_norm_eps": 1e-4}
    found = Gpt1Config.from_pretrained(tmp_path)
    assert found.to_dict() == Gpt1Config(vocab_size=31, initializer_range=0.03, **fields).to_dict()
    assert (found.n_embd, found.n_positions, found.afn) == (8, 16, "gelu_new")


@pytest.mark.parametrize("theirs", ["gelu", "relu", "silu", "swish"])
def test_every_activation_of_theirs(tmp_path: Path, inputs: Tensors, theirs: str) -> None:
    """Their "gelu" is the tanh form, and their "swish" SiLU; the Swish of other models here has a trained β."""
    model = official(afn=theirs)
    model.save_pretrained(tmp_path)
    ours = Gpt1ForCausalLM.from_pretrained(tmp_path)
    assert ours.config.hidden_act == {"swish": "silu", "gelu": "gelu_new"}.get(theirs, theirs)
    found = ours.model(**inputs).last_hidden_state[inputs["attention_mask"].bool()]
    assert_close(found, last_states(model, inputs), rtol=0, atol=1e-5)


def test_other_names_of_activations() -> None:
    assert Gpt1Config(**PUBLISHED | {"afn": "gelu_new"}).hidden_act == "gelu_new"
    assert Gpt1Config(afn="gelu").hidden_act == "gelu_new"
    assert Gpt1Config(hidden_act="gelu").hidden_act == "gelu"
    expected = r"hidden_act is 'quick_gelu'; it must be one of 'gelu_new', 'gelu', 'relu', 'silu'"
    with pytest.raises(ValueError, match=expected):
        Gpt1Config(**PUBLISHED | {"afn": "quick_gelu"})
