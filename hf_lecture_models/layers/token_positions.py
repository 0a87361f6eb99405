# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The position of each token in its text, for models with position encodings."""

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from hf_lecture_models.layers.execution import is_traced
from hf_lecture_models.layers.inputs import is_prepared, out_of_range
from hf_lecture_models.layers.masks import check_prepared, holds_nothing


def token_positions(hidden: Tensor, attention_mask: Any, cache: Cache | None = None) -> Tensor:
    """(batch or 1, seen + seq): each token's position among the real tokens of its row, counted from 0.

    Padding takes no position, so that a row's positions do not depend on the other rows of its batch. One row serves
    the whole batch if padding comes only at the ends.

    Args:
        hidden: (batch, seq, hidden), the tokens of this call; for shape and device only.
        attention_mask: (batch, seen + seq), 1 = real token; None where all are. With a prepared mask, all count.
        cache: keys and values of the tokens seen before, padding included; None at the start.

    Raises:
        ValueError: a mask of another shape.

    >>> token_positions(torch.zeros(1, 5, 4), torch.tensor([[0, 1, 1, 0, 1]])).tolist()
    [[0, 0, 1, 1, 2]]
    """
    seen = 0 if cache is None else int(cache.get_seq_length())
    if attention_mask is None or is_prepared(attention_mask):
        return torch.arange(seen + hidden.shape[1], device=hidden.device)[None]
    _check_shape(hidden, attention_mask, seen)
    positions = (attention_mask.long().cumsum(1) - 1).clamp(min=0)
    shared = positions.amax(0, keepdim=True)
    at_the_end = (attention_mask[:, 1:] <= attention_mask[:, :-1]).all()
    # Tracing cannot read values; there every row gets positions of its own, which are equal.
    if is_traced():
        return torch.where(at_the_end, shared, positions)
    return shared if bool(at_the_end) else positions


def bounded_positions(
    hidden: Tensor,
    attention_mask: Any,
    limit: int | None,
    position_ids: Tensor | None = None,
    cache: Cache | None = None,
) -> Tensor:
    """(batch or 1, seq): the positions of this call's tokens.

    They are `position_ids` (batch or 1, seq) where given, else those of `token_positions`. Positions go from 0 to
    `limit` - 1, without end if `limit` is None. One row serves the whole batch if all rows are equal.

    Raises:
        ValueError: a position that does not exist, a mask or positions of another shape, or positions that start again
            within a row where the mask would let the texts attend to each other.
    """
    if is_prepared(attention_mask):
        check_prepared(hidden, attention_mask)
    if position_ids is None:
        positions = token_positions(hidden, attention_mask, cache)
        # Reading values waits for a GPU, so it is done only where they could be too large.
        if limit is not None and positions.shape[1] > limit:
            check_positions(positions[:, -hidden.shape[1] :], limit)
        return positions[:, -hidden.shape[1] :]
    batch, seq, _ = hidden.shape
    if position_ids.shape not in ((batch, seq), (1, seq)) or position_ids.is_floating_point():
        raise ValueError(
            f"position_ids have shape {tuple(position_ids.shape)} and type {position_ids.dtype}; they must be integers "
            f"of shape {(batch, seq)}"
        )
    if limit is not None:
        check_positions(position_ids, limit)
    if not is_prepared(attention_mask) and not (attention_mask is None and holds_nothing(cache)):
        if attention_mask is not None:
            _check_shape(hidden, attention_mask, 0 if cache is None else int(cache.get_seq_length()))
        _check_one_text(position_ids, attention_mask)
    if position_ids.shape[0] == 1 or is_traced():
        return position_ids
    return position_ids[:1] if bool((position_ids == position_ids[:1]).all()) else position_ids


def _check_shape(hidden: Tensor, attention_mask: Tensor, seen: int) -> None:
    batch, seq, _ = hidden.shape
    if attention_mask.shape != (batch, seen + seq):
        raise ValueError(
            f"attention_mask has shape {tuple(attention_mask.shape)}; with {seen} tokens in the cache and {seq} new "
            f"ones in each of {batch} rows it must be {(batch, seen + seq)}"
        )


def _check_one_text(position_ids: Tensor, attention_mask: Tensor | None) -> None:
    if is_traced() or position_ids.shape[1] == 1:
        return
    real = torch.ones_like(position_ids).bool()
    if attention_mask is not None:
        real = attention_mask[:, -position_ids.shape[1] :].bool()
    placed = position_ids.masked_fill(~real, torch.iinfo(position_ids.dtype).min)
    if bool((real[:, 1:] & (placed[:, 1:] <= placed.cummax(1).values[:, :-1])).any()):
        raise ValueError(
            "position_ids begin anew within a row, which so holds several texts: they are kept apart only without an "
            "attention_mask and without past_key_values; leave these out, or give an attention_mask of four axes"
        )


def check_positions(positions: Tensor, limit: int) -> None:
    """Refuse positions outside of 0 to `limit` - 1; not while tracing, which cannot read values.

    Raises:
        ValueError: naming the position and the limit.
    """
    if (found := out_of_range(positions, limit)) is not None:
        raise ValueError(
            f"the input has a token at position {found}; the model has vectors for "
            f"positions 0 to {limit - 1} (max_position_embeddings={limit}): cut the input, or count from 0"
        )
