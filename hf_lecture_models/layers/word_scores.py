# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Output layers: from hidden states to a score of each word, and to the log-probabilities of some."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hf_lecture_models.layers.execution import at_least_float32, with_weights

Layer = Callable[[Tensor], Tensor]
"""A module, or another function, from hidden states to logits."""
# The largest piece of logits: rows, and about so many elements (31 MiB in float32).
_ROWS, _ELEMENTS = 1024, 31 * 2**18


class WordScores(nn.Module):
    """W h + b: the logits of `num_words` words, whose matrix W other layers share.

    It is not an `nn.Linear`: programs that adapt or quantise all of those leave the shared matrix alone.
    """

    def __init__(self, size: int, num_words: int):
        super().__init__()
        layer = nn.Linear(size, num_words)
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., size) -> (..., num_words)."""
        return F.linear(hidden, self.weight, self.bias)


def target_log_probs(hidden: Tensor, head: Layer, targets: Tensor, vocab_size: int) -> Tensor:
    """ln softmax(head(hidden))[target] for scoring, in pieces too, without gradients and for any head.

    Args:
        hidden: (positions, hidden).
        head: the output layer, to logits (positions, vocab_size); its method `target_log_probs(hidden, targets)` is
            used if it has one.
        targets: (positions,) ids.

    Returns:
        (positions,), float32 or wider.
    """
    if callable(own := getattr(head, "target_log_probs", None)):
        return with_weights(head, own, hidden, targets)
    rows, scores = piece_rows(len(hidden), vocab_size), []
    for piece, target in zip(hidden.split(rows), targets.split(rows), strict=True):
        logits = at_least_float32(head(piece))
        scores.append(logits.gather(1, target[:, None]).squeeze(1) - logits.logsumexp(1))
    return torch.cat(scores)


def piece_rows(positions: int, vocab_size: int) -> int:
    """Return the number of positions of a piece; all pieces have about the same size."""
    pieces = math.ceil(positions / max(1, min(_ROWS, _ELEMENTS // vocab_size)))
    return max(1, math.ceil(positions / max(1, pieces)))
