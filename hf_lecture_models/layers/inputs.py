# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Checks of a model's inputs, ids or vectors, and masks of their real tokens."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.layers.execution import is_traced


def token_ids(input_ids: Tensor, allow_empty: bool = False, name: str = "input_ids") -> Tensor:
    """Return `input_ids` (batch, seq), of any integer type, as int64; errors call them `name`.

    Raises:
        ValueError: they are no such tensor, or hold no rows or, unless `allow_empty`, rows without tokens.

    >>> token_ids(torch.tensor([[3, 1]], dtype=torch.uint8))
    tensor([[3, 1]])
    """
    check_integers(input_ids, "(batch, seq)", name)
    if input_ids.dim() != 2:
        raise ValueError(f"{name} has shape {tuple(input_ids.shape)}; (batch, seq) is needed: add {name}[None]")
    if 0 in input_ids.shape and not (allow_empty and len(input_ids)):
        raise no_tokens(input_ids.shape)
    return input_ids.long()


def check_integers(ids: Tensor, shape: str, name: str) -> None:
    """Raise a ValueError where `ids` is not a tensor of integers; it calls them `name`, of the needed `shape`."""
    if not isinstance(ids, Tensor):
        found = f"{name} is a {type(ids).__name__}, but a tensor {shape} is needed"
        raise ValueError(f"{found}: inputs = tokenizer(texts, padding=True, return_tensors='pt'), then model(**inputs)")
    if ids.is_floating_point() or ids.dtype == torch.bool:
        raise ValueError(f"{name} are of type {ids.dtype}; ids are integers: give {name}.long()")


def check_token_ids(input_ids: Tensor, vocab_size: int, name: str = "input_ids") -> None:
    """Raise a ValueError for an id outside of 0 to `vocab_size` - 1; not while tracing, which cannot read values."""
    if (found := out_of_range(input_ids, vocab_size)) is not None:
        raise ValueError(
            f"{name} hold {found}; the model has the tokens 0 to {vocab_size - 1} "
            f"(vocab_size={vocab_size}): use the tokenizer that was saved with it"
        )


def out_of_range(indices: Tensor, size: int) -> int | None:
    """Return one of `indices` that is not from 0 to `size` - 1; None where all are, and while tracing.

    >>> out_of_range(torch.tensor([0, 3]), 3), out_of_range(torch.tensor([0, 2]), 3)
    (3, None)
    """
    if is_traced() or indices.numel() == 0:
        return None
    lowest, highest = (int(bound) for bound in indices.aminmax())
    return highest if highest >= size else lowest if lowest < 0 else None


def look_up(embed_tokens: nn.Module, ids: Tensor, name: str = "input_ids") -> Tensor:
    """(batch, seq, size): the vectors of `ids` (batch, seq); on the CPU, an id that has none is a ValueError."""
    try:
        return embed_tokens(ids)
    except IndexError:
        # Searched for only now, the id costs nothing where all is well.
        check_token_ids(ids, len(embed_tokens.weight), name)  # type: ignore[arg-type]
        raise


def input_vectors(
    embed_tokens: nn.Module, input_ids: Tensor | None, inputs_embeds: Tensor | None, prefix: str = ""
) -> Tensor:
    """Return the vectors (batch, seq, size) of `input_ids` (batch, seq), or `inputs_embeds` in their place.

    Raises:
        ValueError: neither or both are given, or they are wrong; it calls them with `prefix` ("decoder_") in front.

    >>> input_vectors(nn.Embedding(9, 4), torch.tensor([[3, 1]]), None).shape
    torch.Size([1, 2, 4])
    """
    if (input_ids is None) == (inputs_embeds is None):
        raise ValueError(f"give either {prefix}input_ids or {prefix}inputs_embeds")
    if input_ids is not None:
        name = f"{prefix}input_ids"
        return look_up(embed_tokens, token_ids(input_ids, name=name), name)
    assert inputs_embeds is not None
    if inputs_embeds.dim() != 3:
        raise ValueError(f"{prefix}inputs_embeds has shape {tuple(inputs_embeds.shape)}; (batch, seq, size) is needed")
    if 0 in inputs_embeds.shape[:2]:
        raise no_tokens(inputs_embeds.shape[:2])
    return inputs_embeds


def no_tokens(shape: Sequence[int]) -> ValueError:
    """Return the error for inputs of a shape with a 0 in it."""
    return ValueError(f"the input has shape {tuple(shape)}: it needs at least one token per row, and a row")


def real_token_mask(input_ids: Tensor, attention_mask: Tensor | None, pad_token_id: int | None) -> Tensor:
    """(batch, seq) bool, True for real tokens: the mask where one is given, else all ids but `pad_token_id`."""
    ids = token_ids(input_ids, allow_empty=True)
    if attention_mask is not None:
        if attention_mask.shape != ids.shape:
            given, needed = tuple(attention_mask.shape), tuple(ids.shape)
            raise ValueError(f"attention_mask has shape {given}; that of input_ids, {needed}, is needed")
        return attention_mask.bool()
    return torch.ones_like(ids, dtype=torch.bool) if pad_token_id is None else ids != pad_token_id


def scored_positions(
    real: Tensor, input_ids: Tensor, bos_token_id: int | None, eos_token_id: int | list[int] | None
) -> Tensor:
    """(batch, seq) bool: True for tokens that have a probability, all real ones but the first of a row and every `<s>`.

    Where one token both begins and ends texts (GPT-2), it counts as the end and has a probability.
    """
    later = real & (real.cumsum(dim=1) > 1)
    if bos_token_id is None or bos_token_id == eos_token_id:
        return later
    return later & (input_ids != bos_token_id)


def is_prepared(attention_mask: Any) -> bool:
    """Return whether a mask is prepared: it has four axes, and says for each position what it may attend to."""
    return attention_mask is not None and len(attention_mask.shape) == 4


def padding_mask(attention_mask: Tensor | None, hidden: Tensor, seen: int | None = None) -> Tensor | None:
    """(batch, seq) bool for the steps of this call, True for real tokens; None where all are.

    Args:
        attention_mask: (batch, seq), or (batch, seen + seq), which also covers the tokens of a state.
        seen: how many these are; None where the length of the mask was checked before.

    Raises:
        ValueError: a mask of another shape than `hidden` (batch, seq, size) needs.
    """
    if attention_mask is None:
        return None
    batch, seq, _ = hidden.shape
    given = tuple(attention_mask.shape)
    fits = given == (batch, seq) or (given == (batch, seen + seq) if seen is not None else given[:-1] == (batch,))
    if not fits or given[1] < seq:
        raise ValueError(
            f"attention_mask has shape {given}; the input needs (batch, seq) = {(batch, seq)}, or with the "
            f"{seen or 0} tokens that the state has seen {(batch, (seen or 0) + seq)}"
        )
    mask = attention_mask[:, -seq:].bool()
    # Tracing cannot read values, and the layers handle a mask without padding all the same.
    if not is_traced() and bool(mask.all()):
        return None
    return mask


def last_token_index(real: Tensor) -> Tensor:
    """(batch, seq): for each position, the last real one up to it, or 0 before the first.

    >>> last_token_index(torch.tensor([[False, True, False, True]])).tolist()
    [[0, 1, 1, 3]]
    """
    steps = torch.arange(real.shape[1], device=real.device).expand_as(real)
    return steps.where(real, 0).cummax(1).values
