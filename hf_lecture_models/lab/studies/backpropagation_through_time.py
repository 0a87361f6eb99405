# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Back-propagation through time, written out (slides R:382-434; Werbos 1990).

A recurrent classifier reads u_1 ... u_L, with q one of `layers/recurrent_cells.py`:

    h_0 = 0,  h_l = q(h_{l-1}, u_l),  f = A h_L + b,  loss = cross-entropy of softmax(f) and the class Y

By the chain rule, from the last step to the first,

    ∂loss/∂h_{l-1} = ∂loss/∂h_l · ∂h_l/∂h_{l-1}
    ∂loss/∂θ = Σ_l ∂loss/∂h_l · ∂q/∂θ (h_{l-1}, u_l)
    ∂loss/∂h_l = ∂loss/∂h_L · ∂h_L/∂h_{L-1} · ... · ∂h_{l+1}/∂h_l        (the order of the product matters)

`autograd` finds the same numbers; nothing here uses it.

Deviations from the slides: ∂loss/∂A is ∂loss/∂f times h_L transposed (R:420 writes h_L); the product of Jacobians
descends from L to l+1 (R:391 does not say); what is ∂u_l/∂θ = 0 there holds for frozen word vectors alone, so
∂loss/∂u_l is returned too; the state of an LSTM is (h, c), and c has a recursion of its own (R:662 leaves it out).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from hf_lecture_models.layers.recurrent_cells import Cell, ElmanCell, GruCell, LstmCell, State

Gradients = dict[str, Tensor]


@dataclass(frozen=True)
class BackpropagatedLoss:
    """The results of one pass forward and one backward.

    Attributes:
        loss: mean over the batch.
        parameters: ∂loss/∂θ by the cell's names of its parameters.
        A, b: ∂loss/∂A (classes, hidden) and ∂loss/∂b (classes,).
        inputs: ∂loss/∂u_l, (batch, seq, input_size).
        states: ∂loss/∂h_l for l = 0 ... L, (batch, seq + 1, hidden).
    """

    loss: Tensor
    parameters: Gradients
    A: Tensor
    b: Tensor
    inputs: Tensor
    states: Tensor


@torch.no_grad()
def backpropagate_through_time(cell: Cell, A: Tensor, b: Tensor, u: Tensor, Y: Tensor) -> BackpropagatedLoss:
    """Return the loss of a recurrent classifier and its gradients, computed as on the slide.

    >>> cell, A, b = ElmanCell(input_size=2, hidden_size=3), torch.ones(2, 3), torch.zeros(2)
    >>> result = backpropagate_through_time(cell, A, b, torch.ones(1, 5, 2), torch.tensor([1]))
    >>> result.parameters["W.weight"].shape, result.states.shape
    (torch.Size([3, 5]), torch.Size([1, 6, 3]))

    Args:
        cell: an `ElmanCell`, `GruCell` or `LstmCell`.
        A, b: of the last layer, (classes, hidden) and (classes,).
        u: (batch, seq, input_size).
        Y: (batch,), a class each.

    Raises:
        ValueError: a cell of another kind.
    """
    if type(cell) not in _STEPS_BACK:
        raise ValueError(f"no step back is written out for {type(cell).__name__}; choose an Elman, GRU or LSTM cell")
    step_back = _STEPS_BACK[type(cell)]
    batch, seq, _ = u.shape

    # Forward pass
    states: list[State] = [tuple(u.new_zeros(batch, size) for size in cell.state_sizes)]
    for l in range(seq):  # noqa: E741
        states.append(cell(u[:, l], states[-1]))
    h_L = states[-1][0]
    f = h_L @ A.T + b
    log_p = f.log_softmax(-1)
    loss = -log_p.gather(1, Y[:, None]).mean()

    # Backward pass
    df = (log_p.exp() - torch.nn.functional.one_hot(Y, len(b))) / batch  # ∂loss/∂f = (p - y) / batch
    dA = df.T @ h_L
    db = df.sum(0)
    dstate: State = (df @ A, *(torch.zeros_like(other) for other in states[-1][1:]))  # ∂loss/∂h_L, ∂loss/∂c_L
    dtheta = {name: torch.zeros_like(parameter) for name, parameter in cell.named_parameters()}
    du, dh = torch.zeros_like(u), [dstate[0]]
    for l in reversed(range(seq)):  # noqa: E741
        gradients, du[:, l], dstate = step_back(cell, u[:, l], states[l], states[l + 1], dstate)
        for name in dtheta:
            dtheta[name] += gradients[name]
        dh.append(dstate[0])
    return BackpropagatedLoss(loss, dtheta, dA, db, du, torch.stack(dh[::-1], 1))


