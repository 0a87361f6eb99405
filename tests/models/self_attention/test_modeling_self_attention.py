# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The self-attention language model: what every model must do, and what only it does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import GPT2Config, GPT2LMHeadModel, OpenAIGPTConfig, OpenAIGPTLMHeadModel, PreTrainedModel

from hf_lecture_models.models.self_attention import SelfAttentionConfig, SelfAttentionForCausalLM, SelfAttentionModel
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.model_tests import (
    CausalLMHeadTests,
    ModelTests,
    Tensors,
    left_padded,
    perturb,
    switch_checkpointing,
    token_inputs,
)
from tests.models.official_checkpoints import weighted_sum

WORDS = [f"w{number}" for number in range(28)]
KINDS = ("sinusoidal", "learned", "relative", "alibi", "none")


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
        z = z * torch.distributions.Normal(0.0, 1.0).cdf(z)
    elif config.hidden_act == "gelu_new":
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


class SelfAttentionLMTests(CausalLMHeadTests):
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


class TestSinusoidalPre(SelfAttentionLMTests):
    fields = {"position_encoding": "sinusoidal", "norm_position": "pre", "dropout": 0.1}


class TestSinusoidalPost(SelfAttentionLMTests):
    fields = {"position_encoding": "sinusoidal", "norm_position": "post", "hidden_act": "relu"}


class TestLearnedPre(SelfAttentionLMTests):
    fields = {"position_encoding": "learned", "norm_position": "pre", "hidden_act": "silu"}


@pytest.mark.slow
class TestLearnedPost(SelfAttentionLMTests):
    fields = {"position_encoding": "learned", "norm_position": "post", "tie_word_embeddings": False}


class TestRelativePre(SelfAttentionLMTests):
    fields = {"position_encoding": "relative", "norm_position": "pre", "intermediate_size": 20}


@pytest.mark.slow
class TestRelativePost(SelfAttentionLMTests):
    fields = {"position_encoding": "relative", "norm_position": "post", "hidden_act": "gelu"}


class TestAlibiPre(SelfAttentionLMTests):
    fields = {"position_encoding": "alibi", "norm_position": "pre"}


@pytest.mark.slow
class TestAlibiPost(SelfAttentionLMTests):
    fields = {"position_encoding": "alibi", "norm_position": "post", "hidden_act": "swish"}


class TestNonePre(SelfAttentionLMTests):
    fields = {"position_encoding": "none", "norm_position": "pre"}


@pytest.mark.slow
class TestNonePost(SelfAttentionLMTests):
    fields = {"position_encoding": "none", "norm_position": "post", "hidden_size": 9}


class TestLayerMixPre(SelfAttentionLMTests):
    fields = {"position_encoding": "sinusoidal", "norm_position": "pre", "layer_mix": True, "hidden_act": "swish"}


@pytest.mark.slow
class TestLayerMixPost(SelfAttentionLMTests):
    fields = {"position_encoding": "learned", "norm_position": "post", "layer_mix": True}


@pytest.mark.parametrize("tests", [TestLearnedPost, TestRelativePost, TestAlibiPost, TestNonePost, TestLayerMixPost])
def test_norms_behind_each_part_with_each_kind_of_positions(tests: type[SelfAttentionLMTests], tmp_path: Path) -> None:
    """Of the classes that are slow, what such a pair could break."""
    checks = tests()
    checks.test_outputs_equal_reference()
    checks.test_gradients_equal_reference()
    checks.test_batch_equals_single_rows("left")
    checks.test_cache_with_left_padding((2, 3, 3))
    checks.test_save_and_reload(tmp_path)


class TestModel(ModelTests):
    model_class = SelfAttentionModel
    perturbation = 0.4
    sequence_inputs = ("input_ids", "attention_mask")
    bidirectional = False
    pipeline_task = "feature-extraction"

    def config(self) -> SelfAttentionConfig:
        return small(position_encoding="relative", layer_mix=True)

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        assert batch == len(lengths)
        return token_inputs(self.config(), lengths)

    def reference(self, model: SelfAttentionModel, inputs: Tensors) -> Tensors:
        return {"last_hidden_state": reference_state(model, inputs["input_ids"])}

    def processing_class(self) -> WordTokenizer:
        return WordTokenizer.train([" ".join(WORDS)])

    def pipeline_inputs(self) -> list[str]:
        return ["w1 w2 w3", "w4"]


def build(implementation: str = "sdpa", **changes: Any) -> SelfAttentionForCausalLM:
    model = SelfAttentionForCausalLM(small(**changes))
    perturb(model, 0.4)
    model.tie_weights()
    model.set_attn_implementation(implementation)
    return model.eval()


