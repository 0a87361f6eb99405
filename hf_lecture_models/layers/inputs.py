# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The inputs of a model: ids or vectors, and which of them are real tokens."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def input_vectors(embed_tokens: nn.Module, input_ids: Tensor | None, inputs_embeds: Tensor | None) -> Tensor:
    """(batch, seq, size): the vectors of `input_ids` (batch, seq), or `inputs_embeds` in their place.

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


def real_token_mask(input_ids: Tensor, attention_mask: Tensor | None, pad_token_id: int | None) -> Tensor:
    """(batch, seq) bool, True for real tokens: the mask where one is given, else whatever is not padding."""
    if input_ids.dim() != 2:
        raise ValueError(f"input_ids has shape {tuple(input_ids.shape)}; (batch, seq) is needed: add input_ids[None]")
    if attention_mask is not None:
        return attention_mask.bool()
    if pad_token_id is None:
        return torch.ones_like(input_ids, dtype=torch.bool)
    return input_ids != pad_token_id


def scored_positions(
    real: Tensor, input_ids: Tensor, bos_token_id: int | None, eos_token_id: int | list[int] | None
) -> Tensor:
    """(batch, seq) bool: the tokens that have a probability, i.e. real ones but the first of a row and every `<s>`.

    Where one token both begins and ends texts (GPT-2), it counts as the end and has a probability.
    """
    later = real & (real.cumsum(dim=1) > 1)
    if bos_token_id is None or bos_token_id == eos_token_id:
        return later
    return later & (input_ids != bos_token_id)


def padding_mask(attention_mask: Tensor | None, hidden: Tensor) -> Tensor | None:
    """(batch, seq) bool for the steps of this call, True for real tokens; None where nothing is padded."""
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
