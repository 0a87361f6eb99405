# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a model is given: ids or vectors, which of them are real tokens, and the position of each."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache


def input_vectors(embed_tokens: nn.Module, input_ids: Tensor | None, inputs_embeds: Tensor | None) -> Tensor:
    """The vectors that a model reads, (batch, seq, size).

    Args:
        embed_tokens: the word vectors, a module from ids to vectors.
        input_ids: (batch, seq), or None.
        inputs_embeds: (batch, seq, size), or None.

    Raises:
        ValueError: neither or both are given, or they hold no tokens.

    >>> input_vectors(nn.Embedding(9, 4), torch.tensor([[3, 1]]), None).shape
    torch.Size([1, 2, 4])
    """
    if (input_ids is None) == (inputs_embeds is None):
        raise ValueError("give either input_ids or inputs_embeds")
    vectors = embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
    if 0 in vectors.shape[:2]:
        raise ValueError(f"the input has shape {tuple(vectors.shape[:2])}: it needs at least one token per row")
    return vectors


# Padding


def padding_mask(attention_mask: Tensor | None, hidden: Tensor) -> Tensor | None:
    """(batch, seq) bool for the tokens of this call, True for real ones; None where nothing is padded.

    Args:
        attention_mask: (batch, at least seq), 1 = real token; a longer mask also covers what the cache has seen.
        hidden: (batch, seq, hidden), for its shape only.

    Raises:
        ValueError: a mask of another shape.
    """
    if attention_mask is None:
        return None
    batch, seq, _ = hidden.shape
    if attention_mask.dim() != 2 or attention_mask.shape[0] != batch or attention_mask.shape[1] < seq:
        raise ValueError(
            f"attention_mask has shape {tuple(attention_mask.shape)}; the input needs (batch, seq) = {(batch, seq)}, "
            "or a longer mask that also covers what the cache has seen"
        )
    mask = attention_mask[:, -seq:].bool()
    # Tracing cannot ask for values, and the layers handle a mask without padding all the same.
    if not torch.compiler.is_compiling() and bool(mask.all()):
        return None
    return mask


def last_token_index(real: Tensor) -> Tensor:
    """(batch, seq): the last real position up to each, 0 where there is none.

    >>> last_token_index(torch.tensor([[False, True, False, True]])).tolist()
    [[0, 1, 1, 3]]
    """
    steps = torch.arange(real.shape[1], device=real.device).expand_as(real)
    return steps.where(real, 0).cummax(1).values


# Positions


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
    """(batch or 1, seq): the position of each token of this call, for a table that has `limit` of them.

    Args:
        hidden: (batch, seq, hidden), the tokens of this call; for shape and device only.
        attention_mask: (batch, seen + seq), 1 = real token; None where all are.
        limit: positions 0 to limit - 1 exist.
        position_ids: (batch or 1, seq), taken as they are; None counts the real tokens of each row.
        cache: keys and values of the tokens seen before; None at the start.

    Raises:
        ValueError: a position below 0 or beyond the last one, or a mask of another shape.
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