def ragged(lengths: Sequence[int] = (9, 4, 7)) -> Tensors:
    """Rows padded on the left."""
    inputs = token_inputs(small(), lengths)
    return left_padded(inputs, tuple(inputs), lengths)


# Positions


@pytest.mark.parametrize(("kind", "implementation"), product(KINDS, ("eager", "sdpa")))
@torch.no_grad()
def test_masked_tokens_within_a_row_take_no_place(kind: str, implementation: str) -> None:
    model = build(implementation, position_encoding=kind)
    whole = token_inputs(small(), (8, 8))["input_ids"]
    # Each row has other columns masked, so that one row of positions cannot serve both.
    columns = torch.tensor([[0, 1, 1, 1, 2, 3, 4, 5, 5, 6, 7], [0, 0, 1, 2, 3, 4, 5, 5, 6, 6, 7]])
    mask = torch.cat((torch.ones(2, 1).bool(), columns[:, 1:] != columns[:, :-1]), 1)
    expected = model(whole).logits
    holed = whole.gather(1, columns)
    logits = model(holed, attention_mask=mask.long()).logits
    assert_close(logits[mask].view_as(expected), expected, rtol=0, atol=1e-5)
    cache, pieces = None, []
    for begin, end in ((0, 4), (4, 5), (5, 9), (9, 11)):
        output = model(holed[:, begin:end], attention_mask=mask[:, :end].long(), past_key_values=cache, use_cache=True)
        cache = output.past_key_values
        pieces.append(output.logits)
    assert_close(torch.cat(pieces, 1)[mask].view_as(expected), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["relative", "alibi"])
@torch.no_grad()
def test_the_bias_has_one_row_for_all_unless_padding_wants_more(kind: str) -> None:
    model, shapes = build(position_encoding=kind), []
    hook = lambda module, inputs, output: shapes.append(tuple(output[1].shape))  # noqa: E731
    model.model.position_encoding.register_forward_hook(hook)
    right = token_inputs(small(), (9, 4, 7))
    for inputs in ({"input_ids": right["input_ids"]}, right, ragged()):
        model(**inputs)
    cache = model(right["input_ids"], use_cache=True).past_key_values
    model(right["input_ids"][:, :1], past_key_values=cache)
    assert shapes == [(1, 3, 9, 9), (1, 3, 9, 9), (3, 3, 9, 9), (1, 3, 9, 9), (1, 3, 1, 10)]


@pytest.mark.parametrize("kind", ["sinusoidal", "relative", "alibi", "none"])
@torch.no_grad()
def test_texts_may_be_longer_than_max_position_embeddings(kind: str) -> None:
    model = build(position_encoding=kind, max_position_embeddings=6)
    longer = build(position_encoding=kind, max_position_embeddings=40)
    ids = torch.randint(28, (2, 30), generator=torch.Generator().manual_seed(0))
    assert torch.equal(model(ids).logits, longer(ids).logits)
    assert model.generate(ids[:, :4], max_new_tokens=8, do_sample=False, eos_token_id=None).shape == (2, 12)


# None


@torch.no_grad()
def test_without_positions_the_mask_alone_tells_order() -> None:
    """Slides R:892-894: causal attention is not permutation-equivariant.

    One layer knows which words stand before a word, not their order. The second layer reads what the first has made of
    each word and those before it, so that it can tell orders apart.
    """
    torch.manual_seed(0)
    ids = torch.randperm(28)[:9][None]
    earlier_moved = torch.cat((ids[:, torch.randperm(8)], ids[:, 8:]), 1)
    last_moved = ids.roll(1, 1)
    for norm, layers in product(("pre", "post"), (1, 2)):
        model = build(position_encoding="none", norm_position=norm, num_hidden_layers=layers).model
        states, other = (model(each).last_hidden_state for each in (ids, earlier_moved))
        assert bool((states[:, -1] - other[:, -1]).abs().max() < 1e-6) == (layers == 1)
        assert (states.roll(1, 1) - model(last_moved).last_hidden_state).abs().max() > 0.1


# Whole models


