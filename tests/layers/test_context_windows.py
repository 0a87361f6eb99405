# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Context windows: against a walk over the tokens, one by one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from hf_lecture_models.layers.context_windows import context_windows


def walked(before: Tensor, vectors: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
    """Row by row, token by token, with a list of what was read."""
    context_size = before.shape[1]
    windows = torch.zeros(*vectors.shape[:2], (context_size + 1) * vectors.shape[2])
    after = []
    for row in range(len(vectors)):
        read = list(before[row])
        for step in range(vectors.shape[1]):
            if real[row, step]:
                read.append(vectors[row, step])
                windows[row, step] = torch.cat(read[::-1][: context_size + 1])
        after.append(torch.stack(read[len(read) - context_size :]) if context_size else before[row])
    return windows, torch.stack(after)


@pytest.mark.parametrize("context_size", [0, 1, 3, 7])
@pytest.mark.parametrize("padding", ["none", "left", "right", "holes", "rows"])
def test_equals_a_walk_over_the_tokens(context_size: int, padding: str) -> None:
    """With contexts that are longer than the rows, and rows of nothing but padding."""
    torch.manual_seed(context_size)
    before, vectors = torch.randn(4, context_size, 2, requires_grad=True), torch.randn(4, 6, 2, requires_grad=True)
    real = torch.ones(4, 6, dtype=torch.bool)
    if padding == "left":
        real[0, :2], real[2, :5] = False, False
    elif padding == "right":
        real[1, 3:], real[3, 1:] = False, False
    elif padding == "holes":
        real = torch.rand(4, 6) < 0.6
    elif padding == "rows":
        real[1], real[2] = False, False
    windows, after = context_windows(before, vectors, None if padding == "none" else real)
    windows = windows.masked_fill(~real.unsqueeze(-1), 0.0)
    expected = walked(before, vectors, real)
    assert_close((windows, after), expected, rtol=0, atol=0)

    def gradients(outputs: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
        generator = torch.Generator().manual_seed(1)
        loss = sum((output * torch.randn(output.shape, generator=generator)).sum() for output in outputs)
        return torch.autograd.grad(loss, (before, vectors))

    assert_close(gradients((windows, after)), gradients(expected))
