# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The Transformer: what every model must do, with torch's layers as the reference, and what only it does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.testing import assert_close
from transformers import DynamicCache, EncoderDecoderCache

from hf_lecture_models import (
    LectureTransformerConfig,
    LectureTransformerForConditionalGeneration,
    LectureTransformerModel,
)
from hf_lecture_models.layers.causal_attention import causal_attention
from tests.model_tests import ModelTests, Tensors
from tests.models.transformer.test_blocks_transformer import SHAPE, embedded, torch_layer, torch_transformer
from tests.seq2seq_tests import Seq2SeqTests


def small(**changes: Any) -> LectureTransformerConfig:
    return LectureTransformerConfig(**{**SHAPE, **changes})


class TransformerTests(Seq2SeqTests):
    """Not collected by itself: what all variants declare in common."""

    model_class = LectureTransformerForConditionalGeneration
    source_direction = "both"
    contradictory_configs = (
        {"hidden_act": "quick_gelu"},
        {"hidden_size": 12, "num_attention_heads": 5},
        {"hidden_size": 12, "decoder_attention_heads": 5},
        {"hidden_size": 9, "num_attention_heads": 3, "decoder_attention_heads": 3, "position_encoding": "sinusoidal"},
        {"norm_position": "both"},
        {"position_encoding": "relative"},
        {"cross_attention": "both"},
        {"dropout": 1.0},
        {"is_encoder_decoder": False},
        {"decoder_vocab_size": 19, "pad_token_id": 19},
        {"vocab_size": 19, "decoder_vocab_size": 25, "pad_token_id": 19},
        {"decoder_layers": 0},
        {"hiden_size": 8},
    )

    def config(self) -> LectureTransformerConfig:
        return small()

    def reference(self, model: Any, inputs: Tensors) -> Tensors:
        outputs = torch_transformer(model.model, inputs["input_ids"], inputs["decoder_input_ids"])
        return {"logits": model.lm_head(outputs["last_hidden_state"])}


class TestTransformer(TransformerTests):
    pass


class TestPreNormTwoVocabularies(TransformerTests):
    def config(self) -> LectureTransformerConfig:
        changes = {"norm_position": "pre", "hidden_act": "swish", "position_encoding": "learned"}
        return small(**changes, scale_embedding=False, vocab_size=23, decoder_vocab_size=20)


class TestNoPositions(TransformerTests):
    def config(self) -> LectureTransformerConfig:
        return small(position_encoding="none")

    @pytest.mark.parametrize("norm", ["post", "pre"])
    @torch.no_grad()
    def test_the_encoder_is_permutation_equivariant(self, norm: str) -> None:
        """Slides R:892-894: a permuted source has the same states, permuted; in a batch, with padding, too.

        The decoder, which attends to them all, is invariant to the order of the source, not to that of the target.
        """
        torch.manual_seed(0)
        model = LectureTransformerModel(small(position_encoding="none", norm_position=norm)).eval()
        generator = torch.Generator().manual_seed(0)
        source, target = (torch.randperm(17, generator=generator)[None, :length] for length in (7, 6))
        order = torch.randperm(7, generator=generator)
        before, after = (model(ids, decoder_input_ids=target) for ids in (source, source[:, order]))
        states = before.encoder_last_hidden_state
        assert_close(after.encoder_last_hidden_state, states[:, order], rtol=0, atol=1e-6)
        padded = torch.cat((source[:, order], source[:, :2]), 1)
        mask = (torch.arange(9) < 7)[None].long()
        assert_close(model.encoder(padded, mask).last_hidden_state[:, :7], states[:, order], rtol=0, atol=1e-6)
        assert_close(after.last_hidden_state, before.last_hidden_state, rtol=0, atol=1e-6)
        moved = model(source, decoder_input_ids=target.roll(1, 1)).last_hidden_state
        assert (moved - before.last_hidden_state.roll(1, 1)).abs().max() > 0.1
        sinusoids = LectureTransformerModel(small(norm_position=norm)).eval()
        states, moved = (sinusoids.encoder(ids).last_hidden_state for ids in (source, source[:, order]))
        assert (moved - states[:, order]).abs().max() > 0.1


class TestModel(ModelTests):
    """Without the head; padding and the rest of what a head's checks see are seen there."""

    model_class = LectureTransformerModel
    perturbation = 0.3

    def config(self) -> LectureTransformerConfig:
        return small()

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        return TestTransformer().make_inputs(batch, [5] * len(lengths))

    def reference(self, model: Any, inputs: Tensors) -> Tensors:
        return torch_transformer(model, inputs["input_ids"], inputs["decoder_input_ids"])


