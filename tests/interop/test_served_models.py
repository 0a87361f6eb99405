# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Served as vLLM and SGLang call a model, it computes what it does alone; what they cannot serve is refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close
from transformers import AutoModel, AutoModelForSequenceClassification, LlamaConfig, LlamaForCausalLM

import hf_lecture_models
from hf_lecture_models import (
    Gpt1Config,
    Gpt1ForCausalLM,
    Gpt1Model,
    LectureBertConfig,
    LectureBertModel,
    RecurrentConfig,
    SelfAttentionConfig,
    SelfAttentionForCausalLM,
    TransfoXLConfig,
)
from hf_lecture_models.hub.export import export
from tests.hub.card_examples import output_without_package
from tests.interop.served_attention import Server, registered
from tests.models.test_packed_texts import build

SIZES: dict[str, Any] = {"vocab_size": 12, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3}
LANGUAGE_MODELS = {
    "gpt1": (Gpt1ForCausalLM, Gpt1Config, {}),
    "learned": (SelfAttentionForCausalLM, SelfAttentionConfig, {"position_encoding": "learned"}),
    "sinusoidal": (SelfAttentionForCausalLM, SelfAttentionConfig, {"norm_position": "post", "layer_mix": True}),
    "none": (
        SelfAttentionForCausalLM,
        SelfAttentionConfig,
        {"position_encoding": "none", "tie_word_embeddings": False},
    ),
    # The stand-in is right about a model that vLLM serves.
    "llama": (LlamaForCausalLM, LlamaConfig, {"intermediate_size": 32}),
}
SERVED = {"Gpt1Model", "Gpt1ForCausalLM", "SelfAttentionModel", "SelfAttentionForCausalLM", "LectureBertModel"}
REQUESTS = {"a": [3, 1, 4, 1, 5, 9, 2, 6], "b": [5, 3], "c": [5, 8, 9, 7, 9]}
# The parts in which a server reads the requests: prompts in parts, then one token of several requests in one row.
STEPS = [{"a": 3, "b": 1}, {"c": 2, "a": 2}, {"b": 1, "a": 1, "c": 1}, {"a": 2}, {"c": 2}]
TOLERANCE = {"rtol": 0, "atol": 1e-5}


@pytest.fixture(autouse=True)
def _server_attention() -> Iterator[None]:
    with registered("vllm", "sglang"):
        yield


def saved(model: Any, folder: Path) -> Path:
    """Save the model, drawn wide enough that every part of it changes the result."""
    torch.manual_seed(0)
    for name, parameter in model.named_parameters():
        torch.nn.init.normal_(parameter, mean=float("norm.weight" in name), std=0.3)
    model.tie_weights()
    model.eval().save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", LANGUAGE_MODELS)
@torch.no_grad()
def test_language_models_serve_packed_requests_in_parts(kind: str, tmp_path: Path) -> None:
    """Every token of every request has the logits of its text read alone, whatever stands beside it in the row."""
    model_class, config_class, fields = LANGUAGE_MODELS[kind]
    model: Any = model_class(config_class(**SIZES, **fields))
    server = Server(saved(model, tmp_path))
    left, states = {name: list(tokens) for name, tokens in REQUESTS.items()}, {name: [] for name in REQUESTS}
    for step in STEPS:
        row = {name: [left[name].pop(0) for _ in range(count)] for name, count in step.items()}
        for name, hidden in server.step(row).items():
            states[name].append(hidden)
    assert not any(left.values())
    for name, tokens in REQUESTS.items():
        alone = model(torch.tensor([tokens])).logits[0]
        assert_close(server.lm_head(torch.cat(states[name])), alone, **TOLERANCE)


@torch.no_grad()
def test_bert_serves_packed_texts(tmp_path: Path) -> None:
    model = LectureBertModel(LectureBertConfig(**SIZES))
    server = Server(saved(model, tmp_path))
    types = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1, 1]], dtype=torch.int32)
    found = server.step(REQUESTS, token_type_ids=types)
    second = types[0].split([len(tokens) for tokens in REQUESTS.values()])
    for (name, tokens), kinds in zip(REQUESTS.items(), second, strict=True):
        alone = model(torch.tensor([tokens]), token_type_ids=kinds[None]).last_hidden_state[0]
        assert_close(found[name], alone, **TOLERANCE)


@pytest.mark.slow
def test_a_server_compiles_the_model_into_one_graph(tmp_path: Path) -> None:
    server = Server(saved(Gpt1ForCausalLM(Gpt1Config(**SIZES)), tmp_path))
    expected = server.step(REQUESTS)
    again = Server(tmp_path)
    again.model.forward = torch.compile(again.model.forward, backend="eager", fullgraph=True)
    for name, hidden in again.step(REQUESTS).items():
        assert_close(hidden, expected[name], **TOLERANCE)


def model_classes() -> list[Any]:
    found = [getattr(hf_lecture_models, name) for name in hf_lecture_models.__all__]
    return [cls for cls in found if isinstance(cls, type) and hasattr(cls, "is_backend_compatible")]


