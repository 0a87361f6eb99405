# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Exercises on recurrent networks: the LSTM cell, and back-propagation through time."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from hf_lecture_models.lab.exercises import adapter
from hf_lecture_models.lab.exercises.draws import integers, normal
from hf_lecture_models.lab.exercises.exercise import Case, Exercise, Slip


def lstm_cell(u: Tensor, h: Tensor, c: Tensor, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return the state (h, c) of a long short-term memory after it has read u.

    Slides R:506-558; Hochreiter & Schmidhuber 1997, with the forget gate of Gers, Schmidhuber & Cummins 2000. With σ
    the sigmoid, and ⊙ the product number by number,

        f, i, g, o = W [h; u] + b          the four gates in this order, hidden numbers each
        c ← σ(f) ⊙ c + σ(i) ⊙ tanh(g)
        h ← σ(o) ⊙ tanh(c)                 of the new c

    [h; u] is h followed by u, for each row of the batch.

    Args:
        u: (batch, input_size).
        h: (batch, hidden), the output of the step before.
        c: (batch, hidden), the memory of the step before.
        W: (4 hidden, hidden + input_size).
        b: (4 hidden,).

    Returns:
        The new h and the new c, (batch, hidden) each.
    """
    raise NotImplementedError


def _cell_cases(generator: torch.Generator) -> list[Case]:
    cases = []
    for batch, size, hidden in ((1, 1, 1), (1, 1, 2), (2, 3, 4), (3, 5, 2), (4, 3, 3)):
        case = {"u": normal(generator, batch, size)}
        case |= {name: normal(generator, batch, hidden) for name in ("h", "c")}
        case["W"], case["b"] = normal(generator, 4 * hidden, hidden + size), normal(generator, 4 * hidden)
        cases.append(case)
    return cases


def _wrong_cell(
    gates: str = "figo",
    inputs_first: bool = False,
    of_candidate: Callable[[Tensor], Tensor] = torch.tanh,
    of_memory: Callable[[Tensor], Tensor] = torch.tanh,
    old_memory: bool = False,
    biased: bool = True,
) -> Callable[..., tuple[Tensor, Tensor]]:
    """Return an LSTM cell that differs in one of these from the right one."""

    def cell(u: Tensor, h: Tensor, c: Tensor, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        rows = torch.cat((u, h) if inputs_first else (h, u), -1) @ W.T + (b if biased else 0)
        of = dict(zip(gates, rows.chunk(4, -1), strict=True))
        f, i, o = (torch.sigmoid(of[gate]) for gate in "fio")
        new = f * c + i * of_candidate(of["g"])
        return o * of_memory(c if old_memory else new), new

    return cell


LSTM_CELL = Exercise(
    lstm_cell,
    "one step of a long short-term memory",
    "R:506-558",
    adapter.lstm_cell,
    _cell_cases,
    ("h", "c"),
    (
        Slip(
            _wrong_cell(gates="ifgo"),
            "the gates are in the order i, f, g, o, which is that of torch.nn.LSTM; here it is f, i, g, o",
        ),
        Slip(_wrong_cell(inputs_first=True), "you join [u; h]; W multiplies [h; u], first h and then u"),
        Slip(_wrong_cell(of_candidate=torch.sigmoid), "g goes through tanh, not through the sigmoid as the gates do"),
        Slip(_wrong_cell(of_memory=lambda c: c), "h is σ(o) ⊙ tanh(c); the tanh of the memory is missing"),
        Slip(_wrong_cell(old_memory=True), "h is computed from the memory before the step; take the new c"),
        Slip(_wrong_cell(biased=False), "the bias b is not added"),
    ),
    has_gradients=True,
)


def backpropagation_through_time(
    u: Tensor, Y: Tensor, W: Tensor, b: Tensor, A: Tensor, d: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of a recurrent classifier's loss with respect to W, b, A and d, without autograd.

    Slides R:368-434. The Elman network reads u_1 ... u_L and predicts the class Y of the text:

        h_0 = 0,   h_l = tanh(W [h_{l-1}; u_l] + b),   f = A h_L + d,   p = softmax(f)
        loss = the mean of -ln p[Y] over the batch

    Backwards, from the last step to the first, with y the one-hot vector of Y,

        ∂loss/∂f = (p - y) / batch,   ∂loss/∂h_L = Aᵀ ∂loss/∂f
        ∂loss/∂h_{l-1} = (∂h_l/∂h_{l-1})ᵀ ∂loss/∂h_l,   tanh'(a) = 1 - tanh(a)²

    and each step adds its share to the gradients of W and b, since all steps have the same ones.

    Args:
        u: (batch, L, input_size).
        Y: (batch,), int64.
        W: (hidden, hidden + input_size).
        b: (hidden,).
        A: (classes, hidden).
        d: (classes,).

    Returns:
        ∂loss/∂W, ∂loss/∂b, ∂loss/∂A and ∂loss/∂d, of the shapes of W, b, A and d.
    """
    raise NotImplementedError


def _text_cases(generator: torch.Generator) -> list[Case]:
    cases: list[Case] = []
    for batch, seq, size, hidden, classes in ((1, 2, 1, 1, 2), (2, 3, 2, 2, 2), (3, 5, 2, 4, 3), (2, 9, 3, 3, 2)):
        case = {"u": normal(generator, batch, seq, size), "Y": integers(generator, 0, classes, batch)}
        case["W"] = normal(generator, hidden, hidden + size) / hidden**0.5
        shapes = {"b": (hidden,), "A": (classes, hidden), "d": (classes,)}
        cases.append(case | {name: normal(generator, *shape) for name, shape in shapes.items()})
    return cases


def _wrong_pass(
    last_step_only: bool = False,
    summed: bool = False,
    sign: float = 1.0,
    without_tanh: bool = False,
    slope_before: bool = False,
    inputs_first: bool = False,
) -> Callable[..., tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Return a backward pass that differs in one of these from the right one."""

    def backward(
        u: Tensor, Y: Tensor, W: Tensor, b: Tensor, A: Tensor, d: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        states = [u.new_zeros(len(u), len(b))]
        for step in u.unbind(1):
            states.append(torch.tanh(torch.cat((states[-1], step), 1) @ W.T + b))
        df = sign * ((states[-1] @ A.T + d).softmax(1) - one_hot(Y, len(d))) / (1 if summed else len(u))
        dh, dW, db = df @ A, torch.zeros_like(W), torch.zeros_like(b)
        for l in reversed(range(u.shape[1])):  # noqa: E741
            slope = 1.0 if without_tanh else 1 - states[l if slope_before else l + 1] ** 2
            da = dh * slope
            read = (u[:, l], states[l]) if inputs_first else (states[l], u[:, l])
            dW, db = dW + da.T @ torch.cat(read, 1), db + da.sum(0)
            dh = da @ W[:, : len(b)]
            if last_step_only:
                break
        return dW, db, df.T @ states[-1], df.sum(0)

    return backward


BACKPROPAGATION_THROUGH_TIME = Exercise(
    backpropagation_through_time,
    "the gradients of a recurrent classifier, without autograd",
    "R:368-434",
    adapter.backpropagation_through_time,
    _text_cases,
    ("the gradient of W", "the gradient of b", "the gradient of A", "the gradient of d"),
    (
        Slip(
            _wrong_pass(last_step_only=True),
            "the gradients of W and b hold the last step alone; all steps share W and b, so add up their shares",
        ),
        Slip(_wrong_pass(summed=True), "this is the gradient of the sum over the batch; the loss is the mean"),
        Slip(_wrong_pass(sign=-1.0), "the sign is wrong: the gradient of the loss by f is p - y, not y - p"),
        Slip(_wrong_pass(without_tanh=True), "the derivative of tanh, 1 - h_l², is missing in the steps back"),
        Slip(
            _wrong_pass(slope_before=True),
            "the derivative of tanh at step l is 1 - h_l², of the state after the step; you take the one before it",
        ),
        Slip(
            _wrong_pass(inputs_first=True),
            "the gradient of W has the columns of [u; h]; W multiplies [h; u], first h and then u",
        ),
    ),
)
