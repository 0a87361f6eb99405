# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The recurrent functions q(h, u) of the slides, written out: Elman, GRU, LSTM, LSTM with recurrent projection.

A cell maps one step's input u (batch, input_size) and the state before it, a tuple whose first tensor is the output h,
to the state after it. `unroll` applies a cell along a sequence. The models run torch's fused kernels, and these cells
only in exported models; `cell_from_kernel` returns the cell that computes the same as a kernel.
"""

import torch
from torch import Tensor, nn

State = tuple[Tensor, ...]


class ElmanCell(nn.Module):
    """h = tanh(W [h; u] + b) (Elman 1990; slides R:354-366, Y:415)."""

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.W = nn.Linear(hidden_size + input_size, hidden_size)
        self.state_sizes = (hidden_size,)

    def forward(self, u: Tensor, state: State) -> State:
        """(batch, input_size), (h,) -> (h,)."""
        (h,) = state
        return (torch.tanh(self.W(torch.cat((h, u), -1))),)


class GruCell(nn.Module):
    """Gated recurrent unit (Cho et al. 2014, section 2.3), the reset gate applied after the matrix as torch does.

    z, r = σ(W [h; u] + b);  n = tanh(A u + a + r ⊙ (B h + b'));  h = (1 - z) ⊙ n + z ⊙ h.
    """

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.W = nn.Linear(hidden_size + input_size, 2 * hidden_size)
        self.A = nn.Linear(input_size, hidden_size)
        self.B = nn.Linear(hidden_size, hidden_size)
        self.state_sizes = (hidden_size,)

    def forward(self, u: Tensor, state: State) -> State:
        """(batch, input_size), (h,) -> (h,)."""
        (h,) = state
        z, r = torch.sigmoid(self.W(torch.cat((h, u), -1))).chunk(2, -1)
        n = torch.tanh(self.A(u) + r * self.B(h))
        return ((1 - z) * n + z * h,)


class LstmCell(nn.Module):
    """Long short-term memory (Hochreiter & Schmidhuber 1997; forget gate: Gers et al. 2000; slide R:520-553).

    f, i, g, o = W [h; u] + b;  c = σ(f) ⊙ c + σ(i) ⊙ tanh(g);  h = σ(o) ⊙ tanh(c).
    """

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.W = nn.Linear(hidden_size + input_size, 4 * hidden_size)
        self.state_sizes = (hidden_size, hidden_size)

    def forward(self, u: Tensor, state: State) -> State:
        """(batch, input_size), (h, c) -> (h, c)."""
        h, c = state
        f, i, g, o = self.W(torch.cat((h, u), -1)).chunk(4, -1)
        f, i, g, o = torch.sigmoid(f), torch.sigmoid(i), torch.tanh(g), torch.sigmoid(o)
        c = f * c + i * g
        return o * torch.tanh(c), c


class ProjectedLstmCell(nn.Module):
    """LSTM that recurs on its output projected down, h = P (σ(o) ⊙ tanh(c)) (Sak et al. 2014, section 2.3)."""

    def __init__(self, input_size: int, hidden_size: int, projection_size: int):
        super().__init__()
        self.W = nn.Linear(projection_size + input_size, 4 * hidden_size)
        self.P = nn.Linear(hidden_size, projection_size, bias=False)
        self.state_sizes = (projection_size, hidden_size)

    def forward(self, u: Tensor, state: State) -> State:
        """(batch, input_size), (h, c) -> (h, c), where h is the projected output."""
        h, c = state
        f, i, g, o = self.W(torch.cat((h, u), -1)).chunk(4, -1)
        f, i, g, o = torch.sigmoid(f), torch.sigmoid(i), torch.tanh(g), torch.sigmoid(o)
        c = f * c + i * g
        return self.P(o * torch.tanh(c)), c


Cell = ElmanCell | GruCell | LstmCell | ProjectedLstmCell


def unroll(cell: Cell, inputs: Tensor, state: State | None = None, mask: Tensor | None = None) -> tuple[Tensor, State]:
    """h_l = q(h_{l-1}, u_l) for l = 1, ..., seq (slide R:360).

    Args:
        inputs: (batch, seq, input_size).
        state: the state before the first step, zeros unless given.
        mask: (batch, seq) bool; a step that is False keeps the state unchanged and outputs zeros.

    Returns:
        The outputs (batch, seq, size of h) and the state after the last step.
    """
    state = state or tuple(inputs.new_zeros(inputs.shape[0], size) for size in cell.state_sizes)
    outputs = []
    for step in range(inputs.shape[1]):
        after = cell(inputs[:, step], state)
        if mask is None:
            output = after[0]
        else:
            real = mask[:, step, None]  # (batch, 1)
            output = after[0] * real
            after = tuple(torch.where(real, new, old) for new, old in zip(after, state, strict=True))
        outputs.append(output)
        state = after
    return torch.stack(outputs, 1), state


def cell_from_kernel(kernel: nn.RNNBase) -> Cell:
    """Return the cell that computes the same as one forward layer of torch's `nn.RNN`, `nn.GRU` or `nn.LSTM`.

    It has no parameters of its own: its matrices are put together from the kernel's, and gradients flow back to those.
    torch keeps two biases, whose sum is the slides' (but in the GRU's n), and orders the gates r, z, n and i, f, g, o;
    here they are in the slides' order.
    """
    size, given = kernel.hidden_size, dict(kernel.named_parameters())
    weight = torch.cat((given["weight_hh_l0"], given["weight_ih_l0"]), 1)
    blocks = list(zip(weight.split(size), (given["bias_hh_l0"] + given["bias_ih_l0"]).split(size), strict=True))
    cell: Cell
    # On the meta device, because the cell's own matrices are replaced before anything reads them.
    with torch.device("meta"):
        if isinstance(kernel, nn.GRU):
            cell, order = GruCell(kernel.input_size, size), [1, 0]
            _replace(cell.A, given["weight_ih_l0"][2 * size :], given["bias_ih_l0"][2 * size :])
            _replace(cell.B, given["weight_hh_l0"][2 * size :], given["bias_hh_l0"][2 * size :])
        elif isinstance(kernel, nn.LSTM) and kernel.proj_size:
            cell, order = ProjectedLstmCell(kernel.input_size, size, kernel.proj_size), [1, 0, 2, 3]
            _replace(cell.P, given["weight_hr_l0"], None)
        elif isinstance(kernel, nn.LSTM):
            cell, order = LstmCell(kernel.input_size, size), [1, 0, 2, 3]
        else:
            cell, order = ElmanCell(kernel.input_size, size), [0]
    weights, biases = zip(*(blocks[k] for k in order), strict=True)
    _replace(cell.W, torch.cat(weights), torch.cat(biases))
    return cell


def _replace(linear: nn.Linear, weight: Tensor, bias: Tensor | None) -> None:
    for name, tensor in (("weight", weight), ("bias", bias)):
        delattr(linear, name)
        setattr(linear, name, tensor)
