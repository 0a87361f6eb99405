# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Parts of recurrent decoders: attention to a source with one head, and the maxout layer before their softmax.

Bahdanau, Cho & Bengio, "Neural machine translation by jointly learning to align and translate", ICLR 2015, A.1.2;
Luong, Pham & Manning, "Effective approaches to attention-based neural machine translation", EMNLP 2015, equations 5-8;
Goodfellow et al., "Maxout networks", ICML 2013. `layers/attention.py` has the Transformer's attention.
"""

import torch
from torch import Tensor, nn


def attention_weights(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the softmax of the scores over the real tokens of the source.

    >>> attention_weights(torch.zeros(1, 1, 3), torch.tensor([[True, True, False]]))
    tensor([[[0.5000, 0.5000, 0.0000]]])

    Args:
        scores: (batch, target, source).
        mask: (batch, source) bool, True = real token; None where all are.

    Returns:
        (batch, target, source); each row adds up to 1, over the padding where a source has no real tokens.
    """
    if mask is not None:
        scores = scores.masked_fill(~mask.unsqueeze(1), torch.finfo(scores.dtype).min)
    return scores.softmax(-1)


class AdditiveScore(nn.Module):
    """e_j = v_a · tanh(W_a s + U_a h_j); the caller gives U_a h_j, which is the same for every s.

    Args:
        target_size: width of s.
        size: width of U_a h_j.
    """

    def __init__(self, target_size: int, size: int):
        super().__init__()
        self.W_a = nn.Linear(target_size, size, bias=False)
        self.v_a = nn.Linear(size, 1, bias=False)

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        """s (batch, target_size) and U_a h_j (batch, source, size) -> the scores e, (batch, source)."""
        return self.v_a(torch.tanh(self.W_a(state).unsqueeze(1) + keys)).squeeze(-1)


class Maxout(nn.Module):
    """The larger of each pair of linear units: t_k = max(x_{2k-1}, x_{2k}) with x = W u + b.

    >>> layer = Maxout(3, 2)
    >>> layer(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(self, input_size: int, output_size: int):
        super().__init__()
        self.linear = nn.Linear(input_size, 2 * output_size)

    def forward(self, u: Tensor) -> Tensor:
        """(..., input_size) -> (..., output_size)."""
        return self.linear(u).unflatten(-1, (-1, 2)).amax(-1)
