# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The self-attention language model: what every model must do, and what only it does."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor

from hf_lecture_models.models.self_attention import SelfAttentionConfig, SelfAttentionForCausalLM, SelfAttentionModel
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.model_tests import CausalLMTests, Tensors

WORDS = [f"w{number}" for number in range(28)]
KINDS = ("sinusoidal", "learned", "relative", "alibi")


def small(**changes: Any) -> SelfAttentionConfig:
    fields: dict[str, Any] = {"vocab_size": 32, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3}
    fields |= {"max_position_embeddings": 24, "relative_attention_num_buckets": 6, "relative_attention_max_distance": 7}
    ids = {"bos_token_id": 29, "eos_token_id": 30, "pad_token_id": 31}
    return SelfAttentionConfig(**{**fields, **ids, **changes})


# The reference: one position, one head, one key at a time, straight from the equations.


def normed(p: Tensors, name: str, x: Tensor, eps: float) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred * centred).mean(-1, keepdim=True)
    return centred / (variance + eps).sqrt() * p[f"{name}.weight"] + p[f"{name}.bias"]


def penalty(config: SelfAttentionConfig, p: Tensors, head: int, distance: int) -> Tensor | float:
    """What the kind of positions adds to the score of a key so many tokens back."""
    if config.position_encoding == "alibi":
        return -distance * {3: (1 / 16, 1 / 256, 1 / 4)}[config.num_attention_heads][head]
    if config.position_encoding == "relative":
        # 6 buckets: 0, 1, 2 hold one distance each; the others thirds of the way from 3 to 7, as a logarithm.
        bounds = [3 * (7 / 3) ** (step / 3) for step in range(3)]
        bucket = distance if distance < 3 else 2 + sum(distance >= bound - 1e-9 for bound in bounds)
        return p["position_encoding.bias.weight"][bucket, head]
    return 0.0


def attention(config: SelfAttentionConfig, p: Tensors, name: str, x: Tensor) -> Tensor:
    heads, width = config.num_attention_heads, config.hidden_size
    size = width // heads
    q, k, v = (
        torch.einsum("btd,ed->bte", x, p[f"{name}.qkv_proj.weight"][part * width : (part + 1) * width])
        + p[f"{name}.qkv_proj.bias"][part * width : (part + 1) * width]
        for part in range(3)
    )
    rows = []
    for t in range(x.shape[1]):
        outputs = []
        for head in range(heads):
            own = slice(head * size, (head + 1) * size)
            scores = [
                (q[:, t, own] * k[:, s, own]).sum(-1) / math.sqrt(size) + penalty(config, p, head, t - s)
                for s in range(t + 1)
            ]
            shares = torch.stack(scores, -1).exp()
            shares = shares / shares.sum(-1, keepdim=True)
            outputs.append(sum(shares[:, s, None] * v[:, s, own] for s in range(t + 1)))
        rows.append(torch.cat(outputs, -1))
    return torch.einsum("btd,ed->bte", torch.stack(rows, 1), p[f"{name}.o_proj.weight"]) + p[f"{name}.o_proj.bias"]


def feed_forward(config: SelfAttentionConfig, p: Tensors, name: str, x: Tensor) -> Tensor:
    z = torch.einsum("btd,ed->bte", x, p[f"{name}.up_proj.weight"]) + p[f"{name}.up_proj.bias"]
    if config.hidden_act == "relu":
        z = z * (z > 0)
    elif config.hidden_act == "gelu":
        z = z / 2 * (1 + (math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)).tanh())
    else:
        beta = p[f"{name}.activation.beta"] if config.hidden_act == "swish" else 1.0
        z = z / (1 + (-beta * z).exp())
    return torch.einsum("btd,ed->bte", z, p[f"{name}.down_proj.weight"]) + p[f"{name}.down_proj.bias"]


def placed(config: SelfAttentionConfig, p: Tensors, ids: Tensor) -> Tensor:
    words = torch.stack([torch.stack([p["embed_tokens.weight"][token] for token in row]) for row in ids])
    if config.position_encoding == "learned":
        return words + p["position_encoding.embed_positions.weight"][: ids.shape[1]]
    if config.position_encoding == "sinusoidal":
        width = config.hidden_size
        table = [
            [(math.cos if i % 2 else math.sin)(t / 10000 ** ((i - i % 2) / width)) for i in range(width)]
            for t in range(ids.shape[1])
        ]
        return math.sqrt(width) * words + torch.tensor(table)
    return words