def test_only_models_that_a_server_can_run_say_so() -> None:
    """vLLM asks the class before it builds anything."""
    assert {cls.__name__ for cls in model_classes() if cls.is_backend_compatible()} == SERVED
    assert len(model_classes()) > 2 * len(SERVED)


@pytest.mark.parametrize("name", ["vllm", "sglang"])
@pytest.mark.parametrize(
    ("config", "auto_class", "reason"),
    [
        (SelfAttentionConfig(**SIZES, position_encoding="alibi"), AutoModel, "its 'alibi' positions are added"),
        (SelfAttentionConfig(**SIZES, position_encoding="relative"), AutoModel, "its 'relative' positions are added"),
        (Gpt1Config(**SIZES), AutoModelForSequenceClassification, "without a head"),
        (LectureBertConfig(**SIZES), AutoModelForSequenceClassification, "without a head"),
        (
            TransfoXLConfig(vocab_size=12, d_model=24, d_embed=24, n_head=3, n_layer=2, cutoffs=[]),
            AutoModel,
            "its attention",
        ),
        (RecurrentConfig(vocab_size=12, hidden_size=24), AutoModel, "its attention"),
    ],
    ids=lambda value: getattr(value, "model_type", ""),
)
def test_what_a_server_would_compute_wrongly_is_refused_by_name(
    config: Any, auto_class: Any, reason: str, name: str
) -> None:
    config._attn_implementation = name
    server = {"vllm": "vLLM", "sglang": "SGLang"}[name]
    with torch.device("meta"), pytest.raises(ValueError, match=rf"{server} cannot serve \w+: .*{reason}"):
        auto_class.from_config(config)


def test_sglang_leaves_out_the_bias_of_the_output_layer(tmp_path: Path) -> None:
    config = SelfAttentionConfig(**SIZES)
    folder = saved(Gpt1ForCausalLM(Gpt1Config(**SIZES)), tmp_path)
    assert Server(folder, "sglang").lm_head.bias is None
    config._attn_implementation = "sglang"
    with pytest.raises(ValueError, match="SGLang cannot serve SelfAttentionModel: it would leave out b_o"):
        AutoModel.from_config(config)


def test_positions_with_a_bias_are_refused_at_a_call_too() -> None:
    model = build("alibi", use_cache=False)
    model.set_attn_implementation("vllm")
    with pytest.raises(ValueError, match="'vllm' attention has no parameter position_bias"):
        model.model(torch.tensor([[1]]), position_ids=torch.tensor([[0]]), attention_instances={0: None, 1: None})


@torch.no_grad()
def test_calls_of_a_server_with_a_wrong_result_are_refused(tmp_path: Path) -> None:
    server = Server(saved(Gpt1ForCausalLM(Gpt1Config(**SIZES)), tmp_path))
    row = {"a": [3, 1]}
    for wrong, reason in (
        ({"attention_mask": torch.ones(1, 2)}, "leave out attention_mask"),
        ({"use_cache": True}, "set use_cache=False"),
        ({"position_ids": None}, "give the position_ids of each"),
        ({"attention_instances": {1: server.instances[1]}}, r"are of the layers \[1\]: it is not served in pipeline"),
    ):
        with pytest.raises(ValueError, match=reason):
            server.step(row, **wrong)
    server.instances[1].num_heads = 2
    with pytest.raises(ValueError, match="3 attention heads, and attention_instances have 2: .*tensor parallel"):
        server.step(row)
    model = Gpt1Model(Gpt1Config(**SIZES))
    with pytest.raises(TypeError, match="takes no argument attention_instances"):
        model(torch.tensor([[1]]), attention_instances=server.instances)


def test_positions_are_not_read_back_while_serving(tmp_path: Path) -> None:
    """On a GPU each reading would wait, and end the recording of a CUDA graph; the server keeps to the limit."""
    server = Server(saved(Gpt1ForCausalLM(Gpt1Config(**SIZES, max_position_embeddings=4)), tmp_path))
    with pytest.raises(IndexError, match="out of range in self"):
        server.step({"a": [3, 1, 4, 1, 5]})


EXPORTED = """
import sys
from types import ModuleType
import torch
from transformers import AutoModelForCausalLM
served = ModuleType("served")
exec(open("served_attention.py").read(), served.__dict__)
with served.registered("vllm"):
    server = served.Server(served.Path("."), trust_remote_code=True)
    assert type(server.model).__module__.startswith("transformers_modules."), type(server.model)
    first, second = server.step({"a": [3, 1], "b": [5]}), server.step({"b": [3], "a": [4]})
model = AutoModelForCausalLM.from_pretrained(".", trust_remote_code=True).eval()
served = server.lm_head(torch.cat((first["a"], second["a"])))
print(float((served - model(torch.tensor([[3, 1, 4]])).logits[0]).abs().max()))
"""


@pytest.mark.slow
def test_an_exported_folder_is_served_without_the_package(tmp_path: Path) -> None:
    model = SelfAttentionForCausalLM(SelfAttentionConfig(**SIZES))
    saved(model, tmp_path / "saved")
    export(model, None, folder := tmp_path / "exported")
    shutil.copy(Path(__file__).with_name("served_attention.py"), folder)
    assert float(output_without_package(EXPORTED, folder, tmp_path / "modules")) < TOLERANCE["atol"]
