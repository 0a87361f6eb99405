# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Several texts in one row: told by positions that begin anew, or by a mask of four axes, they are read as if apart."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import DataCollatorWithFlattening, DynamicCache, GPT2Config, GPT2LMHeadModel, StaticCache

from hf_lecture_models import NGramConfig, NGramForCausalLM
from tests.interop.small_models import small_model, small_tokenizer
from tests.model_tests import uncompiled_flex_attention

# One row each: its texts. Both are of 9 tokens.
ROWS = [[[1, 2, 3, 4], [5], [6, 7, 8, 9]], [[9, 8], [7, 6, 5, 4, 3, 2, 1]]]
KINDS = ["gpt1", "sinusoidal", "learned", "relative", "alibi", "none"]
IMPLEMENTATIONS = ["eager", "sdpa", "flex_attention"]


def build(kind: str, implementation: str = "sdpa", **changes: Any) -> Any:
    fields: dict[str, Any] = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, **changes}
    if kind != "gpt1":
        fields |= {"position_encoding": kind, "relative_attention_num_buckets": 6, "relative_attention_max_distance": 7}
    torch.manual_seed(0)
    model = small_model("gpt1" if kind == "gpt1" else "self_attention", small_tokenizer(), **fields)
    for name, parameter in model.named_parameters():
        nn.init.normal_(parameter, mean=float(name.endswith("norm.weight")), std=0.3)
    model.tie_weights()
    model.set_attn_implementation(implementation)
    return model.eval()


def computing(implementation: str) -> AbstractContextManager[None]:
    return uncompiled_flex_attention() if implementation == "flex_attention" else nullcontext()


def packed() -> dict[str, Tensor]:
    """The rows, their positions, and labels, of which the first of a text is none."""
    ids = torch.tensor([[token for text in row for token in text] for row in ROWS])
    positions = torch.tensor([[place for text in row for place in range(len(text))] for row in ROWS])
    return {"input_ids": ids, "position_ids": positions, "labels": ids.masked_fill(positions == 0, -100)}


def same_text() -> Tensor:
    """(2, 1, 9, 9) bool: which positions are of the same text and not later."""
    mask = torch.zeros(len(ROWS), 1, 9, 9, dtype=torch.bool)
    for row, texts in enumerate(ROWS):
        begin = 0
        for text in texts:
            end = begin + len(text)
            mask[row, 0, begin:end, begin:end] = True
            begin = end
    return mask.tril()


def apart(model: Any) -> tuple[Tensor, Tensor]:
    """Logits of the texts read one by one, and their loss: the mean over all labels of all texts."""
    logits, total, count = [], torch.zeros(()), 0
    for row in ROWS:
        for text in row:
            ids = torch.tensor([text])
            outputs = model(ids, labels=ids, num_items_in_batch=1)
            logits.append(outputs.logits[0])
            total, count = total + outputs.loss, count + len(text) - 1
    return torch.cat(logits).view(len(ROWS), 9, -1), total / count


def gradients(model: Any, loss: Tensor) -> dict[str, Tensor]:
    found = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return {name: g for (name, _), g in zip(model.named_parameters(), found, strict=True) if g is not None}


@pytest.mark.parametrize(
    ("kind", "implementation", "training"),
    [
        # In training, one kind without a bias and one with say most.
        pytest.param(*case, marks=pytest.mark.slow if case[2] and case[0] not in ("gpt1", "relative") else [])
        for case in product(KINDS, IMPLEMENTATIONS, (False, True))
    ],
)
def test_texts_told_apart_by_positions(kind: str, implementation: str, training: bool) -> None:
    """With a cache asked for or not: its presence is no reason to join the texts."""
    rates = ("dropout", "embedding_dropout", "attention_dropout") if kind == "gpt1" else ("dropout",)
    model = build(kind, **dict.fromkeys(rates, 0.0)).train(training)
    expected, expected_loss = apart(model)
    wanted = gradients(model, expected_loss)
    model.set_attn_implementation(implementation)
    for use_cache in (False, True):
        with computing(implementation):
            outputs = model(**packed(), use_cache=use_cache)
            found = gradients(model, outputs.loss)
        assert_close(outputs.logits, expected, rtol=0, atol=1e-5)
        assert_close(outputs.loss, expected_loss, rtol=0, atol=1e-5)
        for name, gradient in found.items():
            if implementation == "flex_attention" and name.endswith("position_encoding.bias.weight"):
                continue  # uncompiled, it hands no gradient to a bias
            assert_close(gradient, wanted[name], rtol=1e-3, atol=1e-5, msg=lambda m, name=name: f"{name}: {m}")