# Nguyen's attention


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def nguyens_attention(target: np.ndarray, source: np.ndarray, layer: Any, table: np.ndarray) -> np.ndarray:
    """Slides N s44-45 for one row, (target, hidden), head by head and word by word."""
    n, m, heads = len(target), len(source), layer.num_heads
    brought = table[:n, :m] @ source
    product = brought @ layer.qk_proj.weight.detach().numpy().T + layer.qk_proj.bias.detach().numpy()
    queries, keys = np.split(product, 2, axis=1)
    values = target @ layer.value_proj.weight.detach().numpy().T + layer.value_proj.bias.detach().numpy()
    parts = (np.split(each, heads, axis=1) for each in (queries, keys, values))
    columns = []
    for q, k, v in zip(*parts, strict=True):
        rows = [softmax(q[t] @ k[: t + 1].T / np.sqrt(q.shape[1])) @ v[: t + 1] for t in range(n)]
        columns.append(np.stack(rows))
    return np.concatenate(columns, 1) @ layer.o_proj.weight.detach().numpy().T + layer.o_proj.bias.detach().numpy()


class TestNguyensAttention(TransformerTests):
    """The reference has torch's attention, with queries and keys of one sequence and values of another."""

    shows_cross_attentions = False

    def config(self) -> LectureTransformerConfig:
        return small(cross_attention="source_query_key")

    def reference(self, model: Any, inputs: Tensors) -> Tensors:
        encoder, decoder = model.model.encoder, model.model.decoder
        source, target = embedded(encoder, inputs["input_ids"]), embedded(decoder, inputs["decoder_input_ids"])
        for block in encoder.layers:
            layer, weights = torch_layer(model.config, block)
            source = functional_call(layer, weights, (source,))
        brought = decoder.length_transform.weight[: target.shape[1], : source.shape[1]] @ source
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        for block in decoder.layers:
            n = block.attention_norm(target + torch_attention(block.self_attn, target, target, mask))
            c = block.cross_attention_norm(n + torch_attention(block.cross_attn, brought, n, mask))
            target = block.ffn_norm(c + block.ffn(c))
        return {"logits": model.lm_head(target)}

    def check_first_prediction(self, difference: Tensor) -> None:
        """Masked, the first target position attends to itself alone: no source can reach its prediction."""
        assert (difference == 0).all()

    @torch.no_grad()
    def test_the_second_prediction_depends_on_the_source(self) -> None:
        model, inputs = self.build(), self.make_inputs(2, (5, 5))
        source, target = inputs["input_ids"], inputs["decoder_input_ids"][:1].expand(2, -1)
        first, second = model(source, decoder_input_ids=target).logits
        assert torch.equal(first[0], second[0])
        assert ((first - second)[1:].abs().amax(-1) > 1e-4).all()

    @torch.no_grad()
    def test_the_attention_equals_the_slides(self) -> None:
        model, torch_rng = self.build(), torch.Generator().manual_seed(4)
        source, target = (torch.randn(1, length, 12, generator=torch_rng) for length in (4, 6))
        decoder = model.model.decoder
        positions = [torch.arange(len(states[0]))[None] for states in (source, target)]
        brought = decoder.length_transform(source, None, *positions)
        layer = decoder.layers[1].cross_attn
        found, _ = layer(target, brought, causal_attention("eager", target))
        table = decoder.length_transform.weight.numpy()
        expected = nguyens_attention(target[0].numpy(), source[0].numpy(), layer, table)
        assert_close(found[0], torch.from_numpy(expected).float(), rtol=0, atol=1e-5)

    @torch.no_grad()
    def test_equal_lengths_need_no_table(self) -> None:
        """Slide N s45: at n = m, T is left out; and so a new model's T is the identity."""
        model = LectureTransformerForConditionalGeneration(self.config())
        states, positions = torch.randn(2, 5, 12), torch.arange(5)[None]
        assert torch.equal(model.model.decoder.length_transform(states, None, positions, positions), states)

    def test_positions_past_the_table_are_refused(self) -> None:
        model, ids = self.build(), torch.ones(1, 17, dtype=torch.long)
        for given in ({"input_ids": ids, "decoder_input_ids": ids[:, :3]}, {"input_ids": ids[:, :3], "labels": ids}):
            with pytest.raises(ValueError, match=r"position 16.*max_position_embeddings=16"):
                model(**given)


