# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pairs of texts that are read separately: their rows, and one vector of both from the vector of each (slide Y:462)."""

from collections.abc import Callable

import torch
from torch import Tensor

from hf_lecture_models.layers.execution import is_traced

# From the vectors u, v (batch, size) of two texts to (batch, width * size).
PAIR_COMBINATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": lambda u, v: u + v,
    "concat": lambda u, v: torch.cat((u, v), -1),
    "infersent": lambda u, v: torch.cat((u, v, (u - v).abs(), u * v), -1),
}
PAIR_WIDTHS: dict[str | None, int] = {None: 1, "sum": 1, "concat": 2, "infersent": 4}


def check_single_texts(token_type_ids: Tensor | None) -> None:
    """Raise a ValueError for types other than 0, which mark the second text of a pair."""
    if token_type_ids is None or is_traced():
        return
    if bool(token_type_ids.any()):
        raise ValueError(
            "token_type_ids tell two texts apart, but this model reads one: build it with a pair_combination, or "
            "leave token_type_ids out, and both are read as one text"
        )


def texts_of_pairs(token_type_ids: Tensor | None, real: Tensor) -> Tensor:
    """Return the masks of the first texts of all pairs, followed by those of the second texts.

    >>> texts_of_pairs(torch.tensor([[0, 0, 1, 0]]), torch.tensor([[True, True, True, False]])).int().tolist()
    [[1, 1, 0, 0], [0, 0, 1, 0]]

    Args:
        token_type_ids: (batch, seq), 0 for tokens of the first text, 1 for those of the second.
        real: (batch, seq) bool, False at padding, whose type does not matter.

    Returns:
        (2 * batch, seq) bool.

    Raises:
        ValueError: types are missing, of another shape, or neither 0 nor 1; or a row that is not all padding has only
            one text. Tracing, which cannot read values, checks the shape alone.
    """
    if token_type_ids is None:
        raise ValueError(
            "a model with a pair_combination reads two texts, but token_type_ids are missing, 0 for the tokens of the "
            "first and 1 for those of the second: tokenizer(texts, other_texts), of one with template='pair'"
        )
    if token_type_ids.shape != real.shape:
        raise ValueError(
            f"token_type_ids has shape {tuple(token_type_ids.shape)}; that of the input, {tuple(real.shape)}, is needed"
        )
    second = token_type_ids == 1
    sides = torch.cat((real & ~second, real & second))
    if is_traced():
        return sides
    if bool((real & ~second & (token_type_ids != 0)).any()):
        raise ValueError("token_type_ids hold other values than 0, for the first of two texts, and 1, for the second")
    has_first, has_second = sides.any(1).chunk(2)
    if bool((has_first != has_second).any()):
        row = int((has_first != has_second).nonzero()[0])
        missing, type_id = ("second", 1) if has_first[row] else ("first", 0)
        raise ValueError(
            f"row {row} of the batch has no token of the {missing} text (token_type_ids {type_id}), but a model with a "
            "pair_combination reads two: tokenizer(texts, other_texts)"
        )
    return sides
