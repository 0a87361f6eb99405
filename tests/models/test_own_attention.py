# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A program's own attention function reads keywords of a call; with the stock ones, which do not, a typo is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import eager_mask, sdpa_mask

from hf_lecture_models import (
    Gpt1Config,
    Gpt1ForCausalLM,
    LectureBertConfig,
    LectureBertForMaskedLM,
    LectureTransformerConfig,
    LectureTransformerForConditionalGeneration,
    LectureViTConfig,
    LectureViTForImageClassification,
    SelfAttentionConfig,
    SelfAttentionForCausalLM,
)
from hf_lecture_models.io.compat import cache_of
from hf_lecture_models.layers.attention_kernels import eager_attention

SIZES: dict[str, Any] = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
IDS = torch.tensor([[3, 1, 4, 1]])


def gpt1() -> tuple[PreTrainedModel, dict[str, Tensor]]:
    return Gpt1ForCausalLM(Gpt1Config(**SIZES, vocab_size=9)), {"input_ids": IDS}


def self_attention() -> tuple[PreTrainedModel, dict[str, Tensor]]:
    config = SelfAttentionConfig(**SIZES, vocab_size=9, position_encoding="alibi")
    return SelfAttentionForCausalLM(config), {"input_ids": IDS}


def bert() -> tuple[PreTrainedModel, dict[str, Tensor]]:
    return LectureBertForMaskedLM(LectureBertConfig(**SIZES, vocab_size=9)), {"input_ids": IDS}


def vit() -> tuple[PreTrainedModel, dict[str, Tensor]]:
    model = LectureViTForImageClassification(LectureViTConfig(**SIZES, image_size=8, patch_size=4))
    torch.nn.init.normal_(model.classifier.weight)
    return model, {"pixel_values": torch.ones(1, 3, 8, 8)}


def transformer() -> tuple[PreTrainedModel, dict[str, Tensor]]:
    model = LectureTransformerForConditionalGeneration(LectureTransformerConfig(**SIZES, vocab_size=9))
    return model, {"input_ids": IDS, "decoder_input_ids": IDS[:, :2]}


MODELS = (gpt1, self_attention, bert, vit, transformer)


@pytest.fixture
def calls() -> Iterator[list[Any]]:
    """The temperatures that "warm" attention, registered meanwhile, was called with."""
    seen: list[Any] = []

    def warm(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, position_bias: Any = None, **kwargs: Any
    ) -> Any:
        seen.append(kwargs.get("temperature"))
        kwargs["scaling"] /= kwargs.pop("temperature", 1.0)
        return eager_attention(module, query, key, value, mask, position_bias=position_bias, **kwargs)

    def narrow(module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Any, dropout: float, scaling: float) -> Any:
        return eager_attention(module, q, k, v, mask, dropout, scaling)

    for name, function in (("warm", warm), ("narrow", narrow)):
        AttentionInterface.register(name, function)
        AttentionMaskInterface.register(name, eager_mask)
    yield seen
    for name in ("warm", "narrow"):
        del AttentionInterface._global_mapping[name], AttentionMaskInterface._global_mapping[name]


@pytest.mark.parametrize("build", MODELS, ids=lambda build: build.__name__)
@torch.no_grad()
def test_a_registered_function_reads_its_own_keyword(
    build: Callable[[], tuple[PreTrainedModel, dict[str, Tensor]]], calls: list[Any]
) -> None:
    model, inputs = build()
    model.eval().set_attn_implementation("eager")
    eager = model(**inputs).logits
    model.set_attn_implementation("warm")
    assert_close(model(**inputs).logits, eager, rtol=0, atol=1e-6)
    assert set(calls) == {None}
    calls.clear()
    cold = model(**inputs, temperature=1e-6, output_hidden_states=True).logits
    assert set(calls) == {1e-6}
    # Two layers, of an encoder and a decoder six attentions: every one has read it.
    assert len(calls) == (6 if model.config.is_encoder_decoder else 2)
    assert not torch.allclose(cold, eager, atol=1e-6)


@pytest.mark.parametrize("implementation", ["eager", "sdpa", "flex_attention"])
@pytest.mark.parametrize("build", MODELS, ids=lambda build: build.__name__)
@torch.no_grad()
def test_a_keyword_that_nobody_reads_is_refused(
    build: Callable[[], tuple[PreTrainedModel, dict[str, Tensor]]], implementation: str
) -> None:
    model, inputs = build()
    model.set_attn_implementation(implementation)
    for mistyped in ("attention_maks", "temperature", "mask", "dropout", "position_bias"):
        with pytest.raises(TypeError, match=rf"forward\(\) takes no argument {mistyped}; leave it out"):
            model(**inputs, **{mistyped: torch.ones(1, 4)})


