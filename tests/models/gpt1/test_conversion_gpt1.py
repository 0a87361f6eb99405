# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Official `openai-gpt` checkpoints, with random weights, as transformers' own classes write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.testing import assert_close
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
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
from tests.model_tests import Tensors, perturb

SHAPE = {"vocab_size": 31, "n_embd": 12, "n_layer": 3, "n_head": 3, "n_positions": 20}


def official(model_class: type = OpenAIGPTLMHeadModel, **changes: Any) -> Any:
    model = model_class(OpenAIGPTConfig(**SHAPE, **changes))
    perturb(model, 0.4)
    model.tie_weights()
    return model.eval()


def rewrite(folder: Path, change: Callable[[Tensors], Tensors]) -> None:
    save_file(change(load_file(folder / "model.safetensors")), folder / "model.safetensors", metadata={"format": "pt"})


def as_it_is(tensors: Tensors) -> Tensors:
    return tensors


def without_prefix(tensors: Tensors) -> Tensors:
    return {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}


def with_buffers(tensors: Tensors) -> Tensors:
    """As old versions of transformers saved it: the causal mask of each block, and the positions."""
    mask = torch.ones(20, 20).tril().view(1, 1, 20, 20)
    more = {f"transformer.h.{block}.attn.bias": mask.clone() for block in range(3)}
    return tensors | more | {"transformer.position_ids": torch.arange(20)}


def with_head(tensors: Tensors) -> Tensors:
    return tensors | {"lm_head.weight": tensors["transformer.tokens_embed.weight"].clone()}


LAYOUTS = [
    as_it_is,
    without_prefix,
    with_buffers,
    with_head,
    lambda tensors: with_head(with_buffers(tensors)),
    lambda tensors: without_prefix(with_buffers(tensors)),
]
NAMES = ["as it is", "no prefix", "buffers", "head", "buffers and head", "no prefix, buffers"]


@pytest.fixture
def inputs() -> Tensors:
    """Three rows of unequal lengths, padded on the right, with the positions that transformers' class needs."""
    mask = torch.tensor([[1] * 8, [1, 1, 1] + [0] * 5, [1] * 6 + [0] * 2])
    return {
        "input_ids": torch.randint(31, (3, 8)),
        "attention_mask": mask,
        "position_ids": (mask.cumsum(1) - 1).clamp(min=0),
    }


def padded_on_the_left(inputs: Tensors) -> Tensors:
    lengths = inputs["attention_mask"].sum(1).tolist()
    return {
        name: torch.stack([row.roll(8 - length) for row, length in zip(tensor, lengths, strict=True)])
        for name, tensor in inputs.items()
    }


def at_real(tensor: Tensor, inputs: Tensors) -> Tensor:
    return tensor[inputs["attention_mask"].bool()]


@pytest.mark.parametrize("layout", LAYOUTS, ids=NAMES)
@pytest.mark.parametrize("side", ["right", "left"])
def test_it_computes_what_transformers_does(
    tmp_path: Path, inputs: Tensors, layout: Callable[[Tensors], Tensors], side: str
) -> None:
    """Logits, every hidden state, every attention weight, and all gradients; our positions come from the mask."""
    theirs = official()
    theirs.save_pretrained(tmp_path)
    rewrite(tmp_path, layout)
    ours, info = Gpt1ForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info.values()), info
    assert (ours.config.model_type, ours.config.hidden_size) == ("lecture_gpt1", 12)
    if side == "left":
        inputs = padded_on_the_left(inputs)
    shown = {"output_hidden_states": True, "output_attentions": True}
    expected = theirs(**inputs, **shown)
    found = ours(inputs["input_ids"], inputs["attention_mask"], **shown)
    for name in ("hidden_states", "attentions"):
        assert len(found[name]) == len(expected[name])
    pairs = [(found.logits, expected.logits), *zip(found.hidden_states, expected.hidden_states, strict=True)]
    for our, their in pairs:
        assert_close(at_real(our, inputs), at_real(their, inputs), rtol=0, atol=1e-5)
    for our, their in zip(found.attentions, expected.attentions, strict=True):
        assert_close(at_real(our.transpose(1, 2), inputs), at_real(their.transpose(1, 2), inputs), rtol=0, atol=1e-6)
    weights = torch.randn(at_real(expected.logits, inputs).shape)
    for logits in (found.logits, expected.logits):
        (at_real(logits, inputs) * weights).sum().backward()
    # Both name their parameters in the same order.
    for (name, our), their in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        gradient = our.grad.T if name.endswith("proj.weight") else our.grad
        scale = their.grad.abs().max().item()
        assert_close(gradient, their.grad, rtol=0, atol=1e-5 * scale, msg=lambda m, name=name: f"{name}: {m}")


