# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A text's vector, from the states of its tokens (slides R:588, Y:441-452).

The functions take `states` (batch, seq, size) and `real` (batch, seq) bool, False at padding, and return (batch, size);
zeros for a row of padding only.
"""

from collections.abc import Callable

import torch
from torch import Tensor

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
