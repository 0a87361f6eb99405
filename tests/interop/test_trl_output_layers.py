# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""trl computes a loss from the last hidden state and the output matrix: it is the model's own, or it is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

pytest.importorskip("trl")

from hf_lecture_models import (
    LectureBertConfig,
    LectureBertForMaskedLM,
    LectureTransformerConfig,
    LectureTransformerForConditionalGeneration,
    NGramConfig,
    NGramForCausalLM,
    TransfoXLConfig,
    TransfoXLLMHeadModel,
)
from hf_lecture_models.hub import export
from tests.hub.card_examples import output_without_package
from tests.interop.small_models import TEXTS, count_tokens, ids_of, small_model, small_tokenizer
from tests.interop.test_trl import OPTIONS, PAIRS, rows

trl = pytest.importorskip("trl")
datasets = pytest.importorskip("datasets")
utils = pytest.importorskip("trl.trainer.utils")
pytestmark = pytest.mark.slow

ONE_MATRIX: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt1": ("gpt1", {}),
    "gpt1, output matrix of its own": ("gpt1", {"tie_word_embeddings": False}),
    "self_attention": ("self_attention", {}),
    "self_attention, layer mix": ("self_attention", {"layer_mix": True}),
    "recurrent": ("recurrent", {}),
    "recurrent, output projection": ("recurrent", {"output_projection_size": 48}),
    "recurrent, tied": ("recurrent", {"tie_word_embeddings": True}),
    "feed_forward": ("feed_forward", {}),
    "feed_forward, direct connections": ("feed_forward", {"direct_connections": True}),
    "efficient_transformer": ("efficient_transformer", {"attention_kind": "linear"}),
    "transformer_xl": ("transformer_xl", {}),
    "transformer_xl, projected": ("transformer_xl", {"embedding_size": 16}),
    "transformer_xl, a projection for each end": ("transformer_xl", {"embedding_size": 16, "tie_projs": [False]}),
}
SEVERAL_MATRICES: dict[str, tuple[str, dict[str, Any], str]] = {
    "recurrent, adaptive": ("recurrent", {"output_layer": "adaptive"}, "RecurrentForCausalLM.*'softmax'"),
    "recurrent, noise": ("recurrent", {"output_layer": "noise_contrastive"}, "load it with output_layer='softmax'"),
    "feed_forward, adaptive": ("feed_forward", {"output_layer": "adaptive"}, "FeedForwardForCausalLM.*'softmax'"),
    "feed_forward, noise": ("feed_forward", {"output_layer": "noise_contrastive"}, "load it with output_layer"),
    "transformer_xl, clusters": ("transformer_xl", {"cutoffs": [5]}, r"TransfoXLLMHeadModel.*cutoffs=\[\]"),
    "transformer_xl, narrower clusters": ("transformer_xl", {"cutoffs": [5], "div_val": 2}, r"cutoffs=\[5\]"),
}

SIZES: dict[str, Any] = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}


def build(name: str, fields: dict[str, Any]) -> Any:
    """A model without dropout, whose biases are not zero."""
    torch.manual_seed(0)
    tokenizer = small_tokenizer()
    if name == "transformer_xl":
        special = {f"{kind}_token_id": getattr(tokenizer, f"{kind}_token_id") for kind in ("bos", "eos", "pad")}
        sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "mem_len": 4}
        model: Any = TransfoXLLMHeadModel(TransfoXLConfig(vocab_size=len(tokenizer), **special, **sizes, **fields))
    else:
        model = small_model(name, tokenizer, **fields)
    count_tokens(model, ids_of(TEXTS, tokenizer))
    utils.disable_dropout_in_model(model)
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if "lm_head" in parameter_name:
                parameter.add_(torch.randn(parameter.shape) / 4)
    return model


