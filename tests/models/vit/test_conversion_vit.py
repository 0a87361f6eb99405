# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Official `vit` checkpoints: random weights as transformers' own classes write them, in both layouts of names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForImageClassification, ViTConfig

from hf_lecture_models import (
    LectureViTConfig,
    LectureViTForImageClassification,
    LectureViTForMaskedImageModeling,
    LectureViTForMaskedPatchPrediction,
)
from tests.model_tests import Tensors, perturb
from tests.models.official_checkpoints import OfficialCheckpointTests, assert_same_models, rewrite, tensors
from tests.models.vit.test_modeling_vit import PEERS, SHAPE, official_weights

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


def new_names(weights: Tensors) -> Tensors:
    assert any("encoder.layer.0.attention.attention.query" in name for name in weights)
    for pattern, new in NEW_NAMES.items():
        weights = {re.sub(pattern, new, name): tensor for name, tensor in weights.items()}
    assert any("layers.0.attention.q_proj" in name for name in weights)
    return weights


def without_prefix(weights: Tensors) -> Tensors:
    return {name.removeprefix("vit."): tensor for name, tensor in new_names(weights).items()}


def inputs_of(model_class: type) -> Tensors:
    masked = {"bool_masked_pos": torch.rand(3, 9) < 0.5} if model_class is LectureViTForMaskedImageModeling else {}
    return {"pixel_values": torch.randn(3, 3, 12, 12), **masked}


@pytest.mark.parametrize("layout", [dict, new_names, without_prefix])
@pytest.mark.parametrize("model_class", PEERS, ids=lambda cls: cls.__name__)
def test_it_computes_what_transformers_does(
    tmp_path: Path, model_class: Any, layout: Callable[[Tensors], Tensors]
) -> None:
    """Nothing is missing and nothing left over; outputs and all gradients are equal."""
    theirs = official(model_class)
    theirs.save_pretrained(tmp_path)
    rewrite(tmp_path, layout)
    ours, info = model_class.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info.values()), info
    inputs = inputs_of(model_class)
    found, expected = (tensors(model(**inputs)) for model in (ours, theirs))
    assert_same_models(ours, theirs, found, expected, official_weights)


class TestOfficialViT(OfficialCheckpointTests):
    model_class = LectureViTForImageClassification
    auto_class = AutoModelForImageClassification
    their_fields = frozenset({"encoder_stride", "qkv_bias", "pooler_act", "pooler_output_size"})
    weights = (
        ("vit.encoder.layer.1.output.dense.weight", "layers.1.ffn.down_proj.weight"),
        ("vit.embeddings.position_embeddings", "embeddings.position_embeddings"),
        ("vit.encoder.layer.0.attention.attention.key.bias", "layers.0.self_attn.qkv_proj.bias"),
        ("vit.layernorm.weight", "norm.weight"),
    )

    def official(self) -> Any:
        return official(LectureViTForImageClassification)

    def make_inputs(self) -> Tensors:
        return inputs_of(LectureViTForImageClassification)


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


def test_a_published_configuration() -> None:
    """Fields of old versions are dropped, those that change what is computed are refused."""
    fields = {"model_type": "vit", "encoder_stride": 16, "patch_size": 32, "_name_or_path": "x", "hidden_size": 24}
    config = LectureViTConfig.from_dict(fields | {"qkv_bias": True, "pooler_output_size": 24})
    assert (config.patch_size, config.num_patches, hasattr(config, "encoder_stride")) == (32, 49, False)
    for change in ({"qkv_bias": False}, {"pooler_act": "relu"}, {"pooler_output_size": 7}):
        with pytest.raises(ValueError, match=f"{next(iter(change))}.*transformers' ViTModel"):
            LectureViTConfig.from_dict(fields | change)
