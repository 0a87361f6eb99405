# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Position encodings beside the formulas and transformers' own implementations."""

from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.t5.modeling_t5 import T5Attention

from hf_lecture_models.layers.positions import (
    AlibiPositions,
    LearnedPositions,
    NoPositions,
    RelativePositions,
    SinusoidalPositions,
    causal_buckets,
)
from hf_lecture_models.layers.token_positions import token_positions


def positions(length: int) -> torch.Tensor:
    return torch.arange(length)[None]


# None


def test_no_positions_leave_the_words_as_they_are() -> None:
    encoding, words = NoPositions(), torch.randn(2, 4, 6)
    placed, bias = encoding(words, positions(20)[:, -4:], positions(20)[:, None])
    assert placed is words
    assert bias is None
    assert not encoding.state_dict()


# Sinusoids


@pytest.mark.parametrize("width", [2, 12, 64])
def test_sinusoids_equal_the_formula(width: int) -> None:
    words = torch.randn(2, 50, width)
    placed, bias = SinusoidalPositions(width)(words, positions(50), positions(50)[:, None])
    assert bias is None
    table = torch.empty(50, width, dtype=torch.float64)
    for t in range(50):
        for k in range(width // 2):
            angle = t / 10_000 ** (2 * k / width)
            table[t, 2 * k], table[t, 2 * k + 1] = math.sin(angle), math.cos(angle)
    assert_close((placed - math.sqrt(width) * words).double(), table.expand(2, -1, -1), rtol=0, atol=1e-5)


def test_sinusoids_are_marians_in_another_order() -> None:
    """transformers puts all sines first."""
    placed, _ = SinusoidalPositions(16)(torch.zeros(1, 40, 16), positions(40), positions(40)[:, None])
    theirs = MarianSinusoidalPositionalEmbedding(40, 16)
    weight = theirs.create_weight() if hasattr(theirs, "create_weight") else theirs.weight
    assert_close(torch.cat((placed[0, :, ::2], placed[0, :, 1::2]), -1), weight.detach(), rtol=0, atol=1e-5)


def test_sinusoids_have_no_end_and_no_memory() -> None:
    encoding = SinusoidalPositions(8)
    far = torch.tensor([[0, 1_000_000]])
    placed, _ = encoding(torch.zeros(1, 2, 8), far, far[:, None])
    assert placed[0, 1, 1].item() == pytest.approx(math.cos(1e6), abs=0.05)
    assert not list(encoding.parameters())
    assert not list(encoding.buffers())


# Learned positions


def test_learned_positions_are_rows_of_a_table() -> None:
    """Whose end `bounded_positions` watches (tests/layers/test_token_positions.py)."""
    encoding, words = LearnedPositions(5, 4), torch.ones(1, 2, 4)
    placed, bias = encoding(words, torch.tensor([[4, 3]]), positions(5)[:, None])
    assert bias is None
    assert torch.equal(placed, 1 + encoding.embed_positions.weight[None, [4, 3]])


# Relative positions


@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (8, 16), (6, 7), (2, 3), (5, 40)])
def test_buckets_equal_t5s(buckets: int, farthest: int) -> None:
    distances = torch.arange(-20, 300)
    theirs = T5Attention._relative_position_bucket(
        -distances, bidirectional=False, num_buckets=buckets, max_distance=farthest
    )
    assert torch.equal(causal_buckets(distances, buckets, farthest), theirs)


def test_relative_bias_is_the_buckets_number_of_each_head() -> None:
    encoding = RelativePositions(3, 8, 16)
    words = torch.randn(2, 4, 6)
    placed, bias = encoding(words, positions(20)[:, -4:], positions(20)[:, None])
    assert placed is words
    assert bias.shape == (1, 3, 4, 20)
    for head, query, key in ((0, 0, 16), (2, 3, 2), (1, 1, 17)):
        bucket = causal_buckets(torch.tensor(16 + query - key), 8, 16)
        assert bias[0, head, query, key] == encoding.bias.weight[bucket, head]


# ALiBi


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 6, 7, 8, 12, 16, 20])
def test_alibi_equals_blooms_up_to_a_constant_per_row(heads: int) -> None:
    """Bloom adds slope × key position, which softmax cannot tell from -slope × distance."""
    mask = torch.tensor([[1] * 12, [0] * 5 + [1] * 7])
    theirs = build_alibi_tensor(mask, heads, torch.float32).view(2, heads, 1, 12)
    where = token_positions(torch.zeros(2, 12, 4), mask)
    _, bias = AlibiPositions(heads)(torch.zeros(2, 12, 4), where, where[:, None])
    assert bias.shape == (2, heads, 12, 12)
    real = mask.bool()
    for row in range(2):
        ours = bias[row][:, real[row]][..., real[row]]
        shift = ours - theirs[row][..., real[row]]
        assert_close(shift, shift[..., :1].expand_as(shift), rtol=0, atol=1e-5)
        assert_close(ours.diagonal(dim1=1, dim2=2), torch.zeros(heads, ours.shape[-1]))