@pytest.mark.parametrize("layout", LAYOUTS, ids=NAMES)
def test_the_model_without_a_head(tmp_path: Path, inputs: Tensors, layout: Callable[[Tensors], Tensors]) -> None:
    theirs = official()
    theirs.save_pretrained(tmp_path)
    rewrite(tmp_path, layout)
    found = Gpt1Model.from_pretrained(tmp_path)(inputs["input_ids"], inputs["attention_mask"]).last_hidden_state
    expected = theirs.transformer(**inputs).last_hidden_state
    assert_close(at_real(found, inputs), at_real(expected, inputs), rtol=0, atol=1e-5)


@pytest.mark.parametrize("model_class", [OpenAIGPTModel, OpenAIGPTDoubleHeadsModel])
def test_checkpoints_of_their_other_classes(tmp_path: Path, inputs: Tensors, model_class: type) -> None:
    theirs = official(model_class)
    theirs.save_pretrained(tmp_path)
    ours = Gpt1ForCausalLM.from_pretrained(tmp_path)
    inner = theirs if model_class is OpenAIGPTModel else theirs.transformer
    expected = inner(**inputs).last_hidden_state @ inner.tokens_embed.weight.T
    found = ours(inputs["input_ids"], inputs["attention_mask"]).logits
    assert_close(at_real(found, inputs), at_real(expected, inputs), rtol=0, atol=1e-5)


@pytest.mark.parametrize("head_class", [Gpt1ForSequenceClassification, Gpt1ForMultipleChoice])
@pytest.mark.parametrize("layout", LAYOUTS, ids=NAMES)
def test_a_new_head_on_the_language_model(
    tmp_path: Path, inputs: Tensors, layout: Callable[[Tensors], Tensors], head_class: type
) -> None:
    theirs = official()
    theirs.save_pretrained(tmp_path)
    rewrite(tmp_path, layout)
    ours, info = head_class.from_pretrained(tmp_path, output_loading_info=True)
    assert set(info["missing_keys"]) == {"classifier.weight", "classifier.bias"}
    found = ours.model(inputs["input_ids"], inputs["attention_mask"]).last_hidden_state
    expected = theirs.transformer(**inputs).last_hidden_state
    assert_close(at_real(found, inputs), at_real(expected, inputs), rtol=0, atol=1e-5)


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
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path / "ours")
    assert type(again) is Gpt1ForSequenceClassification
    assert_close(again(ids).logits, ours(ids).logits, rtol=0, atol=0)


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


@pytest.mark.parametrize("sizes", [(8,), (3, 5), (1,) * 8, (5, 1, 1, 1)], ids=str)
@torch.no_grad()
def test_in_pieces_from_the_cache(tmp_path: Path, inputs: Tensors, sizes: tuple[int, ...]) -> None:
    theirs = official()
    theirs.save_pretrained(tmp_path)
    ours, inputs = Gpt1ForCausalLM.from_pretrained(tmp_path), padded_on_the_left(inputs)
    cache, end, found = None, 0, []
    for size in sizes:
        begin, end = end, end + size
        output = ours(inputs["input_ids"][:, begin:end], inputs["attention_mask"][:, :end], past_key_values=cache)
        cache = output.past_key_values
        found.append(output.logits)
    assert_close(at_real(torch.cat(found, 1), inputs), at_real(theirs(**inputs).logits, inputs), rtol=0, atol=1e-5)


def test_the_loss_is_theirs(tmp_path: Path, inputs: Tensors) -> None:
    theirs = official()
    theirs.save_pretrained(tmp_path)
    labels = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, -100)
    ours = Gpt1ForCausalLM.from_pretrained(tmp_path)
    for keep in (0, 1):
        loss = ours(inputs["input_ids"], inputs["attention_mask"], labels=labels, logits_to_keep=keep).loss
        assert_close(loss, theirs(**inputs, labels=labels).loss, rtol=1e-5, atol=1e-6)


def test_a_save_holds_our_names_only(tmp_path: Path, inputs: Tensors) -> None:
    official().save_pretrained(tmp_path / "theirs")
    ours = Gpt1ForCausalLM.from_pretrained(tmp_path / "theirs")
    ours.save_pretrained(tmp_path / "ours")
    written = load_file(tmp_path / "ours" / "model.safetensors")
    assert written.keys() == ours.state_dict().keys() - {"lm_head.weight"}
    config = json.loads((tmp_path / "ours" / "config.json").read_text())
    assert (config["model_type"], config["architectures"]) == ("lecture_gpt1", ["Gpt1ForCausalLM"])
    foreign = {name for name in config if name.startswith(("n_", "summary_", "afn")) or name.endswith("_pdrop")}
    assert not foreign
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "ours")
    assert type(again) is Gpt1ForCausalLM
    given = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    assert_close(again(**given).logits, ours(**given).logits, rtol=0, atol=0)


