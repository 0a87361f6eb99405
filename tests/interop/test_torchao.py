# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models whose matrices torchao has quantised: they load, save, score and generate.

Runs where torchao can be imported: `PYTHONPATH=FOLDER pytest tests/interop/test_torchao.py`, with a folder that
`pip install --no-deps --target FOLDER torchao` filled.
"""

import pytest
import torch
from torch import Tensor

from tests.interop.installed import need

need("torchao")
from torchao import quantization  # noqa: E402
from transformers import AutoModelForCausalLM, TorchAoConfig  # noqa: E402

from hf_lecture_models import (  # noqa: E402
    BagOfWordsConfig,
    BagOfWordsForSequenceClassification,
    RecurrentForCausalLM,
)
from tests.interop.small_models import count_tokens, ids_of, small_model, small_tokenizer  # noqa: E402

MODELS = {
    "gpt1": ("gpt1", {"tie_word_embeddings": False}),
    "gpt1, tied": ("gpt1", {}),
    "self_attention": ("self_attention", {"layer_mix": True, "hidden_act": "swish"}),
    "lstm, projected": ("recurrent", {"projection_size": 16, "output_projection_size": 32}),
    "gru, adaptive": ("recurrent", {"cell_type": "gru", "output_layer": "adaptive"}),
    "lstm, noise": ("recurrent", {"output_layer": "noise_contrastive"}),
    "feed_forward": ("feed_forward", {"direct_connections": True}),
}
KINDS = {
    "int8": quantization.Int8WeightOnlyConfig,
    "float8": quantization.Float8WeightOnlyConfig,
    "int8 activations": quantization.Int8DynamicActivationInt8WeightConfig,
}


def quantised(model) -> list[str]:
    return [name for name, parameter in model.named_parameters() if type(parameter.data) is not Tensor]


@torch.no_grad()
def results(model, ids) -> list[Tensor]:
    labelled = {"input_ids": ids, "labels": ids}
    losses = [model(**labelled).loss, model(**labelled, logits_to_keep=1).loss]
    return [model(ids).logits, *losses, model.score(ids), model.generate(ids[:, :2], max_new_tokens=5, do_sample=False)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_quantised_models_load_save_score_and_generate(tmp_path, name, kind):
    tokenizer = small_tokenizer()
    torch.manual_seed(0)
    model = small_model(MODELS[name][0], tokenizer, **MODELS[name][1]).eval()
    rows = ids_of(["the cat sat on the mat"], tokenizer)
    count_tokens(model, rows)
    model.save_pretrained(tmp_path / "model")
    ids = torch.tensor(rows[0]["input_ids"])[None]
    config = TorchAoConfig(KINDS[kind](), include_input_output_embeddings=True)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "model", quantization_config=config)
    assert quantised(loaded)
    found = results(loaded, ids)
    for ours, theirs in zip(found[:4], results(model, ids)[:4], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0.05, atol=0.05)
    loaded.save_pretrained(tmp_path / "quantised")
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "quantised")
    assert quantised(again) == quantised(loaded)
    for ours, theirs in zip(results(again, ids), found, strict=True):
        assert torch.equal(ours, theirs)


def test_damaged_scales_are_refused(tmp_path):
    small_model("gpt1", small_tokenizer()).save_pretrained(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path, quantization_config=TorchAoConfig(KINDS["int8"]()))
    with torch.no_grad():
        model.get_parameter("model.layers.0.ffn.up_proj.weight").scale.fill_(float("nan"))
    model.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="NaN or infinite values in model.layers.0.ffn.up_proj.weight"):
        AutoModelForCausalLM.from_pretrained(tmp_path)


def test_a_recurrent_kernel_is_left_as_it_is(tmp_path):
    """torchao quantises linear layers, and torch's kernels hold their matrices themselves."""
    small_model("recurrent", small_tokenizer()).save_pretrained(tmp_path)
    config = TorchAoConfig(KINDS["int8"](), include_input_output_embeddings=True)
    assert quantised(RecurrentForCausalLM.from_pretrained(tmp_path, quantization_config=config)) == ["lm_head.weight"]


def test_a_matrix_of_one_column_is_more_than_torchao_takes(tmp_path):
    config = BagOfWordsConfig(vocab_size=9, input_coding="integer", hidden_sizes=[8, 8])
    BagOfWordsForSequenceClassification(config).save_pretrained(tmp_path)
    without = TorchAoConfig(KINDS["int8"](), modules_to_not_convert=["model.embed_tokens"])
    loaded = BagOfWordsForSequenceClassification.from_pretrained(tmp_path, quantization_config=without)
    assert "model.hidden_layers.2.weight" in quantised(loaded)
