# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Relative buckets: the bias of T5, copied weight for weight, and the whole model with it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.testing import assert_close
from transformers import (
    AutoConfig,
    EncoderDecoderCache,
    MT5Config,
    MT5ForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
    UMT5Config,
    UMT5ForConditionalGeneration,
)
from transformers.models.t5.modeling_t5 import T5Attention

from hf_lecture_models import (
    LectureTransformerConfig,
    LectureTransformerForConditionalGeneration,
    LectureTransformerModel,
)
from tests.model_tests import Tensors, left_padded, perturb, token_inputs
from tests.models.transformer.test_blocks_transformer import SHAPE, torch_layer
from tests.models.transformer.test_modeling_transformer import TransformerTests

BUCKETS = {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 6}


def small(**changes: Any) -> LectureTransformerConfig:
    return LectureTransformerConfig(**{**SHAPE, **BUCKETS, "position_encoding": "relative_buckets", **changes})


def t5_bias(stack: Any, queries: int, keys: int, seen: int = 0) -> Tensor:
    """transformers' own, (1, heads, queries, keys), from our table; gradients flow back to it."""
    heads, config = stack.layers[0].self_attn.num_heads, stack.config
    shape = {"num_heads": heads, "d_model": 12, "d_kv": 12 // heads, "is_decoder": "Decoder" in type(stack).__name__}
    buckets = {name: getattr(config, name) for name in BUCKETS}
    theirs = T5Attention(T5Config(**shape, **buckets), has_relative_attention_bias=True, layer_idx=0)
    theirs.relative_attention_bias.weight = stack.position_encoding.bias.weight
    return theirs.compute_bias(queries, keys, past_seen_tokens=seen)


def unscaled_layer(config: LectureTransformerConfig, block: Any) -> tuple[nn.Module, Tensors]:
    """torch's layer, whose scores are divided by √head_dim, and weights whose queries make up for that."""
    layer, weights = torch_layer(config, block)
    for attention in {name.split(".")[0] for name in weights if "in_proj" in name}:
        for kind in ("weight", "bias"):
            joined = weights[f"{attention}.in_proj_{kind}"]
            width = len(joined) // 3
            root = math.sqrt(block.self_attn.head_dim)
            weights[f"{attention}.in_proj_{kind}"] = torch.cat((joined[:width] * root, joined[width:]))
    return layer, weights


class RelativeBucketsTests(TransformerTests):
    """Not collected by itself. The reference is made of torch's layers and of T5's bias."""

    def reference(self, model: Any, inputs: Tensors) -> Tensors:
        encoder, decoder, config = model.model.encoder, model.model.decoder, model.config
        factor = config.hidden_size**0.5 if config.scale_embedding else 1.0
        source = factor * encoder.embed_tokens.weight[inputs["input_ids"]]
        target = factor * decoder.embed_tokens.weight[inputs["decoder_input_ids"]]
        rows, length = target.shape[:2]
        bias = t5_bias(encoder, source.shape[1], source.shape[1]).repeat(rows, 1, 1, 1).flatten(0, 1)
        for block in encoder.layers:
            layer, weights = unscaled_layer(config, block)
            source = functional_call(layer, weights, (source,), {"src_mask": bias})
        source = encoder.final_norm(source)
        bias = t5_bias(decoder, length, length) + nn.Transformer.generate_square_subsequent_mask(length)
        bias = bias.repeat(rows, 1, 1, 1).flatten(0, 1)
        for block in decoder.layers:
            layer, weights = unscaled_layer(config, block)
            target = functional_call(layer, weights, (target, source), {"tgt_mask": bias})
        return {"logits": model.lm_head(decoder.final_norm(target))}


@pytest.mark.slow
class TestRelativeBuckets(RelativeBucketsTests):
    contradictory_configs = (
        {"relative_attention_num_buckets": 2},
        {"relative_attention_num_buckets": 9},
        {"relative_attention_num_buckets": 32, "relative_attention_max_distance": 16},
        {"relative_attention_max_distance": 0},
        {"relative_attention_num_bucket": 8},
    )

    def config(self) -> LectureTransformerConfig:
        return small(norm_position="pre")


def test_outputs_gradients_and_cache() -> None:
    """Of all those checks, the ones that see the bias most."""
    checks = TestRelativeBuckets()
    checks.test_outputs_equal_reference()
    checks.test_gradients_equal_reference()
    checks.test_cache_equals_no_cache((3, 1, 2))
    checks.test_source_padded_on_the_left()


# The bias, and nothing else


@pytest.mark.parametrize("length", [1, 5, 13])
def test_the_bias_equals_t5s(length: int) -> None:
    """Values, and the gradients of the table, of both stacks; the decoder's also in single steps."""
    model = LectureTransformerModel(small())
    perturb(model, 0.5)
    hidden = torch.zeros(2, length, 12)
    positions = torch.arange(length)[None]
    for stack in (model.encoder, model.decoder):
        table = stack.position_encoding.bias.weight
        theirs = t5_bias(stack, length, length)
        _, ours = stack.position_encoding(hidden, positions, positions[:, None])
        assert torch.equal(ours, theirs)
        weights = torch.randn(ours.shape)
        found, expected = (torch.autograd.grad((bias * weights).sum(), table)[0] for bias in (ours, theirs))
        assert_close(found, expected)
        _, step = stack.position_encoding(hidden[:, -1:], positions[:, -1:], positions[:, None])
        assert torch.equal(step, t5_bias(stack, 1, length, seen=length - 1))


@torch.no_grad()
def test_all_layers_and_steps_share_the_bias() -> None:
    """What each self-attention is handed, with a cache and without; cross-attention gets none."""
    model = LectureTransformerForConditionalGeneration(small()).eval()
    given: dict[str, list[Any]] = {"self_attn": [], "cross_attn": []}
    for stack in (model.model.encoder, model.model.decoder):
        for layer in stack.layers:
            for name, biases in given.items():
                if (attention := getattr(layer, name, None)) is not None:
                    assert attention.scaling == 1.0
                    place = 1 if name == "self_attn" else 2
                    attention.register_forward_pre_hook(
                        lambda module, args, found=biases, place=place: found.append(args[place].position_bias)
                    )
    ids = torch.randint(0, 17, (2, 7), generator=torch.Generator().manual_seed(0))
    outputs = model(ids, decoder_input_ids=ids[:, :5], use_cache=True)
    step = {"encoder_outputs": (outputs.encoder_last_hidden_state,), "past_key_values": outputs.past_key_values}
    assert isinstance(outputs.past_key_values, EncoderDecoderCache)
    model(decoder_input_ids=ids[:, 5:6], **step)
    assert given["cross_attn"] == [None] * 6
    encoder, decoder = model.model.encoder, model.model.decoder
    expected = [t5_bias(encoder, 7, 7)] * 2 + [t5_bias(decoder, 5, 5)] * 3 + [t5_bias(decoder, 1, 6, seen=5)] * 3
    assert len(given["self_attn"]) == len(expected)
    for bias, theirs in zip(given["self_attn"], expected, strict=True):
        assert torch.equal(bias, theirs)


# The whole model, number by number


def bucket(distance: int, one_sided: bool) -> int:
    """The section's sentences, for 8 buckets up to distance 6: each side has its own, half of them exact."""
    buckets = 8 if one_sided else 4
    side = 0 if one_sided or distance >= 0 else buckets
    distance = max(distance, 0) if one_sided else abs(distance)
    exact = buckets // 2
    if distance < exact:
        return side + distance
    wide = exact + int(math.log(distance / exact) / math.log(6 / exact) * (buckets - exact))
    return side + min(wide, buckets - 1)


class NumpyTransformer:
    """Pre-LN, one row, word by word."""

    def __init__(self, model: Any) -> None:
        self.weights = {name: tensor.detach().double().numpy() for name, tensor in model.state_dict().items()}
        self.config = model.config

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + self.config.layer_norm_eps)
        return x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def attention(self, q: Any, k: Any, v: Any, heads: int, table: np.ndarray | None, causal: bool) -> np.ndarray:
        width = q.shape[1] // heads
        output = np.zeros_like(q)
        for head in range(heads):
            part = slice(head * width, (head + 1) * width)
            for t in range(len(q)):
                last = t + 1 if causal else len(k)
                scores = [q[t, part] @ k[s, part] for s in range(last)]
                if table is not None:
                    scores = [score + table[bucket(t - s, causal), head] for s, score in enumerate(scores)]
                weights = np.exp(np.array(scores) - max(scores))
                output[t, part] = weights / weights.sum() @ v[:last, part]
        return output

    def stack(self, x: np.ndarray, name: str, layers: int, heads: int, source: np.ndarray | None) -> np.ndarray:
        table = self.weights[f"model.{name}.position_encoding.bias.weight"]
        for layer in range(layers):
            block = f"model.{name}.layers.{layer}"
            normed = self.norm(x, f"{block}.attention_norm")
            q, k, v = np.split(self.linear(normed, f"{block}.self_attn.qkv_proj"), 3, axis=1)
            attended = self.attention(q, k, v, heads, table, causal=source is not None)
            x = x + self.linear(attended, f"{block}.self_attn.o_proj")
            if source is not None:
                q = self.linear(self.norm(x, f"{block}.cross_attention_norm"), f"{block}.cross_attn.q_proj")
                k, v = np.split(self.linear(source, f"{block}.cross_attn.kv_proj"), 2, axis=1)
                attended = self.attention(q, k, v, heads, None, causal=False)
                x = x + self.linear(attended, f"{block}.cross_attn.o_proj")
            inner = np.maximum(self.linear(self.norm(x, f"{block}.ffn_norm"), f"{block}.ffn.up_proj"), 0)
            x = x + self.linear(inner, f"{block}.ffn.down_proj")
        return self.norm(x, f"model.{name}.final_norm")

    def __call__(self, source: list[int], target: list[int]) -> np.ndarray:
        words = self.weights["model.encoder.embed_tokens.weight"] * math.sqrt(self.config.hidden_size)
        read = self.stack(words[source], "encoder", self.config.num_hidden_layers, 3, None)
        hidden = self.stack(words[target], "decoder", self.config.decoder_layers, 2, read)
        return hidden @ self.weights["lm_head.weight"].T + self.weights["lm_head.bias"]