def padded_batch() -> tuple[Tensor, Tensor]:
    """Ids, (batch, seq), as GRPO has them: prompts padded on the left, completions on the right; and the mask."""
    tokenizer = small_tokenizer()
    texts = [tokenizer(text)["input_ids"] for text in TEXTS[:3]]
    ids = torch.full((3, 10), tokenizer.pad_token_id)
    mask = torch.zeros_like(ids)
    for row, (text, before) in enumerate(zip(texts, (0, 2, 1), strict=True)):
        ids[row, before : before + len(text)] = torch.tensor(text)
        mask[row, before : before + len(text)] = 1
    return ids, mask


@pytest.mark.cases(0, 5)
@pytest.mark.parametrize("kind", ONE_MATRIX)
def test_the_loss_of_one_matrix_is_the_models_own(kind: str) -> None:
    """Log-probabilities are those that `score` gives, and gradients those of the model's own loss."""
    model = build(*ONE_MATRIX[kind]).train()
    ids, mask = padded_batch()
    expected = model.score(ids, mask)[:, 1:]
    labels = ids.masked_fill((mask == 0) | (ids == model.config.bos_token_id), -100)
    model(ids, attention_mask=mask, labels=labels, num_items_in_batch=1).loss.backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    utils.add_fused_lm_head(model)
    found = model(ids, attention_mask=mask, labels=labels, fused_lm_head=True).log_probs
    assert_close(found, expected, rtol=1e-5, atol=1e-5)
    (-found.sum()).backward()
    for name, parameter in model.named_parameters():
        assert_close(parameter.grad, gradients.get(name), rtol=1e-4, atol=1e-5)


def sft(model: Any, **options: Any) -> Any:
    return trl.SFTTrainer(model, trl.SFTConfig(**options), train_dataset=_data(rows("plain text")), **_tokenizer())


def dpo(model: Any, **options: Any) -> Any:
    other = copy.deepcopy(model)
    return trl.DPOTrainer(model, other, trl.DPOConfig(**options), train_dataset=_data(PAIRS), **_tokenizer())


def kto(model: Any, **options: Any) -> Any:
    answers = [{"prompt": p["prompt"], "completion": p[k], "label": k == "chosen"} for p in PAIRS for k in list(p)[1:]]
    other = copy.deepcopy(model)
    return trl.KTOTrainer(model, other, trl.KTOConfig(**options), train_dataset=_data(answers), **_tokenizer())


def online(trainer_class: Any, config_class: Any) -> Callable[..., Any]:
    """GRPO or RLOO, in which long completions are rewarded."""

    def build_trainer(model: Any, **options: Any) -> Any:
        options = {name: value for name, value in options.items() if name != "max_length"}
        return trainer_class(
            model,
            reward_funcs=lambda completions, **kwargs: [float(len(text)) for text in completions],
            args=config_class(num_generations=2, max_completion_length=4, beta=0.0, **options),
            train_dataset=_data([{"prompt": pair["prompt"]} for pair in PAIRS]),
            **_tokenizer(),
        )

    return build_trainer


def _data(given: list[dict[str, Any]]) -> Any:
    return datasets.Dataset.from_list(given)


def _tokenizer() -> dict[str, Any]:
    return {"processing_class": small_tokenizer()}


TRAINERS: dict[str, Callable[..., Any]] = {
    "sft": sft,
    "dpo": dpo,
    "kto": kto,
    "grpo": online(trl.GRPOTrainer, trl.GRPOConfig),
    "rloo": online(trl.RLOOTrainer, trl.RLOOConfig),
}


def trainer(kind: str, model: Any, folder: Path, **options: Any) -> Any:
    changes = {"max_steps": 2, "gradient_checkpointing": False, "output_dir": str(folder)}
    return TRAINERS[kind](model, **OPTIONS | changes | options)


