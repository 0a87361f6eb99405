# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The layer on padded batches equals the written-out cell that carries its state over masked steps."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch.torch_version import TorchVersion

from hf_lecture_models.layers.recurrent_cells import cell_from_kernel, unroll
from hf_lecture_models.layers.recurrent_export import OLDEST_TORCH_WITH_EXPORT
from hf_lecture_models.layers.recurrent_layer import BidirectionalLayer, RecurrentLayer

KERNELS = {
    "elman": lambda: nn.RNN(4, 6, batch_first=True),
    "gru": lambda: nn.GRU(4, 6, batch_first=True),
    "lstm": lambda: nn.LSTM(4, 6, batch_first=True),
    "projected": lambda: nn.LSTM(4, 6, batch_first=True, proj_size=3),
}
MASKS = {
    "right": [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]],
    "left": [[0, 0, 1, 1, 1], [1, 1, 1, 1, 1], [0, 0, 0, 0, 1]],
    "holes": [[1, 0, 1, 0, 1], [0, 1, 0, 1, 0], [1, 1, 0, 0, 1]],
    "an empty row": [[1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 1, 1, 1, 1]],
    "only empty rows": [[0] * 5, [0] * 5, [0] * 5],
    "one row": [[0, 1, 1, 0, 1]],
    "one empty row": [[0] * 5],
    "nothing padded": [[1] * 5, [1] * 5],
    "one step": [[1], [1], [1]],
}


def build(kind: str) -> RecurrentLayer:
    kernel = KERNELS[kind]()
    for parameter in kernel.parameters():
        nn.init.normal_(parameter, std=0.7)
    return RecurrentLayer(kernel)


def start(kind: str, batch: int) -> tuple[torch.Tensor, ...]:
    sizes = {"lstm": (6, 6), "projected": (3, 6)}.get(kind, (6,))
    return tuple(torch.randn(batch, size) for size in sizes)


@pytest.mark.parametrize("padding", MASKS)
@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("from_zero", [True, False])
def test_padded_layer_equals_masked_cell(kind: str, padding: str, from_zero: bool) -> None:
    mask = torch.tensor(MASKS[padding], dtype=torch.bool)
    layer, inputs = build(kind), torch.randn(*mask.shape, 4, requires_grad=True)
    state = None if from_zero else start(kind, len(mask))
    before = None if state is None else [tensor.clone() for tensor in state]
    outputs, final = layer(inputs, state, mask)
    expected, expected_final = unroll(cell_from_kernel(layer.rnn), inputs, state, mask)
    assert_close(outputs, expected, rtol=0, atol=1e-5)
    assert_close(list(final), list(expected_final), rtol=0, atol=1e-5)
    if mask.any():
        weights = torch.randn_like(outputs)
        ours = torch.autograd.grad((outputs * weights).sum(), inputs)
        theirs = torch.autograd.grad((expected * weights).sum(), inputs)
        assert_close(ours, theirs, rtol=0, atol=1e-5)
        assert (ours[0][~mask] == 0).all()
    if state is not None:
        assert_close(list(state), before, rtol=0, atol=0)


@pytest.mark.skipif(torch.__version__ < OLDEST_TORCH_WITH_EXPORT, reason="this torch cannot export it")
@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("kind", ["lstm", *sorted({*KERNELS} - {"lstm"})])
def test_exported_layer_equals_padded_layer_at_any_shape(kind: str) -> None:
    layer = build(kind).eval()
    mask, state = torch.ones(2, 4, dtype=torch.bool), start(kind, 2)
    batch, seq = torch.export.Dim("batch"), torch.export.Dim("seq")
    shapes = ({0: batch, 1: seq}, tuple({0: batch} for _ in state), {0: batch, 1: seq})
    program = torch.export.export(layer, (torch.randn(2, 4, 4), state, mask), dynamic_shapes=shapes, strict=False)
    exported = program.module()
    for padding in ("holes", "one row", "an empty row"):
        mask = torch.tensor(MASKS[padding], dtype=torch.bool)
        inputs, state = torch.randn(*mask.shape, 4), start(kind, len(mask))
        assert_close(exported(inputs, state, mask), layer(inputs, state, mask), rtol=0, atol=1e-5)


