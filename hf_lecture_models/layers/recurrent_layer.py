# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""One recurrent layer on a batch of sequences of unequal lengths, run by torch's fused kernels.

The real tokens of each row are read in their order, wherever padding is (left, right, in between): it outputs zeros and
leaves the state unchanged. Without padding the kernel gets the batch as it is; under `torch.export` the written-out
cell replaces the kernel.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from hf_lecture_models.layers.execution import with_weights
from hf_lecture_models.layers.recurrent_export import run_exported

State = tuple[Tensor, ...]

# On the CPU, torch has no oneDNN kernel for an nn.LSTM with `proj_size`, runs its own, and says so at the first call.
warnings.filterwarnings("ignore", "LSTM with projections is not supported with oneDNN", UserWarning)

KERNELS: dict[str, Callable[..., nn.RNNBase]] = {"elman": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
"""torch's fused kernels for each `cell_type` of a configuration."""

_HAS_BF16_LSTM = "AVX512" in torch.backends.cpu.get_cpu_capability()

# torch's kernels for one step.
_CELL_KERNELS: dict[type, Callable[..., Any]] = {
    nn.RNN: torch.rnn_tanh_cell,
    nn.GRU: torch.gru_cell,
    nn.LSTM: torch.lstm_cell,
}


class RecurrentLayer(nn.Module):
    """A layer that reads forwards with `kernel`: a one-layer, batch-first `nn.RNN`, `nn.GRU` or `nn.LSTM`.

    The state is a tuple of tensors (batch, size): (h,), or (h, c) for an LSTM; `state_sizes` holds the sizes. `dropout`
    is the dropout probability of the outputs; the state has no dropout.
    """

    def __init__(self, kernel: nn.RNNBase, dropout: float = 0.0):
        super().__init__()
        self.rnn = kernel
        self.dropout = nn.Dropout(dropout)
        # Stored, because an adapter (peft) may later wrap the kernel.
        size = kernel.hidden_size
        self.state_sizes = (kernel.proj_size or size, size) if isinstance(kernel, nn.LSTM) else (size,)

    def forward(self, hidden: Tensor, state: State | None = None, mask: Tensor | None = None) -> tuple[Tensor, State]:
        """Read the sequences from left to right.

        Args:
            hidden: (batch, seq, input_size), of at least one token.
            state: the state before the first step; None for zeros.
            mask: (batch, seq) bool, True = real token; None where all are.

        Returns:
            The outputs (batch, seq, output_size) and the state after each row's last real token.
        """
        one_step = hidden.shape[1] == 1 and not torch.jit.is_tracing()  # which would record it for longer inputs too
        if torch.compiler.is_exporting():
            outputs, after = run_exported(self.rnn, hidden, state, mask)
        elif mask is not None:
            outputs, after = _run_packed(self.rnn, hidden, state, mask)
        elif one_step and type(self.rnn) in _CELL_KERNELS and not self.rnn.proj_size:
            outputs, after = with_weights(self.rnn, partial(_run_step, self.rnn), hidden, state)
        else:
            outputs, after = _run(self.rnn, hidden, state)
        return self.dropout(outputs), after


class BidirectionalLayer(nn.Module):
    """Two layers, the second reading backwards, and their outputs side by side: [h→; h←] (slide R:613, Y:442)."""

    state_sizes = ()

    def __init__(self, forwards: RecurrentLayer, backwards: RecurrentLayer, dropout: float = 0.0):
        super().__init__()
        self.forwards = forwards
        self.backwards = backwards
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor, state: State | None = None, mask: Tensor | None = None) -> tuple[Tensor, State]:
        """Read the sequences both ways.

        Args and returns are `RecurrentLayer`'s, but the outputs are (batch, seq, 2 * output_size). A sequence read
        backwards cannot be continued, so `state` must be None and the returned state is ().
        """
        if state:
            raise ValueError("a bidirectional layer starts from no state: it reads the whole sequence at once")
        ahead, _ = self.forwards(hidden, None, mask)
        # In the flipped row the last real token comes first, after any padding.
        back, _ = self.backwards(hidden.flip(1), None, None if mask is None else mask.flip(1))
        return self.dropout(torch.cat((ahead, back.flip(1)), -1)), ()


