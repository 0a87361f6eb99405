# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The three kinds of attention beside the formulas, on every implementation, and which function computes them."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import DynamicCache, EncoderDecoderCache

from hf_lecture_models.layers.attention import AttentionKernel, MultiHeadAttention
from hf_lecture_models.layers.attention_kernels import select_attention_kernel
from hf_lecture_models.layers.bidirectional_attention import BidirectionalSelfAttention, bidirectional_attention
from hf_lecture_models.layers.causal_attention import CausalSelfAttention, causal_attention
from hf_lecture_models.layers.cross_attention import CrossAttention
from tests.model_tests import uncompiled_flex_attention

WIDTH, HEADS, SEQ = 12, 3, 6
KINDS: dict[str, type[MultiHeadAttention]] = {
    "causal": CausalSelfAttention,
    "bidirectional": BidirectionalSelfAttention,
    "cross": CrossAttention,
}
# Which of the tokens that are attended to are real.
REAL = {
    "none": None,
    "left": torch.tensor([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1]]),
    "right": torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0]]),
}
TARGET = 4
"""Positions that attend to a source of SEQ positions, in cross-attention."""


def layer(kind: str, width: int = WIDTH, dropout: float = 0.0) -> Any:
    module = KINDS[kind](width, HEADS, dropout)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module.eval()


def inputs(kind: str, width: int = WIDTH) -> list[Tensor]:
    """What attends, and for cross-attention the source."""
    shapes = [(3, TARGET, width), (3, SEQ, width)] if kind == "cross" else [(3, SEQ, width)]
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


def kernel(kind: str, name: str, given: list[Tensor], padding: str = "none", bias: Tensor | None = None) -> Any:
    if kind == "causal":
        return causal_attention(name, given[0], bias, REAL[padding])
    source = given[1] if kind == "cross" else None
    return bidirectional_attention(name, given[0], bias, REAL[padding], source)


def counted(kind: str, padding: str) -> Tensor:
    """Positions whose outputs matter: real ones, or of a target all."""
    real = REAL[padding]
    if real is None or kind == "cross":
        return torch.ones(3, TARGET if kind == "cross" else SEQ, dtype=torch.bool)
    return real.bool()


