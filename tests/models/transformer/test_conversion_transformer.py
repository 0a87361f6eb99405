# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Official `marian` checkpoints: random weights as transformers' own classes write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close
from transformers import AutoModelForSeq2SeqLM, MarianConfig, MarianMTModel

from hf_lecture_models import (
    LectureTransformerConfig,
    LectureTransformerForConditionalGeneration,
    LectureTransformerModel,
)
from tests.model_tests import Tensors, perturb
from tests.models.official_checkpoints import OfficialCheckpointTests, assert_same_models, rewrite

SHAPE = {"vocab_size": 31, "d_model": 12, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 3}
SHAPE |= {"decoder_attention_heads": 2, "encoder_ffn_dim": 20, "decoder_ffn_dim": 16, "max_position_embeddings": 40}
SHAPE |= {"pad_token_id": 30, "decoder_start_token_id": 30, "eos_token_id": 0, "forced_eos_token_id": 0}
SHAPE |= {"activation_function": "swish", "scale_embedding": True, "dropout": 0.0}
SEPARATE = {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 37}


def official(**changes: Any) -> Any:
    """A MarianMTModel far from zero; its bias too, a buffer there."""
    torch.default_generator.manual_seed(0)
    model = MarianMTModel(MarianConfig(**{**SHAPE, **changes}))
    sinusoids = {name: p.detach().clone() for name, p in model.named_parameters() if "embed_positions" in name}
    perturb(model, 0.4)
    with torch.no_grad():
        for name, tensor in sinusoids.items():
            model.get_parameter(name).copy_(tensor)
        model.final_logits_bias.normal_()
    model.tie_weights()
    return model.eval()


def with_all_names(weights: Tensors) -> Tensors:
    """As old files hold it: what is tied under all of its names, and the sinusoids."""
    names = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")
    more = {name: weights["model.shared.weight"].clone() for name in names}
    table = torch.zeros(40, 12)
    more |= {f"model.{stack}.embed_positions.weight": table.clone() for stack in ("encoder", "decoder")}
    return weights | more


def make_inputs() -> Tensors:
    mask = torch.tensor([[1] * 7, [1] * 4 + [0] * 3, [1] * 6 + [0]])
    ids = torch.randint(1, 30, (3, 7), generator=torch.Generator().manual_seed(1)).masked_fill(mask == 0, 30)
    return {"input_ids": ids, "attention_mask": mask}


CASES: dict[str, dict[str, Any]] = {
    "shared": {},
    "unscaled, relu": {"scale_embedding": False, "activation_function": "relu"},
    "two vocabularies": SEPARATE,
    "nothing tied": {**SEPARATE, "tie_word_embeddings": False, "activation_function": "gelu"},
}


@pytest.mark.parametrize("case", CASES)
def test_it_computes_what_marian_does(tmp_path: Path, case: str) -> None:
    """Nothing is missing or left over; logits, loss, all gradients, greedy and beam search are equal."""
    theirs, inputs = official(**CASES[case]), make_inputs()
    theirs.save_pretrained(tmp_path)
    ours, info = LectureTransformerForConditionalGeneration.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info.values()), info
    assert_same_search(ours, theirs, inputs)
    # There the start, which is padding, keeps its vector in training; here it learns as all do.
    for embedding in (theirs.model.encoder.embed_tokens, theirs.model.decoder.embed_tokens):
        embedding.padding_idx = None
    labels = torch.randint(1, 30, (3, 5), generator=torch.Generator().manual_seed(2))
    labels[1, 3:] = -100
    outputs = (model(**inputs, labels=labels) for model in (ours, theirs))
    found, expected = ({"logits": each.logits, "loss": each.loss} for each in outputs)
    assert_same_models(ours, theirs, found, expected, official_weights)


