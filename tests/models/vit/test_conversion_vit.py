# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Official `vit` checkpoints: random weights as transformers' own classes write them, in both layouts of names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close
from transformers import AutoModelForImageClassification, ViTConfig

from hf_lecture_models import (
    LectureViTConfig,
    LectureViTForImageClassification,
    LectureViTForMaskedImageModeling,
    LectureViTForMaskedPatchPrediction,
    LectureViTModel,
)
from tests.model_tests import Tensors, perturb
from tests.models.vit.test_modeling_vit import PEERS, SHAPE, official_weights, tensors

# The names of transformers' own modules, which no file that it writes has, but a converted one may.
NEW_NAMES = {
    r"encoder\.layer\.": "layers.",
    r"attention\.attention\.(query|key|value)": lambda found: f"attention.{found[1][0]}_proj",
    r"attention\.output\.dense": "attention.o_proj",
    r"intermediate\.dense": "mlp.fc1",
    r"(\d)\.output\.dense": r"\1.mlp.fc2",
}


def official(model_class: type, **changes: Any) -> Any:
    model = PEERS[model_class](ViTConfig(**{**SHAPE, "encoder_stride": 4, **changes}))
    perturb(model, 0.4)
    return model.eval()


def rename(folder: Path, layout: str) -> None:
    weights = load_file(folder / "model.safetensors")
    assert any("encoder.layer.0.attention.attention.query" in name for name in weights)
    if layout != "published":
        for pattern, new in NEW_NAMES.items():
            weights = {re.sub(pattern, new, name): tensor for name, tensor in weights.items()}
        assert any("layers.0.attention.q_proj" in name for name in weights)
    if layout == "new, no prefix":
        weights = {name.removeprefix("vit."): tensor for name, tensor in weights.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def inputs_of(model_class: type) -> Tensors:
    masked = {"bool_masked_pos": torch.rand(3, 9) < 0.5} if model_class is LectureViTForMaskedImageModeling else {}
    return {"pixel_values": torch.randn(3, 3, 12, 12), **masked}


@pytest.mark.parametrize("layout", ["published", "new", "new, no prefix"])
@pytest.mark.parametrize("model_class", PEERS, ids=lambda cls: cls.__name__)
def test_it_computes_what_transformers_does(tmp_path: Path, model_class: type, layout: str) -> None:
    """Nothing is missing and nothing left over; outputs and all gradients are equal."""
    theirs = official(model_class)
    theirs.save_pretrained(tmp_path)
    rename(tmp_path, layout)
    ours, info = model_class.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info.values()), info
    assert (ours.config.model_type, ours.config.hidden_size) == ("lecture_vit", 12)
    given = inputs_of(model_class)
    found, expected = tensors(ours(**given)), tensors(theirs(**given))
    assert found.keys() == expected.keys()
    gradients = []
    for model, outputs in ((ours, found), (theirs, expected)):
        generator = torch.Generator().manual_seed(3)
        sum((tensor * torch.randn(tensor.shape, generator=generator)).sum() for tensor in outputs.values()).backward()
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    for name, tensor in expected.items():
        assert_close(found[name], tensor, rtol=0, atol=1e-5, msg=lambda m, name=name: f"{name}: {m}")
    with torch.no_grad():
        for name, parameter in ours.named_parameters():
            parameter.copy_(gradients[0][name])
        renamed = official_weights(ours)
    for name, gradient in gradients[1].items():
        scale = max(gradient.abs().max().item(), 1e-2)  # that of a key's bias is zero but for rounding
        assert_close(renamed[name], gradient, rtol=0, atol=1e-4 * scale, msg=lambda m, name=name: f"{name}: {m}")


def test_a_save_holds_our_names_only(tmp_path: Path) -> None:
    official(LectureViTForImageClassification).save_pretrained(tmp_path / "theirs")
    ours = LectureViTForImageClassification.from_pretrained(tmp_path / "theirs")
    ours.save_pretrained(tmp_path / "ours")
    assert load_file(tmp_path / "ours" / "model.safetensors").keys() == ours.state_dict().keys()
    config = json.loads((tmp_path / "ours" / "config.json").read_text())
    assert (config["model_type"], config["architectures"]) == ("lecture_vit", ["LectureViTForImageClassification"])
    assert not config.keys() & {"encoder_stride", "qkv_bias", "pooler_act", "pooler_output_size"}
    again = AutoModelForImageClassification.from_pretrained(tmp_path / "ours")
    given = inputs_of(LectureViTForImageClassification)
    assert_close(again(**given).logits, ours(**given).logits, rtol=0, atol=0)
    assert type(AutoModelForImageClassification.from_pretrained(tmp_path / "theirs")).__name__.startswith("ViT")