def test_a_torch_too_old_for_export_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", TorchVersion("2.7.1"))
    with pytest.raises(
        NotImplementedError, match=r"^torch 2\.7\.1 cannot export a recurrent layer .*: pip install 'torch>=2\.9'"
    ):
        torch.export.export(build("gru").eval(), (torch.randn(2, 4, 4),), strict=False)


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("from_zero", [True, False])
def test_one_step_equals_the_kernel(kind: str, from_zero: bool) -> None:
    """Outputs, state and all gradients."""
    layer, inputs = build(kind), torch.randn(3, 1, 4, requires_grad=True)
    state = None if from_zero else start(kind, 3)
    wanted = [inputs, *(p for name, p in layer.named_parameters() if not from_zero or "weight_hh" not in name)]
    flat = []
    for outputs, final in (layer(inputs, state), unroll(cell_from_kernel(layer.rnn), inputs, state)):
        tensors = [outputs, *final]
        weights = [torch.linspace(-1, 1, tensor.numel()).view_as(tensor) for tensor in tensors]
        flat.append(tensors + list(torch.autograd.grad(tensors, wanted, weights)))
    assert_close(flat[0], flat[1], rtol=0, atol=1e-5)


def test_not_a_number_at_padding_reaches_nothing() -> None:
    mask = torch.tensor(MASKS["holes"], dtype=torch.bool)
    inputs = torch.randn(*mask.shape, 4).masked_fill(~mask[..., None], torch.nan)
    outputs, final = build("lstm")(inputs, None, mask)
    assert outputs.isfinite().all()
    assert all(tensor.isfinite().all() for tensor in final)


@pytest.mark.parametrize("padding", MASKS)
def test_bidirectional_layer_equals_single_rows(padding: str) -> None:
    """The backward half starts at each row's own last token, wherever its padding stands (slide Y:442)."""
    mask = torch.tensor(MASKS[padding], dtype=torch.bool)
    inputs = torch.randn(*mask.shape, 4)
    layer = BidirectionalLayer(build("gru"), build("gru"))
    both = nn.GRU(4, 6, batch_first=True, bidirectional=True)
    for name, parameter in layer.forwards.rnn.named_parameters():
        both.get_parameter(name).data.copy_(parameter)
    for name, parameter in layer.backwards.rnn.named_parameters():
        both.get_parameter(name + "_reverse").data.copy_(parameter)
    outputs, state = layer(inputs, None, mask)
    assert state == ()
    assert (outputs[~mask] == 0).all()
    for row, real in enumerate(mask):
        if real.any():
            assert_close(outputs[row, real], both(inputs[row, real][None])[0][0], rtol=0, atol=1e-5)


def test_bidirectional_layer_takes_no_state() -> None:
    layer = BidirectionalLayer(build("gru"), build("gru"))
    with pytest.raises(ValueError, match="whole sequence at once"):
        layer(torch.randn(1, 2, 4), start("gru", 1))


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("padding", ["left", "holes", "an empty row", "nothing padded", "one step"])
def test_bfloat16_autocast(kind: str, padding: str) -> None:
    mask = torch.tensor(MASKS[padding], dtype=torch.bool)
    layer, inputs, state = build(kind), torch.randn(*mask.shape, 4), start(kind, len(mask))
    expected, expected_final = layer(inputs, state, mask)
    for given in (mask, None) if mask.all() else (mask,):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            outputs, final = layer(inputs, state, given)
            again, _ = layer(inputs, final, given)
        assert_close(outputs.float(), expected, rtol=0, atol=0.15)
        assert_close([tensor.float() for tensor in final], list(expected_final), rtol=0, atol=0.15)
        assert again.isfinite().all()
        outputs.float().sum().backward()
