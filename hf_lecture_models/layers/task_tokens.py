# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Special tokens that mark a task's texts: the place of Extract, and the pair with its texts exchanged.

A text is `Start text Extract`, a pair `Start a Delim b Extract` (Radford et al. 2018, section 3.3; slide R:1087).
"""

import torch
from torch import Tensor

from hf_lecture_models.layers.execution import is_traced


def last_index(found: Tensor) -> Tensor:
    """(batch,): the last place in each row that is True; 0 in a row without one.

    >>> last_index(torch.tensor([[True, False, True, False], [False, False, False, False]])).tolist()
    [2, 0]
    """
    return (found * torch.arange(found.shape[1], device=found.device)).amax(1)


def extract_index(input_ids: Tensor, real: Tensor, extract_token_id: int) -> Tensor:
    """(batch,): the place of Extract in each row, the last one if there are several; 0 in rows of padding only.

    Tracing, which cannot read values, checks nothing.

    Args:
        input_ids: (batch, seq).
        real: (batch, seq) bool, True for real tokens.

    Raises:
        ValueError: a row has none.

    >>> extract_index(torch.tensor([[5, 1, 8, 0], [0, 5, 2, 8]]), torch.tensor([[1, 1, 1, 0], [0, 1, 1, 1]]) == 1, 8)
    tensor([2, 3])
    """
    found = real & (input_ids == extract_token_id)
    _check(found.any(1) | ~real.any(1), f"no Extract token (id {extract_token_id}), whose state the head reads")
    return last_index(found)


def other_order(input_ids: Tensor, real: Tensor, extract: Tensor, delim_token_id: int) -> Tensor:
    """(batch, seq): indices that exchange the two texts of each row: `row.gather(1, other_order(...))`.

    `Start a Delim b Extract` becomes `Start b Delim a Extract`, wherever padding is. Tracing checks nothing.

    Args:
        input_ids: (batch, seq).
        real: (batch, seq) bool, True for real tokens.
        extract: (batch,), the place of Extract.

    Raises:
        ValueError: a row has no Delim, or several.

    >>> pair = torch.tensor([[5, 1, 2, 7, 3, 8, 0]])
    >>> pair.gather(1, other_order(pair, pair > 0, torch.tensor([5]), delim_token_id=7)).tolist()
    [[5, 3, 7, 1, 2, 8, 0]]
    """
    found = real & (input_ids == delim_token_id)
    start, delim, extract = real.int().argmax(1, keepdim=True), last_index(found)[:, None], extract[:, None]
    is_pair = (found.sum(1) == 1) & (delim < extract)[:, 0]
    what = f"not one Delim token (id {delim_token_id}) before its Extract, to part the two texts of a pair"
    _check(is_pair | ~real.any(1), what)
    place = torch.arange(input_ids.shape[1], device=input_ids.device)
    second = extract - delim - 1  # the length of b
    new_delim = start + 1 + second
    first_text = place - 1 - second
    moved = torch.where(place < new_delim, place + delim - start, first_text)
    moved = torch.where(place == new_delim, delim, moved)
    within = (place > start) & (place < extract) & found.any(1, keepdim=True)
    return torch.where(within, moved, place)


def _check(good: Tensor, what: str) -> None:
    """Raise a ValueError that names the first row where `good` (batch,) is False, and the remedy."""
    if is_traced() or bool(good.all()):
        return
    raise ValueError(
        f"input row {int((~good).nonzero()[0])} holds {what}: texts need the template 'gpt1' (Start text Extract, or "
        "Start text Delim text_pair Extract); load the tokenizer that was saved with the model and leave "
        "add_special_tokens on"
    )