def torch_attention(layer: Any, queries: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """torch's multi-head attention with our weights, queries being keys too."""
    kinds = ("weight", "bias")
    projections = ("qkv_proj",) if hasattr(layer, "qkv_proj") else ("qk_proj", "value_proj")
    weights = {f"in_proj_{k}": torch.cat([getattr(getattr(layer, p), k) for p in projections]) for k in kinds}
    weights |= {f"out_proj.{k}": getattr(layer.o_proj, k) for k in kinds}
    theirs = nn.MultiheadAttention(queries.shape[-1], layer.num_heads, batch_first=True)
    return functional_call(theirs, weights, (queries, queries, values), {"attn_mask": mask})[0]


# What is refused, and what is kept


def test_positions_past_the_limit() -> None:
    """Learned positions end; sinusoids, and no positions, do not."""
    ids = torch.ones(1, 17, dtype=torch.long)
    ends, *go_on = (
        LectureTransformerForConditionalGeneration(small(position_encoding=kind))
        for kind in ("learned", "sinusoidal", "none")
    )
    for given in ({"input_ids": ids, "labels": ids[:, :3]}, {"input_ids": ids[:, :3], "labels": ids}):
        with pytest.raises(ValueError, match=r"position 16.*max_position_embeddings=16"):
            ends(**given)
        assert all(model(**given).loss.isfinite() for model in go_on)
    assert [model.longest_input for model in (ends, *go_on)] == [16, None, None]


def test_an_empty_source_is_refused() -> None:
    model, target = LectureTransformerForConditionalGeneration(small()), torch.ones(1, 3, dtype=torch.long)
    with pytest.raises(ValueError, match="at least one token per row"):
        model(torch.ones(1, 0, dtype=torch.long), labels=target)
    with pytest.raises(ValueError, match="input_ids or inputs_embeds"):
        model(labels=target)


def test_another_cache_is_refused() -> None:
    model, ids = LectureTransformerForConditionalGeneration(small()), torch.ones(1, 3, dtype=torch.long)
    with pytest.raises(ValueError, match="EncoderDecoderCache"):
        model(ids, decoder_input_ids=ids, past_key_values=DynamicCache())


@torch.no_grad()
def test_keys_and_values_of_the_source_are_computed_once() -> None:
    model, ids = LectureTransformerForConditionalGeneration(small()).eval(), torch.ones(2, 4, dtype=torch.long)
    calls: list[int] = []
    for layer in model.model.decoder.layers:
        layer.cross_attn.kv_proj.register_forward_hook(lambda *call: calls.append(1))
    model.generation_config.eos_token_id = None
    generated = model.generate(ids, max_new_tokens=6, num_beams=2, return_dict_in_generate=True)
    assert len(calls) == 3  # blocks
    cache = generated.past_key_values
    assert isinstance(cache, EncoderDecoderCache)
    assert cache.cross_attention_cache.get_seq_length() == 4


@torch.no_grad()
def test_one_vocabulary_resizes() -> None:
    model = LectureTransformerForConditionalGeneration(small())
    model.resize_token_embeddings(26)
    assert model.lm_head.weight is model.model.encoder.embed_tokens.weight is model.model.decoder.embed_tokens.weight
    assert (model.config.vocab_size, *model.lm_head.weight.shape) == (26, 26, 12)
    ids = torch.full((1, 3), 25)
    assert model(ids, labels=ids).logits.shape == (1, 3, 26)


@torch.no_grad()
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_three_tables_of_one_vocabulary_resize_apart(norm: str, tmp_path: Path) -> None:
    """Untied: the rows that were there stay, so logits and texts do; on both sides the new tokens are read."""
    ids = {"decoder_start_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    model = LectureTransformerForConditionalGeneration(small(tie_word_embeddings=False, norm_position=norm, **ids))
    model.eval()
    tables = [model.model.encoder.embed_tokens, model.model.decoder.embed_tokens, model.lm_head]
    before = [table.weight.clone() for table in tables]
    source, target = torch.tensor([[5, 3, 9]]), torch.tensor([[1, 7, 4]])
    logits = model(source, decoder_input_ids=target).logits
    unlikely = {"bad_words_ids": [[token] for token in range(20, 26)], "max_new_tokens": 5, "do_sample": False}
    text = model.generate(source, max_new_tokens=5, do_sample=False)
    model.resize_token_embeddings(26)
    tables = [model.model.encoder.embed_tokens, model.model.decoder.embed_tokens, model.lm_head]
    assert all(torch.equal(table.weight[:20], old) for table, old in zip(tables, before, strict=True))
    assert [len(table.weight) for table in tables] == [26, 26, 26]
    assert len({id(table.weight) for table in tables}) == 3
    assert_close(model(source, decoder_input_ids=target).logits[..., :20], logits, rtol=0, atol=1e-6)
    assert model.generate(source, **unlikely).tolist() == text.tolist()
    new = torch.full((1, 3), 25)
    model.save_pretrained(tmp_path)
    loaded = LectureTransformerForConditionalGeneration.from_pretrained(tmp_path)
    assert torch.equal(loaded(new, labels=new).logits, model(new, labels=new).logits)


@pytest.mark.parametrize("tied", [True, False])
def test_two_vocabularies_are_not_resized_as_one(tied: bool) -> None:
    fields = {"decoder_vocab_size": 19, "pad_token_id": 18, "tie_word_embeddings": tied}
    model = LectureTransformerForConditionalGeneration(small(**fields))
    for options in ({"new_num_tokens": 26}, {"pad_to_multiple_of": 8}, {"new_num_tokens": 20, "pad_to_multiple_of": 8}):
        with pytest.raises(ValueError, match="two vocabularies"):
            model.resize_token_embeddings(**options)
    assert model.resize_token_embeddings(20) is model.model.encoder.embed_tokens
    assert (model.config.vocab_size, model.config.decoder_vocab_size, model.lm_head.out_features) == (20, 19, 19)