def _elman_step_back(
    cell: ElmanCell, u: Tensor, before: State, after: State, dafter: State
) -> tuple[Gradients, Tensor, State]:
    """h = tanh(a), a = W [h; u] + b: the gradients of W and b, of u, and of the h before."""
    (h,), (h_after,), (dh,) = before, after, dafter
    da = dh * (1 - h_after**2)
    dhu, gradients = _linear_back("W", cell.W, torch.cat((h, u), -1), da)
    dh, du = dhu.split((h.shape[1], u.shape[1]), -1)
    return gradients, du, (dh,)


def _gru_step_back(
    cell: GruCell, u: Tensor, before: State, after: State, dafter: State
) -> tuple[Gradients, Tensor, State]:
    """z, r = σ(W [h; u] + b);  n = tanh(A u + a + r ⊙ q), q = B h + b';  h = (1 - z) ⊙ n + z ⊙ h."""
    (h,), (dh_after,) = before, dafter
    hu = torch.cat((h, u), -1)
    z, r = torch.sigmoid(cell.W(hu)).chunk(2, -1)
    q = cell.B(h)
    n = torch.tanh(cell.A(u) + r * q)

    dn = dh_after * (1 - z) * (1 - n**2)
    dz = dh_after * (h - n) * z * (1 - z)
    dr = dn * q * r * (1 - r)
    dhu, of_w = _linear_back("W", cell.W, hu, torch.cat((dz, dr), -1))
    du, of_a = _linear_back("A", cell.A, u, dn)
    dh, of_b = _linear_back("B", cell.B, h, dn * r)
    dh_gates, du_gates = dhu.split((h.shape[1], u.shape[1]), -1)
    return of_w | of_a | of_b, du + du_gates, (dh_after * z + dh + dh_gates,)


def _lstm_step_back(
    cell: LstmCell, u: Tensor, before: State, after: State, dafter: State
) -> tuple[Gradients, Tensor, State]:
    """c = σ(f) ⊙ c + σ(i) ⊙ tanh(g);  h = σ(o) ⊙ tanh(c): dc comes from h and from the c of the next step."""
    (h, c), (_, c_after), (dh, dc) = before, after, dafter
    hu = torch.cat((h, u), -1)
    f, i, g, o = cell.W(hu).chunk(4, -1)
    f, i, g, o = torch.sigmoid(f), torch.sigmoid(i), torch.tanh(g), torch.sigmoid(o)
    tanh_c = torch.tanh(c_after)

    dc = dc + dh * o * (1 - tanh_c**2)
    dgates = (dc * c * f * (1 - f), dc * g * i * (1 - i), dc * i * (1 - g**2), dh * tanh_c * o * (1 - o))
    dhu, gradients = _linear_back("W", cell.W, hu, torch.cat(dgates, -1))
    dh, du = dhu.split((h.shape[1], u.shape[1]), -1)
    return gradients, du, (dh, dc * f)


def _linear_back(name: str, linear: torch.nn.Linear, x: Tensor, dy: Tensor) -> tuple[Tensor, Gradients]:
    """y = W x + b: the gradients of x, W and b."""
    return dy @ linear.weight, {f"{name}.weight": dy.T @ x, f"{name}.bias": dy.sum(0)}


_STEPS_BACK: dict[type, Callable[..., tuple[Gradients, Tensor, State]]] = {
    ElmanCell: _elman_step_back,
    GruCell: _gru_step_back,
    LstmCell: _lstm_step_back,
}
