# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The position of each token in its row, up to the last one that a model has."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache

from hf_lecture_models.layers.key_positions import key_positions
from hf_lecture_models.layers.token_positions import (
    bounded_positions,
    check_positions,
    token_positions,
)


def hidden(batch: int, seq: int) -> Tensor:
    return torch.zeros(batch, seq, 4)


def filled(tokens: int) -> DynamicCache | None:
    """A cache that has seen so many tokens."""
    if not tokens:
        return None
    cache = DynamicCache()
    cache.update(torch.zeros(2, 1, tokens, 4), torch.zeros(2, 1, tokens, 4), 0)
    return cache


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
    assert token_positions(hidden(rows, seq), given, filled(seen)).tolist() == expected


@pytest.mark.parametrize("shape", [(2, 3), (2, 6), (1, 5), (3, 5), (5,), (2, 3, 5)])
def test_a_mask_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    message = r"with 2 tokens in the cache and 3 new ones in each of 2 rows it must be \(2, 5\)"
    with pytest.raises(ValueError, match=message):
        token_positions(hidden(2, 3), torch.ones(shape), filled(2))


@pytest.mark.parametrize("seen", [0, 3])
def test_positions_up_to_the_limit(seen: int) -> None:
    own = bounded_positions(hidden(2, 5), None, limit=5 + seen, cache=filled(seen))
    assert own.tolist() == [list(range(seen, seen + 5))]
    with pytest.raises(ValueError, match=rf"position {4 + seen}; .* positions 0 to {3 + seen} "):
        bounded_positions(hidden(2, 5), None, limit=4 + seen, cache=filled(seen))
    # Padding takes no position, so this fits.
    mask = torch.tensor([[0] + [1] * (4 + seen), [1] * (4 + seen) + [0]])
    assert bounded_positions(hidden(2, 5), mask, limit=4 + seen, cache=filled(seen)).max() == 3 + seen


def test_given_positions_are_taken_as_they_are() -> None:
    given = torch.tensor([[3, 0, 3]])
    assert bounded_positions(hidden(2, 3), None, 4, given) is given
    for wrong in (4, -1):
        with pytest.raises(ValueError, match=rf"position {wrong}; .*max_position_embeddings=4"):
            bounded_positions(hidden(2, 3), None, 4, given.clone().fill_(wrong))
    check_positions(torch.zeros(0, dtype=torch.long), 4)


def test_keys_behind_equal_padding() -> None:
    """The new tokens share one row of positions, and what was seen, padding included, has a row for each."""
    mask = torch.tensor([[0, 1, 1, 1]] * 2)
    own = bounded_positions(hidden(2, 1), mask, None, torch.tensor([[2], [2]]), filled(3))
    assert own.tolist() == [[2]]
    assert key_positions(hidden(2, 1), own, mask, filled(3)).tolist() == [[[0, 0, 1, 2]]] * 2