def test_the_auto_class_gives_transformers_own(tmp_path: Path) -> None:
    official().save_pretrained(tmp_path)
    assert type(AutoModelForCausalLM.from_pretrained(tmp_path)) is OpenAIGPTLMHeadModel


@pytest.mark.parametrize("name", ["transformer.h.1.mlp.c_fc.weight", "transformer.positions_embed.weight"])
@pytest.mark.parametrize("model_class", [Gpt1ForCausalLM, Gpt1Model, Gpt1ForSequenceClassification])
def test_a_checkpoint_that_lacks_a_tensor_is_refused(tmp_path: Path, name: str, model_class: type) -> None:
    official().save_pretrained(tmp_path)
    rewrite(tmp_path, lambda tensors: {other: tensor for other, tensor in tensors.items() if other != name})
    ours = r"(model\.)?(layers.1.ffn.up_proj.weight|embed_positions.weight)"
    with pytest.raises(ValueError, match=f"lacks tensors: {ours}"):
        model_class.from_pretrained(tmp_path)


def test_a_checkpoint_of_another_shape_is_refused(tmp_path: Path) -> None:
    official().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"n_positions": 12}))
    with pytest.raises(ValueError, match="embed_positions.weight has shape"):
        Gpt1ForCausalLM.from_pretrained(tmp_path)


# Configuration

PUBLISHED = {
    "afn": "gelu",
    "architectures": ["OpenAIGPTLMHeadModel"],
    "attn_pdrop": 0.3,
    "embd_pdrop": 0.2,
    "initializer_range": 0.03,
    "layer_norm_epsilon": 1e-4,
    "model_type": "openai-gpt",
    "n_ctx": 512,
    "n_embd": 8,
    "n_head": 2,
    "n_layer": 1,
    "n_positions": 16,
    "n_special": 0,
    "predict_special_tokens": True,
    "resid_pdrop": 0.4,
    "summary_type": "cls_index",
    "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
    "vocab_size": 31,
}


def test_the_fields_of_the_published_config(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(PUBLISHED))
    expected = Gpt1Config(
        vocab_size=31,
        hidden_size=8,
        num_attention_heads=2,
        num_hidden_layers=1,
        max_position_embeddings=16,
        dropout=0.4,
        embedding_dropout=0.2,
        attention_dropout=0.3,
        layer_norm_eps=1e-4,
        initializer_range=0.03,
    )
    found = Gpt1Config.from_pretrained(tmp_path)
    written = {name: value for name, value in found.to_dict().items() if name != "architectures"}
    assert written == {name: value for name, value in expected.to_dict().items() if name != "architectures"}
    assert (found.n_embd, found.n_positions, found.afn) == (8, 16, "gelu_new")


@pytest.mark.parametrize("theirs", ["gelu", "relu", "silu", "swish"])
def test_every_activation_of_theirs(tmp_path: Path, inputs: Tensors, theirs: str) -> None:
    """Their "gelu" is the tanh form, and their "swish" SiLU; the Swish of other models here has a trained β."""
    model = official(afn=theirs)
    model.save_pretrained(tmp_path)
    ours = Gpt1ForCausalLM.from_pretrained(tmp_path)
    assert ours.config.hidden_act == {"swish": "silu", "gelu": "gelu_new"}.get(theirs, theirs)
    found = ours(inputs["input_ids"], inputs["attention_mask"]).logits
    assert_close(at_real(found, inputs), at_real(model(**inputs).logits, inputs), rtol=0, atol=1e-5)


def test_other_names_of_activations() -> None:
    assert Gpt1Config(**PUBLISHED | {"afn": "gelu_new"}).hidden_act == "gelu_new"
    assert Gpt1Config(afn="gelu").hidden_act == "gelu_new"
    assert Gpt1Config(hidden_act="gelu").hidden_act == "gelu"
    expected = r"hidden_act is 'quick_gelu'; it must be one of 'gelu_new', 'gelu', 'relu', 'silu'"
    with pytest.raises(ValueError, match=expected):
        Gpt1Config(**PUBLISHED | {"afn": "quick_gelu"})
    with pytest.raises(ValueError, match="hidden_act is 'swish'"):
        Gpt1Config(hidden_act="swish")


def test_another_models_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(PUBLISHED | {"model_type": "gpt2"}))
    with pytest.raises(ValueError, match="model_type 'gpt2'; it reads lecture_gpt1, openai-gpt"):
        Gpt1ForCausalLM.from_pretrained(tmp_path)
