# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which position may attend to which, and where a token stands in its row."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache

from hf_lecture_models.layers.masks import causal_mask, token_positions

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
    assert mask.dtype == torch.bfloat16
    assert mask.isfinite().all()


@pytest.mark.parametrize(
    ("mask", "seen", "expected"),
    [
        (None, 0, [[0, 1, 2]]),
        (None, 2, [[0, 1, 2, 3, 4]]),
        ([[0, 1, 1], [1, 1, 0]], 0, [[0, 0, 1], [0, 1, 1]]),
        ([[1, 0, 1, 1, 1], [0, 0, 0, 0, 1]], 2, [[0, 0, 1, 2, 3], [0, 0, 0, 0, 0]]),
        ([[0, 0, 0]], 0, [[0, 0, 0]]),
        # One row for all; the longest text has a place for each of its tokens, and padding behind it adds none.
        ([[1, 1, 1], [1, 1, 1]], 0, [[0, 1, 2]]),
        ([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]], 0, [[0, 1, 2, 2]]),
    ],
)
@pytest.mark.parametrize("dtype", [torch.long, torch.bool])
def test_positions_count_the_real_tokens(
    mask: list[list[int]] | None, seen: int, expected: list[list[int]], dtype: torch.dtype
) -> None:
    given = None if mask is None else torch.tensor(mask, dtype=dtype)
    rows, seq = (1, 3) if given is None else (len(given), given.shape[1] - seen)
    assert token_positions(hidden(rows, seq), given, seen).tolist() == expected


@pytest.mark.parametrize("shape", [(2, 3), (2, 6), (1, 5), (3, 5), (5,), (2, 1, 5, 5)])
def test_a_mask_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    message = r"with 2 tokens in the cache and 3 new ones in each of 2 rows it must be \(2, 5\)"
    with pytest.raises(ValueError, match=message):
        token_positions(hidden(2, 3), torch.ones(shape), 2)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_no_tokens_have_no_positions(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="at least one row, and one token per row"):
        token_positions(hidden(*shape), torch.ones(shape), 0)
