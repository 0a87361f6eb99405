# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""GPT-1: what every model must do, with transformers' own class as the reference, and what only it does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from torch import Tensor
from torch.func import functional_call
from transformers import OpenAIGPTConfig, OpenAIGPTLMHeadModel

from hf_lecture_models.models.gpt1 import Gpt1Config, Gpt1ForCausalLM, Gpt1Model
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.model_tests import CausalLMTests, ModelTests, Tensors, token_inputs

WORDS = [f"w{number}" for number in range(28)]
OFFICIAL = {
    "embed_tokens": "tokens_embed",
    "embed_positions": "positions_embed",
    "layers": "h",
    "self_attn.qkv_proj": "attn.c_attn",
    "self_attn.o_proj": "attn.c_proj",
    "ffn.up_proj": "mlp.c_fc",
    "ffn.down_proj": "mlp.c_proj",
    "attention_norm": "ln_1",
    "ffn_norm": "ln_2",
}


def small(**changes: Any) -> Gpt1Config:
    fields = {"vocab_size": 32, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3}
    ids = {"bos_token_id": 29, "eos_token_id": 30, "pad_token_id": 31}
    return Gpt1Config(**{**fields, "max_position_embeddings": 40, **ids, **changes})


def peer(config: Gpt1Config) -> OpenAIGPTLMHeadModel:
    """transformers' model of the same shape."""
    shape = {name: getattr(config, name) for name in ("n_embd", "n_layer", "n_head", "n_positions", "vocab_size")}
    return OpenAIGPTLMHeadModel(OpenAIGPTConfig(**shape, afn=config.hidden_act)).eval()


def official_weights(model: Gpt1Model) -> Tensors:
    """The model's weights under transformers' names; gradients flow back to the model's own."""
    found = {}
    for name, tensor in model.named_parameters():
        if name.endswith("proj.weight"):
            tensor = tensor.T
        for ours, theirs in OFFICIAL.items():
            name = re.sub(rf"(^|\.){ours}\.", rf"\g<1>{theirs}.", name)
        found[f"transformer.{name}"] = tensor
    return found


def reference(model: Gpt1Model, head: Tensor, inputs: Tensors) -> Any:
    mask = inputs["attention_mask"]
    options = {"position_ids": (mask.cumsum(1) - 1).clamp(min=0), "output_hidden_states": True}
    weights = official_weights(model) | {"lm_head.weight": head}
    return functional_call(peer(model.config), weights, kwargs={**inputs, **options}, tie_weights=False)


class Gpt1Tests(CausalLMTests):
    model_class = Gpt1ForCausalLM
    contradictory_configs = (
        {"hidden_act": "gelu_new"},
        {"hidden_size": 12, "num_attention_heads": 5},
        {"dropout": 1.0},
        {"embedding_dropout": -0.1},
        {"attention_dropout": 1.5},
        {"max_position_embeddings": 0},
        {"intermediate_size": 0},
        {"hiden_size": 8},
    )

    def reference(self, model: Gpt1ForCausalLM, inputs: Tensors) -> Tensors:
        return {"logits": reference(model.model, model.lm_head.weight, inputs).logits}

    def processing_class(self) -> WordTokenizer:
        return WordTokenizer.train([" ".join(WORDS)])


class TestGpt1ForCausalLM(Gpt1Tests):
    def config(self) -> Gpt1Config:
        return small(dropout=0.0, embedding_dropout=0.0, attention_dropout=0.0)


class TestUntiedGpt1ForCausalLM(Gpt1Tests):
    def config(self) -> Gpt1Config:
        return small(tie_word_embeddings=False, hidden_act="silu")


class TestGpt1Model(ModelTests):
    model_class = Gpt1Model
    sequence_inputs = ("input_ids", "attention_mask")
    pipeline_task = "feature-extraction"

    def config(self) -> Gpt1Config:
        return small(hidden_act="relu")

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        assert batch == len(lengths)
        return token_inputs(self.config(), lengths)

    def reference(self, model: Gpt1Model, inputs: Tensors) -> Tensors:
        found = reference(model, model.embed_tokens.weight, inputs)
        return {"last_hidden_state": found.hidden_states[-1]}

    def processing_class(self) -> WordTokenizer:
        return WordTokenizer.train([" ".join(WORDS)])

    def pipeline_inputs(self) -> list[str]:
        return ["w1 w2 w3", "w4"]