@pytest.mark.parametrize("model_class", [*PEERS, LectureViTForMaskedPatchPrediction], ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("saved", PEERS, ids=lambda cls: cls.__name__)
def test_every_class_reads_every_checkpoint(tmp_path: Path, saved: type, model_class: type) -> None:
    """What the checkpoint has is read; a head, a pooler or a mask that it has not starts anew."""
    theirs = official(saved)
    theirs.save_pretrained(tmp_path)
    ours, info = model_class.from_pretrained(tmp_path, output_loading_info=True)
    inner = getattr(theirs, "vit", theirs)
    base = {name.removeprefix("model.") for name in info["missing_keys"] if not name.startswith(("cl", "dec", "col"))}
    new = {"pooler.weight", "pooler.bias"} if inner.pooler is None and ours.base_model.pooler is not None else set()
    if inner.embeddings.mask_token is None and ours.base_model.embeddings.mask_token is not None:
        new.add("embeddings.mask_token")
    assert base == new
    assert torch.equal(ours.base_model.embeddings.position_embeddings, inner.embeddings.position_embeddings)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("vit.encoder.layer.1.output.dense.weight", "layers.1.ffn.down_proj.weight"),
        ("vit.embeddings.position_embeddings", "embeddings.position_embeddings"),
        ("vit.encoder.layer.0.attention.attention.key.bias", "layers.0.self_attn.qkv_proj.bias"),
        ("vit.layernorm.weight", "norm.weight"),
    ],
)
def test_a_checkpoint_that_lacks_a_tensor_is_refused(tmp_path: Path, name: str, ours: str) -> None:
    official(LectureViTForImageClassification).save_pretrained(tmp_path)
    weights = {other: tensor for other, tensor in load_file(tmp_path / "model.safetensors").items() if other != name}
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=rf"lacks tensors: (model\.)?{ours}"):
        LectureViTForMaskedImageModeling.from_pretrained(tmp_path)


def test_our_own_checkpoint_without_a_mask_is_refused(tmp_path: Path) -> None:
    LectureViTForMaskedImageModeling(LectureViTConfig(**SHAPE)).save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    del weights["model.embeddings.mask_token"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"lacks tensors: model\.embeddings\.mask_token"):
        LectureViTForMaskedImageModeling.from_pretrained(tmp_path)
    LectureViTModel.from_pretrained(tmp_path)


def test_another_number_of_labels(tmp_path: Path) -> None:
    official(LectureViTForImageClassification, num_labels=5).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"classifier.(weight|bias) has shape .*ignore_mismatched_sizes=True"):
        LectureViTForImageClassification.from_pretrained(tmp_path, num_labels=4)
    options = {"num_labels": 4, "ignore_mismatched_sizes": True}
    assert LectureViTForImageClassification.from_pretrained(tmp_path, **options).classifier.out_features == 4
    assert LectureViTForImageClassification.from_pretrained(tmp_path).config.num_labels == 5


def test_a_published_configuration(tmp_path: Path) -> None:
    """Fields of old versions are dropped, those that change what is computed are refused."""
    fields = {
        "model_type": "vit",
        "encoder_stride": 16,
        "patch_size": 32,
        "_name_or_path": "x",
        "torch_dtype": "float32",
    }
    config = LectureViTConfig.from_dict(fields | {"qkv_bias": True, "hidden_size": 24, "pooler_output_size": 24})
    assert (config.patch_size, config.num_patches, hasattr(config, "encoder_stride")) == (32, 49, False)
    for change in ({"qkv_bias": False}, {"pooler_act": "relu"}, {"pooler_output_size": 7}):
        with pytest.raises(ValueError, match=f"{next(iter(change))}.*transformers' own class"):
            LectureViTConfig.from_dict(fields | {"hidden_size": 24, **change})
