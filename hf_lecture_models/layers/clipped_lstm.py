# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The LSTM with recurrent projection whose cell and output are clipped, as ELMo's official weights need it.

    f, i, g, o = W [h; u] + b
    c = clip(σ(f) ⊙ c + σ(i) ⊙ tanh(g), ± cell_clip)
    h = clip(P (σ(o) ⊙ tanh(c)), ± projection_clip)

torch's kernels do not clip. So the written-out cell runs if a bound is given, and the kernel otherwise. Both have the
same weights, and give the same outputs as long as nothing exceeds the bounds.
"""

import math
from functools import partial

import torch
from torch import Tensor, nn

from hf_lecture_models.layers.execution import with_weights
from hf_lecture_models.layers.recurrent_cells import ProjectedLstmCell, cell_from_kernel, unroll
from hf_lecture_models.layers.recurrent_export import run_traced
from hf_lecture_models.layers.recurrent_layer import RecurrentLayer

State = tuple[Tensor, ...]


class ClippedLstmCell(ProjectedLstmCell):
    """The formula above; bounds of infinity make it `ProjectedLstmCell`."""

    def __init__(
        self, input_size: int, hidden_size: int, projection_size: int, cell_clip: float, projection_clip: float
    ):
        super().__init__(input_size, hidden_size, projection_size)
        self.cell_clip, self.projection_clip = cell_clip, projection_clip

    def forward(self, u: Tensor, state: State) -> State:
        """(batch, input_size), (h, c) -> (h, c), where h is the projected output."""
        h, c = state
        f, i, g, o = self.W(torch.cat((h, u), -1)).chunk(4, -1)
        f, i, g, o = torch.sigmoid(f), torch.sigmoid(i), torch.tanh(g), torch.sigmoid(o)
        c = (f * c + i * g).clamp(-self.cell_clip, self.cell_clip)
        return self.P(o * torch.tanh(c)).clamp(-self.projection_clip, self.projection_clip), c


class ClippedLstmLayer(RecurrentLayer):
    """`RecurrentLayer` around an `nn.LSTM` with `proj_size`, clipped where bounds are given.

    Args:
        kernel: holds the weights, and computes if neither bound is given.
        cell_clip, projection_clip: the bounds; None: not clipped.
    """

    def __init__(self, kernel: nn.LSTM, cell_clip: float | None = None, projection_clip: float | None = None):
        super().__init__(kernel)
        self.clips = None if cell_clip is None and projection_clip is None else (cell_clip, projection_clip)
        self.sizes = kernel.input_size, kernel.hidden_size, kernel.proj_size

    def forward(self, hidden: Tensor, state: State | None = None, mask: Tensor | None = None) -> tuple[Tensor, State]:
        """Read the sequences from left to right, as `RecurrentLayer` does."""
        if self.clips is None:
            return super().forward(hidden, state, mask)
        return with_weights(self.rnn, partial(self._read_clipped, mask=mask), hidden, state)

    def _read_clipped(self, hidden: Tensor, state: State | None, mask: Tensor | None) -> tuple[Tensor, State]:
        run = run_traced if torch.compiler.is_exporting() else unroll
        return run(self._cell(), hidden, state, mask)

    def _cell(self) -> ClippedLstmCell:
        assert self.clips is not None
        bounds = (math.inf if clip is None else float(clip) for clip in self.clips)
        # Its matrices are the kernel's, in another order.
        with torch.device("meta"):
            cell = ClippedLstmCell(*self.sizes, *bounds)
        own = cell_from_kernel(self.rnn)
        assert isinstance(own, ProjectedLstmCell)
        cell.W, cell.P = own.W, own.P
        return cell
