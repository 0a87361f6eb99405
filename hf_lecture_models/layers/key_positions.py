# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The position of each token attended to, for encodings of distances."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers.cache_utils import Cache

from hf_lecture_models.layers.inputs import is_prepared
from hf_lecture_models.layers.masks import holds_nothing
from hf_lecture_models.layers.token_positions import token_positions

# A mask that adds less than this to a score makes its weight 0 in any type.
_MASKED = -1000.0


def key_positions(hidden: Tensor, positions: Tensor, attention_mask: Any, cache: Cache | None = None) -> Tensor:
    """(batch or 1, seq or 1, keys): the position of each token attended to, for each token of this call.

    Position minus key position is the distance in tokens of the same text. Tokens seen before come directly before this
    call's. With a prepared mask, the distance counts only the tokens that the mask lets attend to.

    Args:
        hidden: (batch, seq, hidden), the tokens of this call; for shape and device only.
        positions: (batch or 1, seq), the positions of these tokens.
        attention_mask: as `causal_mask` takes it.
        cache: keys and values of the tokens seen before, padding included; None at the start.

    >>> mask = torch.tensor([[[[True, False, False], [True, True, False], [False, False, True]]]])  # two texts
    >>> positions = torch.tensor([[0, 1, 0]])
    >>> positions[:, :, None] - key_positions(torch.zeros(1, 3, 4), positions, mask)
    tensor([[[0, 0, 0],
             [1, 0, 0],
             [1, 1, 0]]])
    """
    if is_prepared(attention_mask) and isinstance(attention_mask, Tensor):
        allowed = attention_mask[:, 0]
        allowed = allowed if allowed.dtype == torch.bool else allowed > _MASKED
        return positions[:, :, None] - (allowed.sum(-1, keepdim=True) - allowed.cumsum(-1))
    if holds_nothing(cache):
        return positions[:, None]
    seq, counted = hidden.shape[1], token_positions(hidden, attention_mask, cache)
    seen, own = counted[:, :-seq], counted[:, -seq:]
    seen = seen + (positions - own).amax(1, keepdim=True)
    # Each may be one row for the whole batch.
    rows = max(seen.shape[0], positions.shape[0])
    keys = torch.cat((seen.expand(rows, -1), positions.expand(rows, -1)), 1)
    laid_out, _ = cache.get_mask_sizes(seq, 0)  # type: ignore[union-attr]  # it holds something
    return F.pad(keys, (0, laid_out - keys.shape[1]))[:, None]