def reference(
    module: Any, kind: str, given: list[Tensor], padding: str = "none", bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Straight from the equations: the outputs, and the weights (batch, heads, seq, keys)."""
    p, hidden, source = dict(module.named_parameters()), given[0], given[-1]
    if kind == "cross":
        weight = torch.cat((p["q_proj.weight"], p["kv_proj.weight"]))
        offset = torch.cat((p["q_proj.bias"], p["kv_proj.bias"]))
    else:
        weight, offset = p["qkv_proj.weight"], p["qkv_proj.bias"]
    q, k, v = (
        (torch.einsum("btd,ed->bte", x, w) + b).unflatten(2, (HEADS, -1))
        for x, w, b in zip((hidden, source, source), weight.chunk(3), offset.chunk(3), strict=True)
    )
    scores = torch.einsum("bthd,bshd->bhts", q, k) / q.shape[-1] ** 0.5
    if bias is not None:
        scores = scores + bias
    allowed = torch.ones(hidden.shape[1], source.shape[1], dtype=torch.bool)
    allowed = allowed.tril() if kind == "causal" else allowed
    if REAL[padding] is not None:
        # A row of padding in front attends to nothing: let it see itself, its output is nobody's business.
        itself = torch.eye(SEQ).bool() if kind == "causal" else torch.zeros(1, SEQ).bool()
        allowed = (allowed & REAL[padding].bool()[:, None] | itself)[:, None]
    weights = scores.masked_fill(~allowed, -torch.inf).softmax(-1)
    heads = torch.einsum("bhts,bshd->bthd", weights, v).flatten(2)
    return torch.einsum("btd,ed->bte", heads, p["o_proj.weight"]) + p["o_proj.bias"], weights


def gradients(output: Tensor, wanted: list[Tensor], **options: Any) -> list[Tensor]:
    direction = torch.linspace(-1, 1, output.numel()).view_as(output)
    return list(torch.autograd.grad((output * direction).sum(), wanted, **options))


@pytest.mark.parametrize("padding", REAL)
@pytest.mark.parametrize("name", ["eager", "sdpa", "flex_attention"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_computes_the_equations(kind: str, name: str, padding: str) -> None:
    """Outputs, weights, and the gradients by all inputs and parameters."""
    module, given, real = layer(kind), inputs(kind), counted(kind, padding)
    with uncompiled_flex_attention():
        found, weights = module(*given, kernel(kind, name, given, padding))
    expected, expected_weights = reference(module, kind, given, padding)
    assert_close(found[real], expected[real], rtol=0, atol=1e-5)
    if name == "eager":
        assert_close(weights.transpose(1, 2)[real], expected_weights.transpose(1, 2)[real], rtol=0, atol=1e-6)
    wanted = [*given, *module.parameters()]
    for ours, theirs in zip(gradients(found[real], wanted), gradients(expected[real], wanted), strict=True):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("padding", REAL)
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.nightly if kind == "cross" else []) for kind in KINDS]
)
@torch.no_grad()
def test_compiled_flex_attention_computes_the_equations(kind: str, padding: str) -> None:
    """Outputs only: compiled, it has no backward pass on the CPU, and wants heads of at least 16 numbers there."""
    module, given, real = layer(kind, 48), inputs(kind, 48), counted(kind, padding)
    found, _ = module(*given, kernel(kind, "flex_attention", given, padding))
    assert_close(found[real], reference(module, kind, given, padding)[0][real], rtol=0, atol=1e-4)


@pytest.mark.parametrize("padding", REAL)
@pytest.mark.parametrize("kind", KINDS)
def test_a_position_bias_is_added_to_the_scores(kind: str, padding: str) -> None:
    """Outputs and the bias's gradient; one row of biases for the batch, or one for each of its rows."""
    module, given, real = layer(kind), inputs(kind), counted(kind, padding)
    for rows in (1, 3):
        bias = torch.randn(rows, HEADS, given[0].shape[1], SEQ, requires_grad=True)
        expected, _ = reference(module, kind, given, padding, bias)
        for name in ("eager", "sdpa", "flex_attention"):
            with uncompiled_flex_attention():
                found, _ = module(*given, kernel(kind, name, given, padding, bias))
            assert_close(found[real], expected[real], rtol=0, atol=1e-5)
            if name != "flex_attention":  # uncompiled, it hands no gradient to a bias
                ours, theirs = (gradients(output[real], [bias], retain_graph=True) for output in (found, expected))
                assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("padding", ["none", "left"])
@pytest.mark.parametrize("name", ["eager", "sdpa"])
@pytest.mark.parametrize("kind", ["causal", "bidirectional"])
@torch.no_grad()
def test_self_attention_is_torchs(kind: str, name: str, padding: str) -> None:
    """torch's module keeps the same weights in the same order q, k, v."""
    module, given, real = layer(kind), inputs(kind), counted(kind, padding)
    peer = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).eval()
    names = {"qkv_proj.": "in_proj_", "o_proj.": "out_proj."}
    with torch.no_grad():
        for (ours, theirs), part in product(names.items(), ("weight", "bias")):
            peer.get_parameter(theirs + part).copy_(module.get_parameter(ours + part))
    options: dict[str, Any] = {}
    if kind == "causal":
        options["attn_mask"] = torch.ones(SEQ, SEQ).triu(1).bool()
    if REAL[padding] is not None:
        options["key_padding_mask"] = ~REAL[padding].bool()
    expected, _ = peer(given[0], given[0], given[0], **options)
    assert_close(module(*given, kernel(kind, name, given, padding))[0][real], expected[real], rtol=0, atol=1e-5)


# What may be seen


def test_a_kernel_for_the_other_direction_is_refused() -> None:
    hidden = torch.randn(1, SEQ, WIDTH)
    with pytest.raises(ValueError, match=r"CausalSelfAttention was handed .* is_causal=False"):
        layer("causal")(hidden, bidirectional_attention("sdpa", hidden))
    with pytest.raises(ValueError, match=r"BidirectionalSelfAttention was handed .* is_causal=True"):
        layer("bidirectional")(hidden, causal_attention("sdpa", hidden))
    with pytest.raises(ValueError, match=r"CrossAttention was handed .* is_causal=True"):
        layer("cross")(hidden, hidden, causal_attention("sdpa", hidden))