def copy_gpt(ours: SelfAttentionForCausalLM, theirs: nn.Module, prefix: str) -> None:
    """Weights of transformers' GPT-1 or GPT-2, whose linear maps are stored transposed; they have no output bias."""
    names = {"attn.c_attn": "self_attn.qkv_proj", "attn.c_proj": "self_attn.o_proj"}
    names |= {"mlp.c_fc": "ffn.up_proj", "mlp.c_proj": "ffn.down_proj", "ln_1": "attention_norm", "ln_2": "ffn_norm"}
    words = {"wte": "embed_tokens", "tokens_embed": "embed_tokens", "ln_f": "final_norm"}
    words |= dict.fromkeys(("wpe", "positions_embed"), "position_encoding.embed_positions")
    left = dict(ours.model.named_parameters())
    with torch.no_grad():
        for name, parameter in getattr(theirs, prefix).named_parameters():
            part, kind = name.rsplit(".", 1)
            if part.startswith("h."):
                _, number, inner = part.split(".", 2)
                target = left.pop(f"layers.{number}.{names[inner]}.{kind}")
                target.copy_(parameter.T if parameter.ndim == 2 else parameter)
            else:
                left.pop(f"{words[part]}.{kind}").copy_(parameter)
        ours.lm_head.bias.zero_()
    assert not left


SIZES = {"vocab_size": 32, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_positions": 24}
GPTS = {
    "pre": lambda: GPT2LMHeadModel(GPT2Config(**SIZES, bos_token_id=29, eos_token_id=30)),
    "post": lambda: OpenAIGPTLMHeadModel(OpenAIGPTConfig(**SIZES)),
}


@pytest.mark.parametrize("norm", GPTS)
def test_learned_positions_make_gpt1_or_gpt2(norm: str) -> None:
    """Logits, all states, and gradients of the first and last weights."""
    theirs: Any = GPTS[norm]().eval()
    perturb(theirs, 0.4)
    theirs.tie_weights()
    ours = build(position_encoding="learned", norm_position=norm)
    copy_gpt(ours, theirs, "transformer")
    inputs = ragged()
    real = inputs["attention_mask"].bool()
    positions = (inputs["attention_mask"].cumsum(1) - 1).clamp(min=0)
    expected = theirs(**inputs, position_ids=positions, output_hidden_states=True)
    found = ours(**inputs, output_hidden_states=True)
    assert_close(found.logits[real], expected.logits[real], rtol=0, atol=2e-5)
    for mine, other in zip(found.hidden_states, expected.hidden_states, strict=True):
        assert_close(mine[real], other[real], rtol=0, atol=1e-5)
    for logits in (found.logits, expected.logits):
        weighted_sum({"logits": logits[real]}).backward()
    first, last = theirs.transformer.h[0].attn.c_attn, theirs.transformer.h[1].mlp.c_proj
    pairs = (
        (ours.get_input_embeddings().weight.grad, theirs.get_input_embeddings().weight.grad),
        (ours.model.layers[0].self_attn.qkv_proj.weight.grad, first.weight.grad.T),
        (ours.model.layers[1].ffn.down_proj.weight.grad, last.weight.grad.T),
    )
    for mine, other in pairs:
        assert_close(mine, other, rtol=0, atol=1e-4 * other.abs().max().item())


@torch.no_grad()
def test_swish_starts_as_silu() -> None:
    """Built or loaded from nothing, β is 1 in every block."""
    config = small(hidden_act="swish", position_encoding="alibi")
    load = PreTrainedModel.from_pretrained.__func__  # below our own refusal of incomplete checkpoints
    loaded = load(SelfAttentionForCausalLM, None, config=config, state_dict={})
    for model in (SelfAttentionForCausalLM(config), loaded):
        betas = [value.item() for name, value in model.named_parameters() if name.endswith("beta")]
        assert betas == [1.0] * config.num_hidden_layers


def test_the_mix_starts_as_the_last_layer() -> None:
    for norm in ("pre", "post"):
        torch.manual_seed(0)
        mixed = SelfAttentionForCausalLM(small(norm_position=norm, layer_mix=True)).eval()
        plain = SelfAttentionForCausalLM(small(norm_position=norm)).eval()
        missing, unknown = plain.load_state_dict(mixed.state_dict(), strict=False)
        assert (missing, unknown) == ([], ["model.layer_mix.theta"])
        ids = torch.arange(10)[None]
        assert_close(mixed(ids).logits, plain(ids).logits, rtol=0, atol=1e-6)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpointing_reaches_the_trained_bias(use_reentrant: bool) -> None:
    """The bias is one tensor for all blocks, within what they are handed."""
    model, inputs = build(position_encoding="relative", dropout=0.0).train(), ragged()
    gradients = []
    for _ in range(2):
        model.zero_grad()
        model(**inputs, labels=inputs["input_ids"]).loss.backward()
        gradients.append({name: parameter.grad.clone() for name, parameter in model.named_parameters()})
        switch_checkpointing(model, True, {"use_reentrant": use_reentrant})
    assert_close(gradients[1], gradients[0], rtol=0, atol=1e-6)
