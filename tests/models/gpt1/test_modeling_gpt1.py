# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""GPT-1: what every model must do, with transformers' own class as the reference, and what only it does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call
from torch.testing import assert_close
from transformers import DynamicCache, OpenAIGPTConfig, OpenAIGPTLMHeadModel

from hf_lecture_models.models.gpt1 import Gpt1Config, Gpt1ForCausalLM, Gpt1Model
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.model_tests import CausalLMHeadTests, ModelTests, Tensors, perturb, token_inputs

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
    # Its own "gelu" is the tanh form.
    theirs = {"gelu_new": "gelu"}.get(config.hidden_act, config.hidden_act)
    return OpenAIGPTLMHeadModel(OpenAIGPTConfig(**shape, afn=theirs)).eval()


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


class Gpt1Tests(CausalLMHeadTests):
    model_class = Gpt1ForCausalLM
    contradictory_configs = (
        {"hidden_act": "quick_gelu"},
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
    bidirectional = False
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


def build(model_class: type = Gpt1ForCausalLM, **changes: Any) -> Any:
    model = model_class(small(**changes))
    perturb(model, 0.5)
    model.tie_weights()
    return model.eval()


def ids(batch: int, length: int) -> Tensor:
    return torch.randint(29, (batch, length))


def test_given_positions_are_honoured() -> None:
    """Any numbers beside a mask; without one, a number that is not the next begins another text."""
    model, tokens = build(), ids(2, 5)
    places, mask = torch.tensor([[0, 3, 4, 17, 39], [0, 1, 2, 3, 4]]), torch.ones(2, 5)
    found = model(tokens, mask, position_ids=places).logits
    assert_close(found[1], model(tokens).logits[1], rtol=0, atol=1e-5)
    assert_close(found, peer_with(model)(tokens, position_ids=places).logits, rtol=0, atol=1e-5)
    packed = model(tokens, position_ids=places).logits[0, 1:3]
    assert_close(packed, model(tokens[:1, 1:3], position_ids=places[:1, 1:3]).logits[0], rtol=0, atol=1e-5)


def peer_with(model: Gpt1ForCausalLM) -> OpenAIGPTLMHeadModel:
    theirs = peer(model.config)
    theirs.load_state_dict(official_weights(model.model) | {"lm_head.weight": model.lm_head.weight})
    return theirs


def test_what_is_shown_on_request() -> None:
    """Also under sdpa, which knows no weights: this call computes them the eager way."""
    model, tokens = build(), ids(2, 5)
    assert model.config._attn_implementation == "sdpa"
    plain = model(tokens, use_cache=False)
    assert (plain.hidden_states, plain.attentions, plain.past_key_values) == (None, None, None)
    shown = model(tokens, output_attentions=True, output_hidden_states=True)
    assert_close(shown.logits, plain.logits)
    assert [tuple(h.shape) for h in shown.hidden_states] == [(2, 5, 12)] * 3
    assert [tuple(a.shape) for a in shown.attentions] == [(2, 3, 5, 5)] * 2
    for weights in shown.attentions:
        assert_close(weights.sum(-1), torch.ones(2, 3, 5))
        assert (weights.triu(1) == 0).all()
    inner = model.model(tokens, output_hidden_states=True)
    assert inner.hidden_states[-1] is inner.last_hidden_state
    later = model(tokens[:, :1], past_key_values=shown.past_key_values, output_attentions=True)
    assert later.attentions[0].shape == (2, 3, 1, 6)
    model.set_attn_implementation("eager")
    model.config.output_attentions = model.config.output_hidden_states = True
    outputs = model(tokens)
    assert (len(outputs.attentions), len(outputs.hidden_states)) == (2, 3)


def test_a_cache_is_returned_if_asked_for_or_configured() -> None:
    model, tokens = build(use_cache=False), ids(1, 3)
    assert model(tokens).past_key_values is None
    assert isinstance(model(tokens, use_cache=True).past_key_values, DynamicCache)


def test_dropout_everywhere_the_page_names_it() -> None:
    for name in ("dropout", "embedding_dropout", "attention_dropout"):
        rates = {"dropout": 0.0, "embedding_dropout": 0.0, "attention_dropout": 0.0, name: 0.5}
        model, tokens = build(**rates), ids(2, 6)
        expected = model(tokens).logits
        model.train()
        assert not torch.allclose(model(tokens).logits, expected), name


def test_initial_weights() -> None:
    """N(0, initializer_range), biases 0, norms 1; the published shape has 116,534,784 weights."""
    model = Gpt1ForCausalLM(small(hidden_size=48, vocab_size=500, initializer_range=0.03))
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2:
            assert_close(parameter.std().item(), 0.03, rtol=0.1, atol=0)
        else:
            assert (parameter == (1.0 if name.endswith("norm.weight") else 0.0)).all()
    with torch.device("meta"):
        published = Gpt1ForCausalLM(Gpt1Config())
    assert published.num_parameters() == 116_534_784
