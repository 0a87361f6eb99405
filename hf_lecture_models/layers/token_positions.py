# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The position of each token in its row, for models that are told where a token stands."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers.cache_utils import Cache


def token_positions(hidden: Tensor, attention_mask: Tensor | None, cache: Cache | None = None) -> Tensor:
    """(batch or 1, seen + seq): each token's position among the real tokens of its row, counted from 0.

    Padding takes no position, so that a row has the same ones whatever stands beside it in a batch. One row serves the
    whole batch where no padding stands before a real token.

    Args:
        hidden: (batch, seq, hidden), the tokens of this call; for shape and device only.
        attention_mask: (batch, seen + seq), 1 = real token; None where all are.
        cache: keys and values of the tokens seen before, padding included; None at the start.

    Raises:
        ValueError: a mask of another shape.

    >>> token_positions(torch.zeros(1, 5, 4), torch.tensor([[0, 1, 1, 0, 1]])).tolist()
    [[0, 0, 1, 1, 2]]
    """
    batch, seq, _ = hidden.shape
    seen = 0 if cache is None else int(cache.get_seq_length())
    if attention_mask is None:
        return torch.arange(seen + seq, device=hidden.device)[None]
    if attention_mask.shape != (batch, seen + seq):
        raise ValueError(
            f"attention_mask has shape {tuple(attention_mask.shape)}; with {seen} tokens in the cache and {seq} new "
            f"ones in each of {batch} rows it must be {(batch, seen + seq)}"
        )
    positions = (attention_mask.long().cumsum(1) - 1).clamp(min=0)
    shared = positions.amax(0, keepdim=True)
    at_the_end = (attention_mask[:, 1:] <= attention_mask[:, :-1]).all()
    # Tracing cannot ask for values; there every row gets positions of its own, which are the same ones.
    if torch.compiler.is_compiling():
        return torch.where(at_the_end, shared, positions)
    return shared if bool(at_the_end) else positions


def bounded_positions(
    hidden: Tensor,
    attention_mask: Tensor | None,
    limit: int,
    position_ids: Tensor | None = None,
    cache: Cache | None = None,
) -> Tensor:
    """(batch or 1, seq): the positions of this call's tokens, of which there are `limit`: 0 to limit - 1.

    `position_ids` (batch or 1, seq) are taken as they are; without them it is `token_positions` that counts.

    Raises:
        ValueError: a position that does not exist, or a mask of another shape.
    """
    if position_ids is not None:
        check_positions(position_ids, limit)
        return position_ids
    positions = token_positions(hidden, attention_mask, cache)
    own = positions[:, -hidden.shape[1] :]
    # Asking for values waits for a GPU: it is done only where they could be too large.
    if positions.shape[1] > limit:
        check_positions(own, limit)
    return own


def check_positions(positions: Tensor, limit: int) -> None:
    """Refuse positions outside of 0 to `limit` - 1; no check while tracing, which cannot ask for values.

    Raises:
        ValueError: naming the position and the limit.
    """
    if torch.compiler.is_compiling() or positions.numel() == 0:
        return
    lowest, highest = (int(bound) for bound in positions.aminmax())
    if lowest < 0 or highest >= limit:
        raise ValueError(
            f"the input has a token at position {highest if highest >= limit else lowest}; the model has vectors for "
            f"positions 0 to {limit - 1} (max_position_embeddings={limit}): cut the input, or count from 0"
        )