def reference_state(model: SelfAttentionModel, ids: Tensor) -> Tensor:
    config, p = model.config, dict(model.named_parameters())
    h = placed(config, p, ids)
    states = [h]
    for number in range(config.num_hidden_layers):
        name, eps = f"layers.{number}", config.layer_norm_eps
        if config.norm_position == "pre":
            h = h + attention(config, p, f"{name}.self_attn", normed(p, f"{name}.attention_norm", h, eps))
            h = h + feed_forward(config, p, f"{name}.ffn", normed(p, f"{name}.ffn_norm", h, eps))
        else:
            h = normed(p, f"{name}.attention_norm", h + attention(config, p, f"{name}.self_attn", h), eps)
            h = normed(p, f"{name}.ffn_norm", h + feed_forward(config, p, f"{name}.ffn", h), eps)
        states.append(h)
    if config.norm_position == "pre":
        states = [normed(p, "final_norm", state, config.layer_norm_eps) for state in states]
    if config.layer_mix:
        return torch.einsum("u,ubtd->btd", p["layer_mix.theta"], torch.stack(states))
    return states[-1]


class SelfAttentionLMTests(CausalLMTests):
    model_class = SelfAttentionForCausalLM
    perturbation = 0.4
    contradictory_configs = (
        {"position_encoding": "rotary"},
        {"norm_position": "both"},
        {"hidden_act": "tanh"},
        {"num_attention_heads": 5},
        {"position_encoding": "sinusoidal", "hidden_size": 9, "num_attention_heads": 3},
        {"relative_attention_num_buckets": 1},
        {"relative_attention_max_distance": 3},
        {"dropout": 1.0},
        {"dropout": -0.1},
        {"hiden_size": 8},
    )
    fields: ClassVar[dict[str, Any]] = {}

    def config(self) -> SelfAttentionConfig:
        return small(**self.fields)

    def reference(self, model: SelfAttentionForCausalLM, inputs: Tensors) -> Tensors:
        state = reference_state(model.model, inputs["input_ids"])
        return {"logits": torch.einsum("btd,vd->btv", state, model.lm_head.weight) + model.lm_head.bias}

    def processing_class(self) -> WordTokenizer:
        return WordTokenizer.train([" ".join(WORDS)])

    def attention_implementations(self, model: Any) -> list[str | None]:
        # flex_attention compiles for seconds: its causality is a check of its own below.
        return ["eager", "sdpa"]


class TestSinusoidalPre(SelfAttentionLMTests):
    fields = {"position_encoding": "sinusoidal", "norm_position": "pre", "dropout": 0.1}


class TestSinusoidalPost(SelfAttentionLMTests):
    fields = {"position_encoding": "sinusoidal", "norm_position": "post", "hidden_act": "relu"}


class TestLearnedPre(SelfAttentionLMTests):
    fields = {"position_encoding": "learned", "norm_position": "pre", "hidden_act": "silu"}


class TestLearnedPost(SelfAttentionLMTests):
    fields = {"position_encoding": "learned", "norm_position": "post", "tie_word_embeddings": False}


class TestRelativePre(SelfAttentionLMTests):
    fields = {"position_encoding": "relative", "norm_position": "pre", "intermediate_size": 20}


class TestRelativePost(SelfAttentionLMTests):
    fields = {"position_encoding": "relative", "norm_position": "post"}


class TestAlibiPre(SelfAttentionLMTests):
    fields = {"position_encoding": "alibi", "norm_position": "pre"}


class TestAlibiPost(SelfAttentionLMTests):
    fields = {"position_encoding": "alibi", "norm_position": "post", "hidden_act": "swish"}


class TestLayerMixPre(SelfAttentionLMTests):
    fields = {"position_encoding": "sinusoidal", "norm_position": "pre", "layer_mix": True, "hidden_act": "swish"}


class TestLayerMixPost(SelfAttentionLMTests):
    fields = {"position_encoding": "learned", "norm_position": "post", "layer_mix": True}
