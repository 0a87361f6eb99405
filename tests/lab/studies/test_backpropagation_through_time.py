# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Back-propagation through time, written out, is what autograd computes."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hf_lecture_models.lab.studies.backpropagation_through_time import backpropagate_through_time
from hf_lecture_models.layers.recurrent_cells import ElmanCell, GruCell, LstmCell, ProjectedLstmCell, cell_from_kernel


@pytest.mark.parametrize("cell_class", [ElmanCell, GruCell, LstmCell])
def test_gradients_are_those_of_autograd(cell_class):
    torch.manual_seed(0)
    cell = cell_class(input_size=3, hidden_size=4).double()
    A, b, u = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in [(5, 4), (5,), (2, 7, 3)])
    Y = torch.tensor([4, 1])
    found = backpropagate_through_time(cell, A, b, u, Y)

    state = tuple(torch.zeros(2, size, dtype=torch.float64, requires_grad=True) for size in cell.state_sizes)
    states = [state]
    for l in range(7):  # noqa: E741
        states.append(cell(u[:, l], states[-1]))
    loss = nn.functional.cross_entropy(states[-1][0] @ A.T + b, Y)
    names = dict(cell.named_parameters())
    wanted = [A, b, u, *names.values(), *(state[0] for state in states)]
    dA, db, du, *rest = torch.autograd.grad(loss, wanted)

    exact = {"rtol": 1e-12, "atol": 1e-15}
    assert_close(found.loss, loss.detach(), **exact)
    for ours, theirs in [(found.A, dA), (found.b, db), (found.inputs, du)]:
        assert_close(ours, theirs, **exact)
    assert found.parameters.keys() == names.keys()
    for name, gradient in zip(names, rest, strict=False):
        assert_close(found.parameters[name], gradient, **exact)
    assert_close(found.states, torch.stack(rest[len(names) :], 1), **exact)
    assert not any(tensor.requires_grad for tensor in (found.loss, found.A, found.inputs))


def test_it_is_what_a_fused_kernel_learns_by():
    torch.manual_seed(0)
    kernel = nn.LSTM(3, 4, batch_first=True).double()
    A, b, u = (torch.randn(*shape, dtype=torch.float64) for shape in [(5, 4), (5,), (1, 7, 3)])
    u.requires_grad_()
    loss = nn.functional.cross_entropy(kernel(u)[0][:, -1] @ A.T + b, torch.tensor([2]))
    loss.backward()
    found = backpropagate_through_time(cell_from_kernel(kernel), A, b, u, torch.tensor([2]))
    assert_close(found.inputs, u.grad, rtol=1e-12, atol=1e-15)


def test_other_cells_are_refused():
    with pytest.raises(ValueError, match="ProjectedLstmCell; choose"):
        backpropagate_through_time(
            ProjectedLstmCell(2, 4, 3), torch.ones(2, 3), torch.ones(2), torch.ones(1, 2, 2), None
        )