def assert_same_search(ours: Any, theirs: Any, inputs: Tensors) -> None:
    # Random weights love one token; none may come twice.
    for options in (
        {"no_repeat_ngram_size": 1},
        {"no_repeat_ngram_size": 1, "num_beams": 4, "num_return_sequences": 3, "length_penalty": 1.4},
        {"no_repeat_ngram_size": 2, "num_beams": 3, "bad_words_ids": [[30]]},
    ):
        asked = {**inputs, **options, "max_new_tokens": 12, "do_sample": False}
        results = [model.generate(**asked) for model in (ours, theirs)]
        assert torch.equal(*results), options
        assert len(results[0].unique()) > 3, "the outputs say nothing"


def official_weights(model: Any) -> Tensors:
    """Our weights, under transformers' names."""
    found = {}
    names = {"o_proj": "out_proj", "cross_attention_norm": "encoder_attn_layer_norm", "cross_attn": "encoder_attn"}
    names |= {"attention_norm": "self_attn_layer_norm", "ffn_norm": "final_layer_norm"}
    names |= {"ffn.up_proj": "fc1", "ffn.down_proj": "fc2"}
    for name, parameter in model.named_parameters():
        for ours, theirs in names.items():
            name = name.replace(f".{ours}.", f".{theirs}.")
        for joined in ("qkv", "kv"):
            if f".{joined}_proj." in name:
                for letter, piece in zip(joined, parameter.chunk(len(joined)), strict=True):
                    found[name.replace(f"{joined}_proj", f"{letter}_proj")] = piece
        found[name] = parameter
    found["model.shared.weight"] = found["model.encoder.embed_tokens.weight"]
    return found


def test_files_with_all_names(tmp_path: Path) -> None:
    theirs, inputs = official(), make_inputs() | {"decoder_input_ids": torch.full((3, 1), 30)}
    theirs.save_pretrained(tmp_path)
    rewrite(tmp_path, with_all_names)
    ours, info = LectureTransformerForConditionalGeneration.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info.values()), info
    assert_close(ours(**inputs).logits, theirs(**inputs).logits, rtol=0, atol=1e-5)
    base = LectureTransformerModel.from_pretrained(tmp_path)
    assert_close(base(**inputs)[0], theirs.model(**inputs)[0])


class TestOfficialMarian(OfficialCheckpointTests):
    model_class = LectureTransformerForConditionalGeneration
    auto_class = AutoModelForSeq2SeqLM
    tied = frozenset({"lm_head.weight", "model.decoder.embed_tokens.weight"})
    their_fields = frozenset({"d_model", "share_encoder_decoder_embeddings", "encoder_layerdrop"})
    weights = (
        ("model.shared.weight", "encoder.embed_tokens.weight"),
        ("model.decoder.layers.1.fc2.weight", "decoder.layers.1.ffn.down_proj.weight"),
        ("model.decoder.layers.2.encoder_attn.k_proj.bias", "decoder.layers.2.cross_attn.kv_proj.bias"),
        ("model.encoder.layers.0.self_attn.q_proj.weight", "encoder.layers.0.self_attn.qkv_proj.weight"),
    )

    def official(self) -> Any:
        return official()

    def make_inputs(self) -> Tensors:
        return make_inputs() | {"decoder_input_ids": torch.full((3, 1), 30)}


def test_a_file_that_leaves_fields_out_means_marians_defaults(tmp_path: Path) -> None:
    given = {name: value for name, value in SHAPE.items() if name not in ("scale_embedding", "activation_function")}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "marian", **given}))
    config = LectureTransformerConfig.from_pretrained(tmp_path)
    assert (config.scale_embedding, config.hidden_act, config.decoder_vocab_size) == (False, "gelu", None)
    assert (config.position_encoding, config.norm_position) == ("sines_first", "post")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"is_decoder": True}, "is_decoder"),
        ({"activation_function": "quick_gelu"}, "hidden_act"),
        ({"model_type": "bart"}, "model_type"),
        ({"model_type": "t5"}, "model_type"),
    ],
    ids=str,
)
def test_a_checkpoint_of_another_kind_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "marian", **SHAPE, **change}))
    with pytest.raises(ValueError, match=message):
        LectureTransformerForConditionalGeneration.from_pretrained(tmp_path)
