# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which position may attend to which."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache

from hf_lecture_models.layers.bidirectional_attention import bidirectional_mask
from hf_lecture_models.layers.causal_attention import causal_mask
from tests.model_tests import uncompiled_flex_attention

MASKS = {
    "left": [[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]],
    "right": [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]],
    "holes": [[1, 0, 1, 0, 1], [0, 1, 1, 0, 0]],
}


def hidden(batch: int, seq: int) -> Tensor:
    return torch.zeros(batch, seq, 4)


def filled(tokens: int) -> DynamicCache:
    cache = DynamicCache()
    if tokens:
        cache.update(torch.zeros(2, 1, tokens, 4), torch.zeros(2, 1, tokens, 4), 0)
    return cache


def may_attend(real: Tensor, seen: int) -> Tensor:
    """By the definition: to real positions that are not later, (batch, seq, keys)."""
    batch, keys = real.shape
    allowed = torch.zeros(batch, keys - seen, keys, dtype=torch.bool)
    for row in range(batch):
        for query in range(seen, keys):
            for key in range(query + 1):
                allowed[row, query - seen, key] = real[row, key]
    return allowed


@pytest.mark.parametrize("seen", [0, 2, 4])
@pytest.mark.parametrize("name", list(MASKS))
def test_masks_follow_the_definition(name: str, seen: int) -> None:
    """Of rows that may attend to something; what a row of padding attends to is nobody's business."""
    real = torch.tensor(MASKS[name]).bool()
    expected = may_attend(real, seen)
    matters = expected.any(-1)
    for implementation in ("eager", "sdpa"):
        mask = causal_mask(implementation, hidden(2, 5 - seen), real.long(), filled(seen))
        allowed = mask[:, 0] if mask.dtype == torch.bool else mask[:, 0] == 0
        assert torch.equal(allowed.expand(2, -1, -1)[matters], expected[matters]), implementation


@pytest.mark.parametrize("seen", [0, 3])
def test_masks_without_padding(seen: int) -> None:
    expected = may_attend(torch.ones(2, 5).bool(), seen)
    eager = causal_mask("eager", hidden(2, 5 - seen), None, filled(seen))
    assert torch.equal((eager[:, 0] == 0).expand(2, -1, -1), expected)
    sdpa = causal_mask("sdpa", hidden(2, 5 - seen), None, filled(seen))
    # At the start sdpa needs no mask: it is told to be causal.
    assert sdpa is None if seen == 0 else torch.equal(sdpa[:, 0].expand(2, -1, -1), expected)
    assert causal_mask("sdpa", hidden(2, 1), None, filled(4)) is None


def test_a_mask_has_the_type_of_the_scores() -> None:
    assert causal_mask("eager", hidden(2, 3), None, None).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mask = causal_mask("eager", hidden(2, 3), torch.tensor([[0, 1, 1], [1, 1, 1]]), None)
        both = bidirectional_mask("eager", hidden(2, 3), torch.tensor([[0, 1, 1], [1, 1, 1]]))
    for given in (mask, both):
        assert given.dtype == torch.bfloat16
        assert given.isfinite().all()


# Bidirectional masks


def allows(mask: Tensor) -> Tensor:
    """(batch, seq, keys) bool of an eager or sdpa mask."""
    return mask[:, 0] if mask.dtype == torch.bool else mask[:, 0] == 0


@pytest.mark.parametrize("queries", [5, 3])
@pytest.mark.parametrize("name", list(MASKS))
@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_bidirectional_masks_allow_all_real_positions(implementation: str, name: str, queries: int) -> None:
    """Of the row itself, or of a source of another length."""
    real = torch.tensor(MASKS[name])
    source = None if queries == 5 else hidden(2, 5)
    mask = bidirectional_mask(implementation, hidden(2, queries), real, source)
    assert torch.equal(allows(mask).expand(2, queries, -1), real.bool()[:, None].expand(2, queries, -1))


@pytest.mark.parametrize("source", [None, 7])
def test_bidirectional_masks_without_padding(source: int | None) -> None:
    given = None if source is None else hidden(2, source)
    for real in (None, torch.ones(2, source or 5)):
        assert bidirectional_mask("sdpa", hidden(2, 5), real, given) is None
        eager = bidirectional_mask("eager", hidden(2, 5), real, given)
        assert eager is None or (eager == 0).all()


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_bidirectional_masks_keep_packed_texts_apart(implementation: str, padded: bool) -> None:
    """A position of 0 begins another text; without one within a row, there is nothing to keep apart."""
    positions = torch.tensor([[0, 1, 0, 1, 2], [0, 1, 2, 3, 4]])
    real = torch.tensor([[1, 1, 0, 1, 1], [1, 1, 1, 1, 0]])
    texts = torch.tensor([[0, 0, 1, 1, 1], [0] * 5])
    expected = texts[:, :, None] == texts[:, None]
    mask = bidirectional_mask(implementation, hidden(2, 5), real if padded else None, position_ids=positions)
    assert torch.equal(allows(mask), expected & real.bool()[:, None] if padded else expected)
    assert bidirectional_mask("sdpa", hidden(2, 5), position_ids=positions[1:]) is None


def test_bidirectional_masks_that_are_prepared() -> None:
    given = torch.rand(2, 1, 3, 3) < 0.5
    assert torch.equal(bidirectional_mask("sdpa", hidden(2, 3), given), given)
    assert torch.equal(allows(bidirectional_mask("eager", hidden(2, 3), given)), given[:, 0])
    for wrong in (given[:, :, 1:], given.long(), torch.ones(2, 4), torch.ones(3, 3)):
        with pytest.raises(ValueError, match="attention_mask has shape"):
            bidirectional_mask("eager", hidden(2, 3), wrong)


def test_a_block_mask_says_the_same() -> None:
    """What flex_attention is given, at the few places that two small inputs have."""
    real = torch.tensor(MASKS["left"])
    batch, queries, keys = torch.meshgrid(*(torch.arange(size) for size in (2, 5, 5)), indexing="ij")
    for make in (causal_mask, bidirectional_mask):
        with uncompiled_flex_attention():
            block = make("flex_attention", hidden(2, 5), real)
        found = block.mask_mod(batch, torch.zeros_like(batch), queries, keys)
        assert torch.equal(found.bool(), allows(make("sdpa", hidden(2, 5), real)).expand(2, 5, 5))