@torch.no_grad()
@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_the_model_equals_its_numbers(implementation: str) -> None:
    """A batch padded on either side, beside each of its rows alone in double precision."""
    model = LectureTransformerForConditionalGeneration(small(norm_position="pre")).eval()
    perturb(model, 0.3)
    model.set_attn_implementation(implementation)
    lengths = (11, 4, 8)
    right = token_inputs(model.config, lengths)
    target = token_inputs(model.config, (9,) * 3, seed=1)["input_ids"]
    oracle = NumpyTransformer(model)
    rows = [right["input_ids"][row, :length].tolist() for row, length in enumerate(lengths)]
    expected = torch.from_numpy(
        np.stack([oracle(row, t.tolist()) for row, t in zip(rows, target, strict=True)])
    ).float()
    for inputs in (right, left_padded(right, list(right), lengths)):
        assert_close(model(**inputs, decoder_input_ids=target).logits, expected, rtol=0, atol=1e-4)


@torch.no_grad()
def test_all_caches_generate_alike() -> None:
    """Greedy and by beams, sources padded on either side: growing, static and no cache, sdpa and eager."""
    model = LectureTransformerForConditionalGeneration(small(norm_position="pre")).eval()
    perturb(model, 0.5)
    lengths = (9, 3, 6)
    right = token_inputs(model.config, lengths)
    left = left_padded(right, list(right), lengths)
    options = {"max_new_tokens": 10, "do_sample": False, "no_repeat_ngram_size": 2, "disable_compile": True}
    for beams in (1, 3):
        expected = model.generate(**right, **options, num_beams=beams, use_cache=False)
        assert len(expected.unique()) > 3, "the outputs say nothing"
        for implementation in ("sdpa", "eager"):
            model.set_attn_implementation(implementation)
            for inputs in (right, left):
                for kept in (None, "static"):
                    found = model.generate(**inputs, **options, num_beams=beams, cache_implementation=kept)
                    assert torch.equal(found, expected), (beams, implementation, kept)


