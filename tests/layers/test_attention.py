# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Multi-head self-attention beside torch's own module and beside the formulas, and which function computes it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import DynamicCache
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from hf_lecture_models.layers.attention import (
    AttentionFunction,
    SelfAttention,
    eager_attention,
    select_attention_kernel,
)
from hf_lecture_models.layers.masks import causal_mask

WIDTH, HEADS = 12, 3
REAL = torch.tensor([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])


def layer(dropout: float = 0.0) -> SelfAttention:
    module = SelfAttention(WIDTH, HEADS, layer_index=0, dropout=dropout)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module.eval()


def function(name: str) -> AttentionFunction:
    return ALL_ATTENTION_FUNCTIONS.get_interface(name, eager_attention)


def torchs(module: SelfAttention) -> nn.MultiheadAttention:
    """torch's module with the same weights, which it keeps in the same order q, k, v."""
    peer = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).eval()
    ours = module.state_dict()
    peer.load_state_dict(
        {
            "in_proj_weight": ours["qkv_proj.weight"],
            "in_proj_bias": ours["qkv_proj.bias"],
            "out_proj.weight": ours["o_proj.weight"],
            "out_proj.bias": ours["o_proj.bias"],
        }
    )
    return peer


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", ["eager", "sdpa"])
def test_it_computes_what_torchs_module_does(name: str, padded: bool) -> None:
    """Outputs, weights and the gradient by the input."""
    module = layer()
    hidden = torch.randn(3, 6, WIDTH, requires_grad=True)
    real = REAL.bool() if padded else torch.ones(3, 6, dtype=torch.bool)
    allowed = torch.ones(6, 6).tril().bool() & real[:, None]
    # A row of padding in front attends to nothing: let it see itself, as both outputs there are nobody's business.
    blocked = (~(allowed | torch.eye(6).bool())).repeat_interleave(HEADS, 0)
    expected, weights = torchs(module)(hidden, hidden, hidden, attn_mask=blocked, average_attn_weights=False)
    mask = causal_mask(name, hidden, real.long() if padded else None, None)
    found, shown = module(hidden, function(name), mask)
    assert_close(found[real], expected[real], rtol=0, atol=1e-5)
    if name == "eager":
        assert_close(shown.transpose(1, 2)[real], weights.transpose(1, 2)[real], rtol=0, atol=1e-6)
    direction = torch.randn(found[real].shape)
    gradients = [torch.autograd.grad((y[real] * direction).sum(), hidden)[0] for y in (found, expected)]
    assert_close(*gradients, rtol=0, atol=1e-4)


@pytest.mark.parametrize("padded", [False, True])
def test_a_position_bias_is_added_to_the_scores(padded: bool) -> None:
    """By the formula; eager and sdpa alike, in outputs and in the bias's gradient."""
    module, hidden = layer(), torch.randn(3, 6, WIDTH)
    bias = torch.randn(1, HEADS, 6, 6, requires_grad=True)
    real = REAL.bool() if padded else torch.ones(3, 6, dtype=torch.bool)
    allowed = torch.ones(6, 6).tril().bool() & real[:, None] | torch.eye(6).bool()
    q, k, v = module.qkv_proj(hidden).view(3, 6, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) / module.head_dim**0.5 + bias
    weights = scores.masked_fill(~allowed[:, None], -torch.inf).softmax(-1)
    expected = module.o_proj(torch.einsum("bhts,bhsd->bthd", weights, v).flatten(2))
    direction = torch.randn(expected[real].shape)
    (theirs,) = torch.autograd.grad((expected[real] * direction).sum(), bias, retain_graph=True)
    for name in ("eager", "sdpa"):
        mask = causal_mask(name, hidden, real.long() if padded else None, None)
        found, _ = module(hidden, function(name), mask, position_bias=bias)
        assert_close(found[real], expected[real], rtol=0, atol=1e-5)
        (ours,) = torch.autograd.grad((found[real] * direction).sum(), bias)
        assert_close(ours, theirs, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["eager", "sdpa"])
@pytest.mark.parametrize("sizes", [(1,) * 6, (4, 2), (2, 1, 3)], ids=str)
@torch.no_grad()
def test_in_pieces_from_a_cache(name: str, sizes: tuple[int, ...]) -> None:
    module, hidden, cache = layer(), torch.randn(3, 6, WIDTH), DynamicCache()
    real, end, pieces = REAL, 0, []
    for size in sizes:
        begin, end = end, end + size
        mask = causal_mask(name, hidden[:, begin:end], real[:, :end], cache)
        pieces.append(module(hidden[:, begin:end], function(name), mask, cache)[0])
    whole, _ = module(hidden, function(name), causal_mask(name, hidden, real, None))
    assert_close(torch.cat(pieces, 1)[real.bool()], whole[real.bool()], rtol=0, atol=1e-5)


def test_dropout_acts_on_the_weights_in_training_only() -> None:
    module, hidden = layer(dropout=0.5), torch.randn(3, 6, WIDTH)
    mask = causal_mask("eager", hidden, None, None)
    assert_close(module(hidden, eager_attention, mask)[1].sum(-1), torch.ones(3, HEADS, 6))
    weights = module.train()(hidden, eager_attention, mask)[1]
    kept = torch.ones(6, 6).tril().bool()
    assert 0.3 < (weights[..., kept] == 0).float().mean() < 0.7


@pytest.mark.parametrize("name", ["eager", "sdpa"])
def test_a_row_that_may_attend_to_nothing_is_finite(name: str) -> None:
    module, hidden = layer(), torch.randn(2, 4, WIDTH, requires_grad=True)
    real = torch.tensor([[0, 0, 0, 0], [1, 1, 1, 1]])
    output, _ = module(hidden, function(name), causal_mask(name, hidden, real, None))
    assert output.isfinite().all()
    assert torch.autograd.grad(output[1].sum(), hidden)[0].isfinite().all()


@pytest.mark.parametrize(
    ("given", "dtype", "seq", "materializes_scores", "expected"),
    [
        ("sdpa", torch.float32, 8, False, "sdpa"),
        ("sdpa", torch.float32, 8, True, "eager"),
        ("sdpa", torch.bfloat16, 8, False, "eager"),
        ("sdpa", torch.bfloat16, 2000, False, "sdpa"),
        ("sdpa", torch.bfloat16, 2000, True, "eager"),
        ("eager", torch.float32, 8, False, "eager"),
        ("flex_attention", torch.float32, 8, True, "flex_attention"),
    ],
)
def test_what_is_swiftest(given: str, dtype: torch.dtype, seq: int, materializes_scores: bool, expected: str) -> None:
    hidden: Any = torch.empty(1, seq, 4, dtype=dtype)
    assert select_attention_kernel(given, hidden, materializes_scores) == expected
    with torch.no_grad():
        assert select_attention_kernel(given, hidden, materializes_scores) == given
    assert select_attention_kernel(given, hidden.to("meta"), materializes_scores) == given
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert select_attention_kernel("sdpa", torch.empty(1, 8, 4), materializes_scores=False) == "eager"