@pytest.mark.parametrize("name", ["eager", "sdpa"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_may_attend_to_nothing_is_finite(kind: str, name: str) -> None:
    module, hidden = layer(kind), torch.randn(2, 4, WIDTH, requires_grad=True)
    real = torch.tensor([[0, 0, 0, 0], [1, 1, 1, 1]])
    make = causal_attention if kind == "causal" else bidirectional_attention
    given = [hidden, hidden] if kind == "cross" else [hidden]
    output, _ = module(*given, make(name, hidden, attention_mask=real))
    assert output.isfinite().all()
    assert torch.autograd.grad(output[1].sum(), hidden)[0].isfinite().all()


# Caches


@pytest.mark.parametrize("name", ["eager", "sdpa"])
@pytest.mark.parametrize("sizes", [(1,) * 6, (4, 2), (2, 1, 3)], ids=str)
@torch.no_grad()
def test_causal_attention_in_pieces_from_a_cache(name: str, sizes: tuple[int, ...]) -> None:
    module, hidden, cache = layer("causal"), torch.randn(3, SEQ, WIDTH), DynamicCache()
    end, pieces, real = 0, [], REAL["left"]
    for size in sizes:
        begin, end = end, end + size
        attention = causal_attention(name, hidden[:, begin:end], None, real[:, :end], cache)
        pieces.append(module(hidden[:, begin:end], attention, cache)[0])
    whole, _ = module(hidden, causal_attention(name, hidden, None, real))
    assert_close(torch.cat(pieces, 1)[real.bool()], whole[real.bool()], rtol=0, atol=1e-5)


@pytest.mark.parametrize("padding", REAL)
@pytest.mark.parametrize("name", ["eager", "sdpa"])
@torch.no_grad()
def test_cross_attention_computes_the_sources_keys_once(name: str, padding: str) -> None:
    module, (hidden, source) = layer("cross"), inputs("cross")
    whole, _ = module(hidden, source, kernel("cross", name, [hidden, source], padding))
    cache, calls, pieces = EncoderDecoderCache(DynamicCache(), DynamicCache()), [], []
    module.kv_proj.register_forward_hook(lambda *call: calls.append(call))
    for step in range(TARGET):
        piece = hidden[:, step : step + 1]
        attention = bidirectional_attention(name, piece, None, REAL[padding], source)
        pieces.append(module(piece, source if step == 0 else torch.full_like(source, torch.nan), attention, cache)[0])
    assert len(calls) == 1
    assert_close(torch.cat(pieces, 1), whole, rtol=0, atol=1e-5)
    # Beams change places: the source's keys go with them.
    cache.reorder_cache(torch.tensor([2, 0, 1]))
    real = None if REAL[padding] is None else REAL[padding][[2, 0, 1]]
    moved, _ = module(hidden[[2, 0, 1]], source, bidirectional_attention(name, hidden, None, real, source), cache)
    assert_close(moved, whole[[2, 0, 1]], rtol=0, atol=1e-5)


# Dropout


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_acts_on_the_weights_in_training_only(kind: str) -> None:
    module, given = layer(kind, dropout=0.5), inputs(kind)
    attention = kernel(kind, "eager", given)
    allowed = (attention.mask == 0).expand(3, HEADS, -1, -1) if attention.mask is not None else slice(None)
    weights = module(*given, attention)[1]
    assert_close(weights.sum(-1), torch.ones(weights.shape[:3]))
    weights = module.train()(*given, attention)[1]
    assert 0.3 < (weights[allowed] == 0).float().mean() < 0.7
    # Programs that switch dropout off look for the modules.
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    assert_close(module(*given, attention)[1].sum(-1), torch.ones(weights.shape[:3]))


# The kernel


def test_who_moves_a_layers_inputs_finds_the_tensors() -> None:
    send_to_device = pytest.importorskip("accelerate.utils").send_to_device
    hidden = torch.randn(3, SEQ, WIDTH)
    attention = causal_attention("eager", hidden, torch.zeros(1, HEADS, SEQ, SEQ), REAL["left"])
    moved = send_to_device(attention, "meta")
    assert isinstance(moved, AttentionKernel)
    assert (moved.mask.device.type, moved.position_bias.device.type) == ("meta", "meta")
    assert (moved.function, moved.is_causal) == (attention.function, True)


@pytest.mark.parametrize(
    ("given", "dtype", "seq", "dropout", "expected"),
    [
        ("sdpa", torch.float32, 8, 0.0, "sdpa"),
        ("sdpa", torch.float32, 8, 0.1, "eager"),
        ("sdpa", torch.bfloat16, 8, 0.0, "eager"),
        ("sdpa", torch.bfloat16, 2000, 0.0, "sdpa"),
        ("sdpa", torch.bfloat16, 2000, 0.1, "eager"),
        ("eager", torch.float32, 8, 0.0, "eager"),
        ("flex_attention", torch.float32, 8, 0.1, "flex_attention"),
    ],
)
def test_the_fastest_kernel_is_selected(
    given: str, dtype: torch.dtype, seq: int, dropout: float, expected: str
) -> None:
    hidden, bias = torch.empty(1, seq, 4, dtype=dtype), torch.zeros(1, 1, seq, seq, requires_grad=dropout > 0)
    for options in ({"dropout": dropout}, {"position_bias": bias}):  # dropped out, or with a trained bias
        assert select_attention_kernel(given, hidden, **options) == expected
        with torch.no_grad():
            assert select_attention_kernel(given, hidden, **options) == given
        assert select_attention_kernel(given, hidden.to("meta"), **options) == given
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert select_attention_kernel("sdpa", torch.empty(1, 8, 4)) == "eager"


@pytest.mark.parametrize("make", [causal_attention, bidirectional_attention])
def test_dropped_weights_take_the_eager_kernel(make: Any) -> None:
    hidden = torch.randn(1, 4, WIDTH)
    kernels = [make("sdpa", hidden, dropout=dropout).function.__name__ for dropout in (0.0, 0.1)]
    assert kernels == ["sdpa_attention_forward", "eager_attention"]