@pytest.mark.cases(0, 6)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", TRAINERS)
@pytest.mark.parametrize("model", SEVERAL_MATRICES)
def test_another_loss_is_refused_by_every_trainer(model: str, kind: str, tmp_path: Path) -> None:
    """When the trainer is built, before anything is trained."""
    name, fields, message = SEVERAL_MATRICES[model]
    with pytest.raises(ValueError, match=message) as caught:
        trainer(kind, build(name, fields), tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", TRAINERS)
def test_a_transformer_xl_of_one_matrix_is_trained(kind: str, tmp_path: Path) -> None:
    found = trainer(kind, build("transformer_xl", {"embedding_size": 16}), tmp_path)
    before = copy.deepcopy(found.model.state_dict())
    found.train()
    assert not torch.equal(found.model.lm_head.words[0].bias, before["lm_head.words.0.bias"])


@pytest.mark.parametrize(
    ("model_class", "config", "way_out"),
    [
        (LectureBertForMaskedLM, LectureBertConfig(**SIZES), "transformers' Trainer"),
        (LectureTransformerForConditionalGeneration, LectureTransformerConfig(**SIZES), "transformers' Trainer"),
        (NGramForCausalLM, NGramConfig(vocab_size=9, order=2), r"NGramForCausalLM\.fit"),
    ],
)
def test_models_without_such_a_loss_are_refused(model_class: Any, config: Any, way_out: str) -> None:
    """BERT has a layer between state and output matrix, and predicts masked words."""
    with pytest.raises(ValueError, match=f"trl computes the loss of {model_class.__name__} .*{way_out}"):
        utils.add_fused_lm_head(model_class(config))


def test_clusters_say_that_they_are_no_matrix() -> None:
    """To programs that ask the output layer itself, as trl's DistillationTrainer does."""
    for name, fields, _ in SEVERAL_MATRICES.values():
        if fields.get("output_layer") != "noise_contrastive":
            layer = build(name, fields).get_output_embeddings()
            with pytest.raises(AttributeError, match="words are in clusters, each with a matrix of its own"):
                _ = layer.weight
            assert not hasattr(layer, "bias")


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", ["recurrent", "feed_forward"])
def test_a_noise_contrastive_model_loads_as_a_softmax(name: str, tied: bool, tmp_path: Path) -> None:
    """The way out that the refusal names: the same probabilities, and from then on the softmax's loss."""
    model = build(name, {"output_layer": "noise_contrastive", "tie_word_embeddings": tied}).eval()
    model.save_pretrained(tmp_path / "model")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "model", output_layer="softmax")
    ids, mask = padded_batch()
    assert_close(loaded(ids, attention_mask=mask).logits, model(ids, attention_mask=mask).logits, rtol=0, atol=0)
    found = trainer("sft", loaded, tmp_path / "run")
    found.train()
    found.save_model(str(tmp_path / "saved"))
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "saved").config.output_layer == "softmax"


def test_transformers_trainer_counts_what_a_transformer_xl_predicts(tmp_path: Path) -> None:
    """It tells from a class's name whether the first label counts, and `...LMHeadModel` names no loss."""
    model = build("transformer_xl", {})
    batch = [
        {"input_ids": ids["input_ids"], "labels": ids["input_ids"]} for ids in ids_of(TEXTS[:2], small_tokenizer())
    ]
    with torch.no_grad():
        expected = model(**{name: torch.tensor([row[name] for row in batch]) for name in batch[0]}).loss.item()
    args = TrainingArguments(
        str(tmp_path), max_steps=1, logging_steps=1, use_cpu=True, report_to=[], save_strategy="no"
    )
    found = Trainer(model, args, train_dataset=batch)
    found.train()
    assert found.state.log_history[0]["loss"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_the_exported_folder_refuses_too(tmp_path: Path) -> None:
    folder = tmp_path / "exported"
    export(build("recurrent", {"output_layer": "noise_contrastive"}), small_tokenizer(), folder)
    code = (
        "from transformers import AutoModelForCausalLM\n"
        "from trl.trainer.utils import add_fused_lm_head\n"
        "model = AutoModelForCausalLM.from_pretrained('.', trust_remote_code=True)\n"
        "try:\n    add_fused_lm_head(model)\nexcept ValueError as error:\n    print(error)\n"
        "model = AutoModelForCausalLM.from_pretrained('.', trust_remote_code=True, output_layer='softmax')\n"
        "add_fused_lm_head(model)\nprint('loaded as a softmax')\n"
    )
    printed = output_without_package(code, folder, tmp_path / "modules")
    assert "load it with output_layer='softmax'" in printed
    assert "loaded as a softmax" in printed