def _run(kernel: nn.RNNBase, inputs: Tensor | PackedSequence, state: State | None) -> tuple[Tensor, State]:
    """Call the kernel, whose states are (1, batch, size), and a tuple only for an LSTM."""
    if _lacks_kernel(kernel, inputs):
        with torch.autocast("cpu", enabled=False):
            outputs, after = _run(kernel, inputs.float(), state and tuple(tensor.float() for tensor in state))
        return outputs.to(torch.bfloat16), tuple(tensor.bfloat16() for tensor in after)
    initial = None if state is None else tuple(tensor.unsqueeze(0) for tensor in state)
    outputs, final = kernel(inputs, initial[0] if initial is not None and len(initial) == 1 else initial)
    final = final if isinstance(final, tuple) else (final,)
    return outputs, tuple(tensor.squeeze(0) for tensor in final)


def _lacks_kernel(kernel: nn.RNNBase, inputs: Tensor | PackedSequence) -> bool:
    """Return whether autocast would ask oneDNN for an LSTM in bf16, which it has only on processors with AVX-512."""
    if _HAS_BF16_LSTM or not isinstance(kernel, nn.LSTM) or kernel.proj_size or inputs.data.device.type != "cpu":
        return False
    return torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16


def _run_step(kernel: nn.RNNBase, hidden: Tensor, state: State | None) -> tuple[Tensor, State]:
    """Read a single step, as in generation.

    On the CPU nn.LSTM prepares its weights for oneDNN at every call: 6.8 ms at 512 units, where the step takes 0.4 ms.
    """
    weights = (kernel.weight_ih_l0, kernel.weight_hh_l0, kernel.bias_ih_l0, kernel.bias_hh_l0)
    if state is None:
        state = (hidden.new_zeros(hidden.shape[0], kernel.hidden_size),) * (2 if isinstance(kernel, nn.LSTM) else 1)
    after = _CELL_KERNELS[type(kernel)](hidden[:, 0], state if len(state) == 2 else state[0], *weights)
    after = after if isinstance(after, tuple) else (after,)
    return after[0].unsqueeze(1), after


def _run_packed(kernel: nn.RNNBase, hidden: Tensor, state: State | None, mask: Tensor) -> tuple[Tensor, State]:
    batch, seq, _ = hidden.shape
    rows, where, sizes = _packing(mask)
    if len(rows) == 0:
        return _nothing_read(kernel, hidden, state)
    packed = PackedSequence(hidden.flatten(0, 1).index_select(0, where), sizes)
    before = None if state is None else tuple(tensor.index_select(0, rows) for tensor in state)
    outputs, after = _run(kernel, packed, before)
    spread = outputs.data.new_zeros(batch * seq, outputs.data.shape[-1]).index_copy(0, where, outputs.data)
    if state is None:
        state = tuple(tensor.new_zeros(batch, tensor.shape[-1]) for tensor in after)
    # Rows without a real token are not among `rows` and keep their state.
    final = tuple(old.index_copy(0, rows, new.to(old.dtype)) for old, new in zip(state, after, strict=True))
    return spread.view(batch, seq, -1), final


def _packing(mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the indices that make a `PackedSequence` of the real tokens.

    Returns:
        The rows that have real tokens, longest first; the places of all real tokens in the flattened batch, step by
        step over those rows; and (on the CPU) the number of rows that are still running at each step.

    >>> rows, where, sizes = _packing(torch.tensor([[False, True, True], [True, True, True], [False, False, False]]))
    >>> rows.tolist(), where.tolist(), sizes.tolist()
    ([1, 0], [3, 1, 4, 2, 5], [2, 2, 1])
    """
    lengths = mask.sum(1)
    rows = lengths.argsort(descending=True, stable=True)
    rows = rows[lengths[rows] > 0]  # not rows[:number], a number that torch.jit.trace would record
    chosen = mask[rows]
    step = (chosen.cumsum(1) - 1)[chosen]  # each real token's own step, holes not counted
    places = (rows[:, None] * mask.shape[1] + torch.arange(mask.shape[1], device=mask.device))[chosen]
    return rows, places[step.argsort(stable=True)], step.bincount().cpu()


def _nothing_read(kernel: nn.RNNBase, hidden: Tensor, state: State | None) -> tuple[Tensor, State]:
    # One step over zeros gives sizes and types.
    outputs, after = _run(kernel, torch.zeros_like(hidden[:, :1]), None)
    return outputs.new_zeros(*hidden.shape[:2], outputs.shape[-1]), state or tuple(map(torch.zeros_like, after))