@pytest.mark.parametrize(
    ("kind", "implementation", "written"),
    [
        # How a mask is written is read alike for all kinds.
        pytest.param(*case, marks=pytest.mark.slow if case[2] != "bool" and case[0] != "gpt1" else [])
        for case in product(KINDS, IMPLEMENTATIONS, ("bool", "lowest", "-inf", "half"))
    ],
)
@torch.no_grad()
def test_texts_told_apart_by_a_mask(kind: str, implementation: str, written: str) -> None:
    """Distances are counted within a text, so that relative positions need no position_ids beside the mask."""
    model, given, mask = build(kind), packed(), same_text()
    expected, loss = apart(model)
    if written != "bool":
        dtype = torch.float16 if written == "half" else torch.float32
        low = -torch.inf if written == "-inf" else torch.finfo(dtype).min
        mask = torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, low)
    if kind in ("relative", "alibi", "none"):
        del given["position_ids"]
    model.set_attn_implementation(implementation)
    with computing(implementation):
        outputs = model(**given, attention_mask=mask)
    assert_close(outputs.logits, expected, rtol=0, atol=1e-5)
    assert_close(outputs.loss, loss, rtol=0, atol=1e-5)
    shown = model(**given, attention_mask=mask, output_attentions=True)
    assert_close(shown.logits, expected, rtol=0, atol=1e-5)
    assert not shown.attentions[0].masked_select(~same_text()).any()


