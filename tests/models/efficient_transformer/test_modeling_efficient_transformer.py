# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Transformers with efficient attention: what every model must do, and what only they do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.testing import assert_close
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedModel

from hf_lecture_models.evaluation.scoring import ContextLimit
from hf_lecture_models.layers.recurrent_cache import RecurrentCache
from hf_lecture_models.models.efficient_transformer import (
    EfficientTransformerConfig,
    EfficientTransformerForCausalLM,
    EfficientTransformerForMaskedLM,
    EfficientTransformerModel,
)
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.layers.efficient_references import dense_reference
from tests.model_tests import (
    CausalLMHeadTests,
    MaskedLMTests,
    ModelTests,
    RecurrentCacheTests,
    Tensors,
    gradients,
    perturb,
    token_inputs,
)
from tests.stand_in import encoder_tokenizer

WORDS = [f"w{number}" for number in range(28)]
CAUSAL_KINDS = ("local", "random", "hierarchical", "linear", "performer", "hashing")


def small(**changes: Any) -> EfficientTransformerConfig:
    fields: dict[str, Any] = {"vocab_size": 32, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3}
    fields |= {"max_position_embeddings": 24, "window_size": 2, "num_sentinels": 1, "block_size": 3}
    fields |= {"projected_length": 5, "num_random_features": 6, "num_hashes": 2, "num_buckets": 4}
    ids = {"bos_token_id": 29, "eos_token_id": 30, "pad_token_id": 31}
    return EfficientTransformerConfig(**{**fields, **ids, **changes})


# The reference: the attention of tests/layers/efficient_references.py, the rest straight from the equations.


def normed(p: Tensors, name: str, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred * centred).mean(-1, keepdim=True)
    return centred / (variance + 1e-5).sqrt() * p[f"{name}.weight"] + p[f"{name}.bias"]


