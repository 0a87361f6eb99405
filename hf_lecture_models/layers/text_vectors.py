# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A text's vector, from the states of its tokens (slides R:588, Y:441-452), and that of two texts (slide Y:462).

The functions of one text take `states` (batch, seq, size) and `real` (batch, seq) bool, False at padding, and return
(batch, size); zeros for a row of padding only.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from hf_lecture_models.layers.execution import is_traced
from hf_lecture_models.layers.inputs import padding_mask


def real_tokens(attention_mask: Tensor | None, states: Tensor) -> Tensor:
    """(batch, seq) bool, True for the real tokens among `states` (batch, seq, size); see `padding_mask`."""
    real = padding_mask(attention_mask, states)
    return torch.ones_like(states[..., 0], dtype=torch.bool) if real is None else real


def last_state(states: Tensor, real: Tensor) -> Tensor:
    """Return h_T, the state of the last real token.

    >>> last_state(torch.tensor([[[1.0], [2.0], [3.0]]]), torch.tensor([[True, True, False]]))
    tensor([[2.]])

    """
    steps = torch.arange(real.shape[1], device=real.device)
    return _state_at(steps.where(real, 0).amax(1), states, real)


def end_states(states: Tensor, real: Tensor) -> Tensor:
    """Return [h→_T; h←_1] of [h→; h←]: in each direction the state that has read the whole text.

    >>> end_states(torch.tensor([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]]), torch.tensor([[True, True, False]]))
    tensor([[ 2., 10.]])
    """
    ahead, back = states.chunk(2, -1)
    return torch.cat((last_state(ahead, real), _state_at(real.int().argmax(1), back, real)), -1)


def mean_state(states: Tensor, real: Tensor) -> Tensor:
    """Return the mean over the real tokens.

    >>> mean_state(torch.tensor([[[1.0], [2.0], [9.0]]]), torch.tensor([[True, True, False]]))
    tensor([[1.5000]])
    """
    return states.where(real.unsqueeze(-1), 0.0).sum(1) / real.sum(1, keepdim=True).clamp(min=1)


def max_state(states: Tensor, real: Tensor) -> Tensor:
    """Return the largest value of each coordinate over the real tokens.

    >>> max_state(torch.tensor([[[-1.0, 3.0], [-2.0, 4.0], [0.0, 5.0]]]), torch.tensor([[True, True, False]]))
    tensor([[-1.,  4.]])
    """
    largest = states.masked_fill(~real.unsqueeze(-1), torch.finfo(states.dtype).min).amax(1)
    return largest.where(real.any(1, keepdim=True), 0.0)


def _state_at(step: Tensor, states: Tensor, real: Tensor) -> Tensor:
    rows = torch.arange(states.shape[0], device=states.device)
    return states[rows, step].where(real.any(1, keepdim=True), 0.0)


POOLINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "last": last_state,
    "ends": end_states,
    "mean": mean_state,
    "max": max_state,
}

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

    `token_type_ids` (batch, seq) are 0 for tokens of the first text, 1 for those of the second; `real` (batch, seq) is
    False at padding, whose type does not matter. The masks are (2 * batch, seq) bool.

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
