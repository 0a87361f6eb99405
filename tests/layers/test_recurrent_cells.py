# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The written-out cells: equal to plain numpy, and to torch's fused kernels in outputs and gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hf_lecture_models.layers.recurrent_cells import LstmCell, cell_from_kernel, unroll

INPUT, HIDDEN, PROJECTION = 5, 6, 3
KERNELS = {
    "elman": lambda: nn.RNN(INPUT, HIDDEN, batch_first=True),
    "gru": lambda: nn.GRU(INPUT, HIDDEN, batch_first=True),
    "lstm": lambda: nn.LSTM(INPUT, HIDDEN, batch_first=True),
    "projected": lambda: nn.LSTM(INPUT, HIDDEN, batch_first=True, proj_size=PROJECTION),
}


def build(kind: str) -> nn.RNNBase:
    kernel = KERNELS[kind]().double()
    for parameter in kernel.parameters():
        nn.init.normal_(parameter, std=0.7)
    return kernel


def start(kind: str, batch: int) -> tuple[torch.Tensor, ...]:
    sizes = {"lstm": (HIDDEN, HIDDEN), "projected": (PROJECTION, HIDDEN)}.get(kind, (HIDDEN,))
    return tuple(torch.randn(batch, size, dtype=torch.double).tanh().requires_grad_() for size in sizes)


def run(kernel: nn.RNNBase, inputs: torch.Tensor, state: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    initial = tuple(tensor[None] for tensor in state)
    outputs, final = kernel(inputs, initial if isinstance(kernel, nn.LSTM) else initial[0])
    return [outputs, *(t[0] for t in (final if isinstance(final, tuple) else (final,)))]


@pytest.mark.parametrize("kind", KERNELS)
def test_cell_equals_kernel_in_outputs_and_gradients(kind: str) -> None:
    kernel = build(kind)
    cell = cell_from_kernel(kernel)
    inputs = torch.randn(3, 7, INPUT, dtype=torch.double, requires_grad=True)
    state = start(kind, 3)
    theirs = run(kernel, inputs, state)
    outputs, final = unroll(cell, inputs, state)
    ours = [outputs, *final]
    assert_close(ours, theirs, rtol=0, atol=1e-12)

    targets = [torch.randn_like(tensor) for tensor in theirs]
    wanted = [inputs, *state, *kernel.parameters()]
    gradients = torch.autograd.grad(theirs, wanted, targets)
    assert all(gradient.abs().sum() > 0 for gradient in gradients)
    assert_close(torch.autograd.grad(ours, wanted, targets), gradients, rtol=0, atol=1e-11)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def numpy_step(kind: str, w: dict[str, np.ndarray], u: np.ndarray, state: list[np.ndarray]) -> list[np.ndarray]:
    """One step by the formulas, from torch's matrices taken apart by hand."""
    from_u = u @ w["weight_ih_l0"].T + w["bias_ih_l0"]
    from_h = state[0] @ w["weight_hh_l0"].T + w["bias_hh_l0"]
    n = HIDDEN
    if kind == "elman":
        return [np.tanh(from_u + from_h)]
    if kind == "gru":
        r = sigmoid(from_u[:, :n] + from_h[:, :n])
        z = sigmoid(from_u[:, n : 2 * n] + from_h[:, n : 2 * n])
        candidate = np.tanh(from_u[:, 2 * n :] + r * from_h[:, 2 * n :])
        return [(1 - z) * candidate + z * state[0]]
    i, f, g, o = (from_u[:, k : k + n] + from_h[:, k : k + n] for k in range(0, 4 * n, n))
    c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return [h @ w["weight_hr_l0"].T if kind == "projected" else h, c]


@pytest.mark.parametrize("kind", KERNELS)
def test_cell_equals_numpy(kind: str) -> None:
    kernel = build(kind)
    inputs = torch.randn(2, 5, INPUT, dtype=torch.double)
    state = start(kind, 2)
    weights = {name: parameter.detach().numpy() for name, parameter in kernel.named_parameters()}
    expected, current = [], [tensor.detach().numpy() for tensor in state]
    for step in range(5):
        current = numpy_step(kind, weights, inputs[:, step].numpy(), current)
        expected.append(current[0])
    outputs, final = unroll(cell_from_kernel(kernel), inputs, state)
    np.testing.assert_allclose(outputs.detach().numpy(), np.stack(expected, 1), atol=1e-12)
    for ours, theirs in zip(final, current, strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs, atol=1e-12)


def test_masked_steps_carry_the_state() -> None:
    cell = LstmCell(INPUT, HIDDEN).double()
    inputs = torch.randn(2, 6, INPUT, dtype=torch.double)
    mask = torch.tensor([[0, 1, 1, 0, 1, 0], [0, 0, 0, 0, 0, 0]], dtype=torch.bool)
    state = start("lstm", 2)
    outputs, final = unroll(cell, inputs, state, mask)
    alone, after = unroll(cell, inputs[:1, mask[0]], tuple(tensor[:1] for tensor in state))
    assert_close(outputs[:1, mask[0]], alone)
    assert (outputs[~mask] == 0).all()
    assert_close([tensor[:1] for tensor in final], list(after))
    assert_close([tensor[1:] for tensor in final], [tensor[1:] for tensor in state])