def test_first_scores_are_as_large_as_scaled_ones() -> None:
    """T5's queries start smaller by √head_dim; all else starts as without."""
    torch.manual_seed(0)
    model = LectureTransformerModel(LectureTransformerConfig(**SHAPE | BUCKETS | {"hidden_size": 48}))
    torch.manual_seed(0)
    unscaled = LectureTransformerModel(small(hidden_size=48))
    for ours, theirs in ((unscaled.encoder, model.encoder), (unscaled.decoder, model.decoder)):
        for block, other in zip(ours.layers, theirs.layers, strict=True):
            weight, scaled = block.self_attn.qkv_proj.weight, other.self_attn.qkv_proj.weight
            assert weight[48:].std().item() == pytest.approx(scaled[48:].std().item(), rel=0.05)
            ratio = weight[:48].std() / scaled[:48].std()
            assert ratio.item() == pytest.approx(block.self_attn.head_dim**-0.5, rel=0.1)
    cross = unscaled.decoder.layers[0].cross_attn
    expected = model.decoder.layers[0].cross_attn.q_proj.weight.std() * cross.head_dim**-0.5
    assert cross.q_proj.weight.std().item() == pytest.approx(expected.item(), rel=0.1)


# Files of T5

KINDS = {
    "t5": (T5Config, T5ForConditionalGeneration),
    "mt5": (MT5Config, MT5ForConditionalGeneration),
    "umt5": (UMT5Config, UMT5ForConditionalGeneration),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_t5_is_refused(tmp_path: Path, kind: str) -> None:
    """Its config.json is enough to say why; with a configuration of ours, its weights are."""
    config_class, model_class = KINDS[kind]
    shape = {"vocab_size": 20, "d_model": 12, "d_kv": 4, "d_ff": 20, "num_layers": 2, "num_heads": 3}
    model_class(config_class(**shape)).save_pretrained(tmp_path)
    assert AutoConfig.from_pretrained(tmp_path).model_type == kind
    for ours in (LectureTransformerForConditionalGeneration, LectureTransformerModel, LectureTransformerConfig):
        with pytest.raises(
            ValueError, match=rf"model_type '{kind}': T5 has RMSNorm.*no biases.*bias alone is the same"
        ):
            ours.from_pretrained(tmp_path)
    with pytest.raises(ValueError, match="lacks tensors"):
        LectureTransformerForConditionalGeneration.from_pretrained(tmp_path, config=small())
