# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Recurrent layers by the formulas of the papers, and what all models on torch's kernels cannot do."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dynamo.exc import Unsupported


class OnTorchKernels:
    """Stands before the checks of a model whose layers are torch's fused kernels."""

    @pytest.mark.slow
    @pytest.mark.xfail(strict=True, raises=Unsupported, reason="torch does not compile its recurrent kernels")
    def test_compiles_in_one_piece(self) -> None:
        super().test_compiles_in_one_piece()  # type: ignore[misc]


def step(
    cell_type: str, p: dict[str, Tensor], u: Tensor, state: list[Tensor], clips: tuple[float | None, ...] = (None, None)
) -> list[Tensor]:
    """One step of one layer, its matrices taken apart gate by gate in torch's order; `clips` bound c and h."""
    by_u = u @ p["weight_ih_l0"].T + p["bias_ih_l0"]
    by_h = state[0] @ p["weight_hh_l0"].T + p["bias_hh_l0"]
    if cell_type == "elman":
        return [(by_u + by_h).tanh()]
    if cell_type == "gru":
        (reset, update, new), (reset_h, update_h, new_h) = by_u.chunk(3, 1), by_h.chunk(3, 1)
        update = (update + update_h).sigmoid()
        return [update * state[0] + (1 - update) * (new + (reset + reset_h).sigmoid() * new_h).tanh()]
    cell_clip, projection_clip = (math.inf if clip is None else clip for clip in clips)
    enter, keep, content, show = (by_u + by_h).chunk(4, 1)
    c = (keep.sigmoid() * state[1] + enter.sigmoid() * content.tanh()).clamp(-cell_clip, cell_clip)
    h = show.sigmoid() * c.tanh()
    if "weight_hr_l0" in p:
        h = (h @ p["weight_hr_l0"].T).clamp(-projection_clip, projection_clip)
    return [h, c]


def read(cell_type: str, kernel: Any, inputs: Tensor, *clips: float | None) -> tuple[Tensor, list[Tensor]]:
    """All h (batch, seq, size) of one layer from zeros on, from left to right, and the state at the end; no padding."""
    p = dict(kernel.named_parameters())
    state = [inputs.new_zeros(len(inputs), p["weight_hh_l0"].shape[1])]
    if cell_type == "lstm":
        state.append(inputs.new_zeros(len(inputs), p["weight_ih_l0"].shape[0] // 4))
    outputs = []
    for u in inputs.unbind(1):
        state = step(cell_type, p, u, state, clips or (None, None))
        outputs.append(state[0])
    return torch.stack(outputs, 1), state


def read_both_ways(cell_type: str, ahead: Any, back: Any, inputs: Tensor) -> Tensor:
    """[h→; h←] of two kernels."""
    return torch.cat((read(cell_type, ahead, inputs)[0], read(cell_type, back, inputs.flip(1))[0].flip(1)), -1)