def reference_state(model: Any, ids: Tensor) -> Tensor:
    config, p = model.config, dict(model.named_parameters())
    width = config.hidden_size
    angles = torch.arange(ids.shape[1])[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    places = torch.zeros(ids.shape[1], width)
    places[:, 0::2], places[:, 1::2] = angles.sin(), angles.cos()
    h = width**0.5 * p["embed_tokens.weight"][ids] + places
    if config.position_encoding == "learned":
        h = p["embed_tokens.weight"][ids] + p["position_encoding.embed_positions.weight"][: ids.shape[1]]
    for number in range(config.num_hidden_layers):
        name = "layers.0" if config.share_layers else f"layers.{number}"
        attention = model.get_submodule(f"{name}.self_attn")
        own = {key: p[f"{name}.self_attn.{key}"] for key in dict(attention.named_parameters())}
        h = h + dense_reference(attention, normed(p, f"{name}.attention_norm", h), own)
        z = normed(p, f"{name}.ffn_norm", h) @ p[f"{name}.ffn.up_proj.weight"].T + p[f"{name}.ffn.up_proj.bias"]
        z = z / 2 * (1 + ((2 / torch.pi) ** 0.5 * (z + 0.044715 * z**3)).tanh())
        h = h + z @ p[f"{name}.ffn.down_proj.weight"].T + p[f"{name}.ffn.down_proj.bias"]
    return normed(p, "final_norm", h)


class EfficientLMTests:
    """What the language models of all kinds share."""

    model_class = EfficientTransformerForCausalLM
    perturbation = 0.4
    fields: ClassVar[dict[str, Any]] = {}

    def config(self) -> EfficientTransformerConfig:
        return small(**self.fields)

    def reference(self, model: Any, inputs: Tensors) -> Tensors:
        state = reference_state(model.model, inputs["input_ids"])
        return {"logits": torch.einsum("btd,vd->btv", state, model.lm_head.weight) + model.lm_head.bias}

    def processing_class(self) -> Any:
        return WordTokenizer.train([" ".join(WORDS)])


class TestLocal(EfficientLMTests, RecurrentCacheTests):
    # Four sentinels, of which three are seen before a row goes on: all that is kept then changes.
    fields = {"attention_kind": "local", "num_sentinels": 4, "dropout": 0.1}
    foreign_states = (({"window_size": 4}, "another model"), ({"num_attention_heads": 2}, "another model"))
    contradictory_configs = (
        {"attention_kind": "full"},
        {"hidden_act": "tanh"},
        {"num_attention_heads": 5},
        {"hidden_size": 9, "num_attention_heads": 3},
        {"window_size": 25},
        {"num_sentinels": 25},
        {"num_sentinels": -1},
        {"attention_kind": "random", "window_size": 25},
        {"attention_kind": "random", "window_size": 8, "num_random_blocks": 2},
        {"attention_kind": "hierarchical", "block_size": 25},
        {"attention_kind": "low_rank", "projected_length": 25},
        {"attention_kind": "hashing", "num_buckets": 3},
        {"attention_kind": "hashing", "block_size": 25},
        {"pattern_seed": -1},
        {"dropout": 1.0},
        {"hiden_size": 8},
    )


class TestRandom(EfficientLMTests, CausalLMHeadTests):
    fields = {"attention_kind": "random"}


class TestLearnedPositions(EfficientLMTests, CausalLMHeadTests):
    fields = {"attention_kind": "linear", "position_encoding": "learned"}


class TestHierarchical(EfficientLMTests, CausalLMHeadTests):
    fields = {"attention_kind": "hierarchical"}


class TestLinear(EfficientLMTests, RecurrentCacheTests):
    fields = {"attention_kind": "linear"}
    foreign_states = (({"num_attention_heads": 2}, "another model"),)


class TestPerformer(EfficientLMTests, RecurrentCacheTests):
    # Drawn from another seed, two more tokens would not move the largest exponent of any head.
    fields = {"attention_kind": "performer", "tie_word_embeddings": False, "pattern_seed": 3}
    foreign_states = (({"num_random_features": 4}, "another model"),)


class TestHashing(EfficientLMTests, CausalLMHeadTests):
    fields = {"attention_kind": "hashing"}


class TestSharedLayers(EfficientLMTests, RecurrentCacheTests):
    fields = {"attention_kind": "local", "num_sentinels": 4, "share_layers": True, "num_hidden_layers": 3}


class MaskedTests(EfficientLMTests, MaskedLMTests):
    model_class = EfficientTransformerForMaskedLM
    bidirectional = True

    def config(self) -> EfficientTransformerConfig:
        ids = {"vocab_size": 20, "pad_token_id": 19, "bos_token_id": None, "eos_token_id": None}
        return small(**{**ids, **self.fields})

    def processing_class(self) -> Any:
        return encoder_tokenizer()


class TestMaskedLocal(MaskedTests):
    fields = {"attention_kind": "local", "dropout": 0.1}


class TestMaskedRandom(MaskedTests):
    fields = {"attention_kind": "random"}


class TestMaskedHierarchical(MaskedTests):
    fields = {"attention_kind": "hierarchical"}


class TestMaskedLowRank(MaskedTests):
    fields = {"attention_kind": "low_rank"}


class TestMaskedLinear(MaskedTests):
    fields = {"attention_kind": "linear"}


class TestMaskedPerformer(MaskedTests):
    fields = {"attention_kind": "performer"}


class TestMaskedHashing(MaskedTests):
    fields = {"attention_kind": "hashing"}


class BaseTests(ModelTests):
    model_class = EfficientTransformerModel
    perturbation = 0.4
    sequence_inputs = ("input_ids", "attention_mask")
    pipeline_task = "feature-extraction"
    fields: ClassVar[dict[str, Any]] = {}

    def config(self) -> EfficientTransformerConfig:
        return small(**self.fields)

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        assert batch == len(lengths)
        return token_inputs(self.config(), lengths)

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        return {"last_hidden_state": reference_state(model, inputs["input_ids"])}

    def processing_class(self) -> WordTokenizer:
        return WordTokenizer.train([" ".join(WORDS)])

    def pipeline_inputs(self) -> list[str]:
        return ["w1 w2 w3", "w4"]


class TestCausalModel(BaseTests):
    fields = {"attention_kind": "hierarchical"}
    bidirectional = False


class TestBidirectionalModel(BaseTests):
    fields = {"attention_kind": "low_rank", "bidirectional": True, "share_layers": True}
    bidirectional = True


def build(model_class: Any = EfficientTransformerForCausalLM, **changes: Any) -> Any:
    model = model_class(small(**changes))
    perturb(model, 0.4)
    model.tie_weights()
    return model.eval()


def some_ids(*shape: int) -> Tensor:
    return torch.randint(29, shape, generator=torch.Generator().manual_seed(5))


# Layers that share their weights


@pytest.mark.parametrize("kind", ["local", "random", "hashing"])
@torch.no_grad()
def test_shared_layers_equal_a_stack_of_copies(kind: str) -> None:
    """What is drawn is shared too; a third of the blocks' parameters."""
    shared = build(attention_kind=kind, share_layers=True, num_hidden_layers=3)
    stack = build(attention_kind=kind, num_hidden_layers=3)
    weights = shared.state_dict()
    blocks = [name for name in stack.state_dict() if name.startswith("model.layers.")]
    copied = {name: weights[".".join(["model.layers.0", *name.split(".")[3:]])] for name in blocks}
    stack.load_state_dict(weights | copied)
    ids = some_ids(2, 20)
    assert_close(shared(ids).logits, stack(ids).logits, rtol=0, atol=0)
    one, three = (sum(p.numel() for p in model.model.layers.parameters()) for model in (shared, stack))
    assert three == 3 * one
    assert stack.num_parameters() - shared.num_parameters() == 2 * one


# What generation keeps


@torch.no_grad()
def test_what_each_kind_keeps() -> None:
    """Numbers of one layer after 20 tokens: w + G keys and values, sums of one size, or all keys and values."""
    heads, size, tokens = 3, 4, 20
    window, first = 2 * 2 * heads * size, 4 * 2 * heads * size
    expected = {
        "local": window + first,
        "linear": heads * size * (size + 1),
        "performer": heads * (6 * (size + 1) + 1),
        "random": 2 * tokens * heads * size + first // 2,
        "hierarchical": 2 * tokens * heads * size,
        "hashing": (2 * size + 2) * tokens * heads,  # of each key a bucket in each of two rounds
    }
    for kind in CAUSAL_KINDS:
        cache = build(attention_kind=kind, num_sentinels=2)(some_ids(1, tokens)).past_key_values
        *tensors, count = cache.states[0]
        assert count.tolist() == [tokens]
        assert sum(tensor.numel() for tensor in tensors) == expected[kind], kind


@pytest.mark.parametrize("kind", CAUSAL_KINDS)
@torch.no_grad()
def test_one_row_of_a_batch_is_only_padding_for_a_while(kind: str) -> None:
    """Its text then begins at place 0, however long the others are."""
    model, ids = build(attention_kind=kind), some_ids(2, 14)
    mask = torch.ones(2, 14, dtype=torch.long)
    mask[0, :6] = 0
    cache, logits = None, []
    for start, end in ((0, 4), (4, 5), (5, 9), (9, 14)):
        outputs = model(ids[:, start:end], attention_mask=mask[:, :end], past_key_values=cache)
        cache = outputs.past_key_values
        logits.append(outputs.logits)
    assert_close(torch.cat(logits, 1)[0, 6:], model(ids[:1, 6:]).logits[0], rtol=0, atol=1e-5)


def test_a_cache_of_hashing_without_buckets_is_refused() -> None:
    """As earlier versions saved it: keys, values and the count of tokens."""
    model = build(attention_kind="hashing")
    cache = model(some_ids(1, 5)).past_key_values
    before = RecurrentCache.from_states([(k, v, count) for k, v, _, count in cache.states], 5)
    with pytest.raises(ValueError, match=r"past_key_values is of .* an earlier version.*read the texts again"):
        model(some_ids(1, 1), past_key_values=before)


# Tokens far away


@pytest.mark.parametrize("kind", CAUSAL_KINDS)
def test_which_tokens_a_prediction_reads(kind: str) -> None:
    """With one layer: a window and the sentinels, or every token; random blocks are some of those between."""
    model = build(attention_kind=kind, num_hidden_layers=1, num_hashes=1, num_buckets=8)
    vectors = model.get_input_embeddings()(some_ids(1, 20)).detach().requires_grad_()
    model(inputs_embeds=vectors).logits[0, -1].sum().backward()
    read = set(vectors.grad[0].abs().sum(-1).nonzero().flatten().tolist())
    near = {0, 17, 18, 19}
    if kind == "local":
        assert read == near
    elif kind in ("random", "hashing"):
        assert near - {17, 18, 0} <= read < set(range(20))
        assert kind == "hashing" or near < read
    else:
        assert read == set(range(20))


# Errors


def test_low_rank_attention_has_no_causal_form() -> None:
    config = small(attention_kind="low_rank")
    for model_class in (EfficientTransformerForCausalLM, EfficientTransformerModel):
        with pytest.raises(ValueError, match="attention_kind='low_rank' has no causal form"):
            model_class(config)
        with pytest.raises(ValueError, match="reads from left to right|has no causal form"):
            EfficientTransformerForCausalLM(small(attention_kind="low_rank", bidirectional=True))


@pytest.mark.parametrize(
    "fields",
    [{"attention_kind": "random"}, {"attention_kind": "low_rank"}, {"position_encoding": "learned"}],
    ids=lambda fields: next(iter(fields.values())),
)
def test_texts_past_the_longest(fields: dict[str, str]) -> None:
    models = [build(EfficientTransformerForMaskedLM, **fields)]
    models += [] if fields.get("attention_kind") == "low_rank" else [build(**fields)]
    for model in models:
        assert model.longest_input == 24
        assert model(some_ids(1, 24)).logits.shape[1] == 24
        for padding in (slice(2), slice(24, None)):
            padded = torch.ones(1, 26, dtype=torch.long)
            padded[:, padding] = 0
            assert model(some_ids(1, 26), attention_mask=padded).logits.isfinite().all()
        with pytest.raises(ValueError, match="position 24.*max_position_embeddings=24"):
            model(some_ids(1, 25))
    if len(models) > 1:
        cache = models[1](some_ids(1, 22)).past_key_values
        with pytest.raises(ValueError, match="position 24"):
            models[1](some_ids(1, 3), past_key_values=cache)


@torch.no_grad()
@pytest.mark.parametrize("kind", ["local", "hierarchical", "linear", "performer", "hashing"])
def test_other_kinds_read_on(kind: str) -> None:
    assert build(attention_kind=kind).longest_input is None
    assert build(attention_kind=kind)(some_ids(1, 50)).logits.isfinite().all()


def test_a_masked_model_is_no_causal_one(tmp_path: Path) -> None:
    """Its configuration, not the one given, says so; the other way round the weights are a beginning."""
    config = small(attention_kind="linear")
    model = EfficientTransformerForMaskedLM(config)
    assert (model.config.bidirectional, model.model.config.bidirectional, config.bidirectional) == (True, True, False)
    model.save_pretrained(tmp_path / "masked")
    assert AutoModel.from_pretrained(tmp_path / "masked").config.bidirectional
    with pytest.raises(ValueError, match="set bidirectional=False"):
        AutoModelForCausalLM.from_pretrained(tmp_path / "masked")
    with pytest.raises(ValueError, match="cannot go on from past_key_values"):
        causal = EfficientTransformerForCausalLM(config)
        causal.save_pretrained(tmp_path / "causal")
        masked = AutoModelForMaskedLM.from_pretrained(tmp_path / "causal")
        assert torch.equal(masked.model.embed_tokens.weight, causal.model.embed_tokens.weight)
        masked.model(some_ids(1, 3), past_key_values=causal(some_ids(1, 3)).past_key_values)


@pytest.mark.parametrize(
    ("kind", "name"), [("random", "random_blocks"), ("performer", "directions"), ("hashing", "rotations")]
)
def test_a_checkpoint_with_another_pattern(kind: str, name: str, tmp_path: Path) -> None:
    """Another seed, another size, a pattern that sees the future, or none."""
    model = build(attention_kind=kind)
    model.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    saved = f"model.layers.1.self_attn.{name}"
    assert torch.equal(weights[saved], model.state_dict()[saved])
    assert not torch.equal(weights[saved], weights[saved.replace("layers.1", "layers.0")])
    with pytest.raises(ValueError, match="drawn from the seed 0, and this configuration draws from 7"):
        AutoModelForCausalLM.from_pretrained(tmp_path, pattern_seed=7)
    size = {"random": "num_random_blocks", "performer": "num_random_features", "hashing": "num_hashes"}[kind]
    with pytest.raises(ValueError, match=saved.replace("1.self", ".*self")):
        AutoModelForCausalLM.from_pretrained(tmp_path, **{size: 3})
    if kind == "random":
        bad = weights[saved].clone()
        bad[1, 0] = 8
        save_file({**weights, saved: bad}, tmp_path / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(ValueError, match="block 1 attend to block 8"):
            AutoModelForCausalLM.from_pretrained(tmp_path)
    del weights[saved]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=saved):
        AutoModelForCausalLM.from_pretrained(tmp_path)


# Evaluation


def test_texts_are_evaluated_in_windows_of_the_trained_length() -> None:
    """Although a state could be carried on: places past the window have not been trained."""
    limit = ContextLimit.of(build())
    assert (limit.longest, limit.overlap, limit.carries_state) == (24, 12, False)


@pytest.mark.parametrize("kind", CAUSAL_KINDS)
def test_training_through_segments(kind: str) -> None:
    """Layout stream: a state of any kind is carried on and cut off from the graph."""
    model, ids = build(attention_kind=kind), some_ids(2, 13)
    whole = model(ids[:, :12], shift_labels=ids[:, 1:], num_items_in_batch=24).loss
    cache, total = None, 0.0
    for start in (0, 4, 8):
        given = {"shift_labels": ids[:, start + 1 : start + 5], "num_items_in_batch": 24, "use_cache": True}
        outputs = model(ids[:, start : start + 4], past_key_values=cache, **given)
        cache, total = outputs.past_key_values.detach(), total + outputs.loss
        assert all(gradient.isfinite().all() for gradient in gradients(model, outputs.loss).values())
    assert_close(total, whole)


@pytest.mark.cases(0, 1)
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "block"), [("hierarchical", 6), ("local", 8), ("low_rank", 40)])
@torch.no_grad()
def test_export_keeps_batch_and_length_free(kind: str, block: int) -> None:
    """As the page of other programs says: for texts longer than a block, except multiples of it, which are refused."""
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "projected_length": 8}
    sizes |= {"window_size": 8, "block_size": 6, "max_position_embeddings": 40, "vocab_size": 17}
    model = EfficientTransformerForMaskedLM(
        EfficientTransformerConfig(attention_kind=kind, bidirectional=True, **sizes)
    )
    perturb(model.eval(), 0.5)
    names = ("input_ids", "attention_mask")
    free = {0: torch.export.Dim("batch"), 1: torch.export.Dim("seq", min=9, max=40)}
    example = {name: torch.ones(2, 20, dtype=torch.long) for name in names}
    program = torch.export.export(
        model,
        (),
        example,
        dynamic_shapes=dict.fromkeys(names, free),
        prefer_deferred_runtime_asserts_over_guards=True,
    ).module()
    for length in (9, 10, 17, 31, 39, 12 if block == 6 else 40):
        mask = torch.ones(3, length, dtype=torch.long)
        mask[0, :3] = mask[1, -2:] = 0
        inputs = {"input_ids": torch.randint(4, 17, (3, length)), "attention_mask": mask}
        if length % block == 0:
            with pytest.raises(RuntimeError, match="Runtime assertion failed"):
                program(**inputs)
        else:
            real = mask.bool()
            assert_close(program(**inputs).logits[real], model(**inputs).logits[real])