@torch.no_grad()
def test_a_registered_function_reads_the_parameters_that_it_names(calls: list[Any]) -> None:
    model, inputs = gpt1()
    model.set_attn_implementation("narrow")
    assert model(**inputs, output_hidden_states=True).logits.shape == (1, 4, 9)
    with pytest.raises(TypeError, match="takes no argument temperature"):
        model(**inputs, temperature=2.0)
    biased, inputs = self_attention()
    biased.set_attn_implementation("narrow")
    with pytest.raises(ValueError, match="'narrow' attention has no parameter position_bias"):
        biased(**inputs)


@torch.no_grad()
def test_weights_are_shown_by_eager_attention_which_reads_no_keyword(calls: list[Any]) -> None:
    model, inputs = gpt1()
    model.set_attn_implementation("warm")
    assert model(**inputs, output_attentions=True).attentions is not None
    with pytest.raises(TypeError, match="takes no argument temperature"):
        model(**inputs, temperature=2.0, output_attentions=True)
    assert not calls


@pytest.fixture
def unmasked() -> Iterator[str]:
    """An attention function like torch's own, registered without a mask function."""
    AttentionInterface.register("unmasked", AttentionInterface._global_mapping["sdpa"])
    yield "unmasked"
    del AttentionInterface._global_mapping["unmasked"]
    AttentionMaskInterface._global_mapping.pop("unmasked", None)


TEXTS = torch.tensor([[3, 1, 4, 1], [5, 2, 0, 0]])
PADDED = {"input_ids": TEXTS, "attention_mask": torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])}
LEFT = {"input_ids": TEXTS.flip(1), "attention_mask": PADDED["attention_mask"].flip(1)}
PACKED = {"input_ids": IDS, "position_ids": torch.tensor([[0, 1, 0, 1]])}
TARGETS = {"decoder_input_ids": TEXTS[:, :2]}
NEEDING_MASKS = [
    (gpt1, PADDED),
    (gpt1, LEFT),
    (gpt1, PACKED),
    (bert, PADDED),
    (bert, PACKED),
    (transformer, PADDED | TARGETS),
    (transformer, {"input_ids": TEXTS, "decoder_input_ids": TEXTS, "decoder_attention_mask": LEFT["attention_mask"]}),
]


@pytest.mark.parametrize(("build", "inputs"), NEEDING_MASKS, ids=lambda case: getattr(case, "__name__", ""))
@torch.no_grad()
def test_a_function_without_a_mask_function_reads_no_padding(
    build: Callable[[], Any], inputs: dict[str, Tensor], unmasked: str
) -> None:
    """transformers makes no mask for it, so it would attend to padding; with one, it equals torch's own."""
    model, complete = build()
    model.eval()
    assert_close(
        model.set_attn_implementation(unmasked) or model(**complete).logits,
        model.set_attn_implementation("sdpa") or model(**complete).logits,
    )
    expected = model(**inputs).logits
    model.set_attn_implementation(unmasked)
    with pytest.raises(ValueError, match=r"'unmasked' attention has no mask function.*AttentionMaskInterface.register"):
        model(**inputs)
    AttentionMaskInterface.register(unmasked, sdpa_mask)
    assert_close(model(**inputs).logits, expected, rtol=0, atol=1e-6)


@torch.no_grad()
def test_a_function_without_a_mask_function_generates(unmasked: str) -> None:
    """One token at a time after an unpadded text; a static cache, whose end is empty, needs a mask."""
    model, inputs = gpt1()
    options: dict[str, Any] = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    expected = model.eval().generate(**inputs, **options)
    model.set_attn_implementation(unmasked)
    assert model.generate(**inputs, attention_mask=torch.ones(1, 4), **options).tolist() == expected.tolist()
    with pytest.raises(ValueError, match="no mask function, and this call needs a mask: for padding"):
        model.generate(**LEFT, **options)
    with pytest.raises(ValueError, match="no mask function"):
        model.generate(**inputs, cache_implementation="static", **options)
    first = model(IDS[:, :2], use_cache=True)
    with pytest.raises(ValueError, match="several tokens after cached ones"):
        model(IDS[:, 2:], past_key_values=cache_of(first))