@torch.no_grad()
def test_gpt2_reads_the_same_texts_apart() -> None:
    """transformers' own model of keys and values, as the measure of what such arguments mean."""
    shape = {"vocab_size": 20, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 16}
    stock = GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=None, eos_token_id=None)).eval()
    given, (expected, _) = packed(), apart(stock)
    assert_close(stock(**given, use_cache=False).logits, expected, rtol=0, atol=1e-5)
    assert_close(stock(**given, attention_mask=same_text()).logits, expected, rtol=0, atol=1e-5)
    # What differs: with a cache, or an attention mask of ones, it joins them and says nothing.
    for joining in ({"use_cache": True}, {"attention_mask": torch.ones(2, 9)}):
        assert not torch.allclose(stock(**given, **joining).logits, expected, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_a_row_that_begins_later_is_one_text(kind: str) -> None:
    """Positions from any number on; distances, not places, are what relative positions see."""
    model, ids = build(kind), torch.tensor([[1, 2, 3, 4, 5, 6]])
    later = torch.arange(3, 9)[None]
    whole = model(ids, position_ids=later).logits
    if kind in ("relative", "alibi", "none"):
        assert_close(whole, model(ids).logits, rtol=0, atol=1e-5)
    cache, pieces = DynamicCache(config=model.config), []
    for begin, end in ((0, 3), (3, 4), (4, 6)):
        piece = model(ids[:, begin:end], position_ids=later[:, begin:end], past_key_values=cache, use_cache=True)
        pieces.append(piece.logits)
    assert_close(torch.cat(pieces, 1), whole, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_holes_in_the_mask_beside_a_static_cache(kind: str) -> None:
    """There, transformers prepares the mask: padding and holes still take no place."""
    model = build(kind)
    ids = torch.tensor([[0, 1, 2, 0, 3, 4], [1, 2, 3, 4, 5, 6]])
    mask = torch.tensor([[0, 1, 1, 0, 1, 1], [1, 1, 1, 1, 1, 1]])
    options = {"max_new_tokens": 6, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    options |= {"return_dict_in_generate": True, "output_logits": True}
    plain = model.generate(ids, attention_mask=mask, **options)
    static = model.generate(ids, attention_mask=mask, cache_implementation="static", **options)
    assert_close(torch.stack(static.logits), torch.stack(plain.logits), rtol=0, atol=1e-5)
    # Called as a user would, with the plain mask.
    cache = StaticCache(config=model.config, max_cache_len=9)
    for begin, end in ((0, 4), (4, 6)):
        outputs = model(ids[:, begin:end], attention_mask=mask[:, :end], past_key_values=cache, use_cache=True)
    assert_close(outputs.logits[:, -1], plain.logits[0], rtol=0, atol=1e-5)


# Refusals


@pytest.mark.parametrize("kind", KINDS)
def test_texts_that_would_be_joined_are_refused(kind: str) -> None:
    model, given = build(kind), packed()
    cache = model(given["input_ids"][:, :2], use_cache=True).past_key_values
    for more in (
        {"attention_mask": torch.ones(2, 9)},
        {"attention_mask": torch.ones(2, 11), "past_key_values": cache},
        {"past_key_values": cache},
        {"past_key_values": StaticCache(config=model.config, max_cache_len=20)},
    ):
        with pytest.raises(ValueError, match="position_ids begin anew within a row.*without an attention_mask"):
            model(**given, **more)
    ids = given["input_ids"]
    flat = DataCollatorWithFlattening(return_flash_attn_kwargs=True, return_seq_idx=True, return_position_ids=False)
    with pytest.raises(
        ValueError, match="cu_seq_lens_q, seq_idx say that rows hold several texts; give their position_ids"
    ):
        model(**flat([{"input_ids": text} for text in ROWS[0]]))
    with pytest.raises(ValueError, match="is_causal=False"):
        model(ids, is_causal=False)
    with pytest.raises(ValueError, match=r"attention_mask has shape \(2, 8\); .* it must be \(2, 9\)"):
        model(ids, attention_mask=torch.ones(2, 8), position_ids=torch.arange(9)[None])
    for wrong in (packed()["position_ids"][:, 1:], packed()["position_ids"].float(), torch.zeros(3, 9).long()):
        with pytest.raises(ValueError, match=r"position_ids have shape .*integers of shape \(2, 9\)"):
            model(ids, position_ids=wrong)


@pytest.mark.parametrize("kind", ["gpt1", "alibi"])
def test_masks_of_four_axes_that_cannot_be_read(kind: str) -> None:
    model, ids, mask = build(kind), packed()["input_ids"], same_text()
    for wrong in (mask.long(), mask[:, :, 1:], mask.repeat(2, 1, 1, 1)):
        with pytest.raises(ValueError, match=r"a mask of four axes must be \(batch or 1, heads or 1, seq, keys\)"):
            model(ids, attention_mask=wrong)
    model.set_attn_implementation("flex_attention")
    with pytest.raises(ValueError, match="3 heads; flex attention reads one mask for all"):
        model(ids, attention_mask=mask.expand(-1, 3, -1, -1))


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_a_block_mask_is_read_by_flex_attention_alone(kind: str) -> None:
    from torch.nn.attention.flex_attention import create_block_mask

    model, given, texts = build(kind), packed(), same_text()[:, 0]
    with uncompiled_flex_attention():
        block = create_block_mask(lambda b, h, q, k: texts[b, q, k], 2, None, 9, 9, device="cpu")
        expected, _ = apart(model)
        model.set_attn_implementation("flex_attention")
        assert_close(model(**given, attention_mask=block).logits, expected, rtol=0, atol=1e-5)
    model.set_attn_implementation("sdpa")
    with pytest.raises(ValueError, match="attention_mask is a BlockMask, which 'sdpa' attention cannot read"):
        model(**given, attention_mask=block)


@pytest.mark.parametrize("name", ["recurrent", "feed_forward", "ngram"])
def test_models_with_a_state_refuse_packed_texts(name: str) -> None:
    """What they read of one text would run into the next."""
    ngram = NGramForCausalLM(NGramConfig(vocab_size=20, order=2))
    model, batch = ngram if name == "ngram" else small_model(name, small_tokenizer()), packed()
    with pytest.raises(TypeError, match="takes no argument position_ids"):
        model(**batch)
    for collator in (
        DataCollatorWithFlattening(),
        DataCollatorWithFlattening(return_position_ids=False, return_seq_idx=True),
        DataCollatorWithFlattening(return_position_ids=False, return_flash_attn_kwargs=True),
    ):
        with pytest.raises(TypeError, match="takes no argument (cu_seq_lens_k|position_ids|seq_idx)"):
            model(**collator([{"input_ids": text} for text in ROWS[0]]))
    if name != "ngram":
        with pytest.raises(ValueError, match="attention_mask has shape"):
            model(batch["input_ids"], attention_mask=same_text())
