# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A recurrent layer under `torch.export`: the written-out cell, in a loop for any length and batch."""

import torch
from torch import Tensor, nn

from hf_lecture_models.layers.recurrent_cells import Cell, State, cell_from_kernel

OLDEST_TORCH_WITH_EXPORT = "2.9"  # of those tried; 2.7 keeps no such loop


def run_exported(kernel: nn.RNNBase, hidden: Tensor, state: State | None, mask: Tensor | None) -> tuple[Tensor, State]:
    """Run the cell that computes the same as torch's kernel; see `run_traced`."""
    return run_traced(cell_from_kernel(kernel), hidden, state, mask)


def run_traced(cell: Cell, hidden: Tensor, state: State | None, mask: Tensor | None) -> tuple[Tensor, State]:
    """Run the written-out cell as a loop that `torch.export` and ONNX keep a loop, for any length and batch.

    Tracing would unroll torch's kernels into as many steps as the example has.

    Raises:
        NotImplementedError: torch is too old to keep a loop.
    """
    if torch.__version__ < OLDEST_TORCH_WITH_EXPORT:
        raise NotImplementedError(
            f"torch {torch.__version__} cannot export a recurrent layer for texts of any length: pip install "
            f"'torch>={OLDEST_TORCH_WITH_EXPORT}'"
        )
    # Not yet public in torch: only export may depend on it.
    from torch._higher_order_ops.scan import scan

    mask = torch.ones_like(hidden[..., 0], dtype=torch.bool) if mask is None else mask

    def step(state: State, given: tuple[Tensor, Tensor]) -> tuple[State, Tensor]:
        u, real = given
        after = cell(u, state)
        return tuple(torch.where(real, new, old) for new, old in zip(after, state, strict=True)), after[0] * real

    state = state or tuple(hidden.new_zeros(hidden.shape[0], size) for size in cell.state_sizes)
    state = tuple(tensor.contiguous() for tensor in state)  # as `step` makes them: scan refuses other strides
    # (seq, batch, input_size) and (seq, batch, 1): scan goes along the first axis.
    final, outputs = scan(step, state, (hidden.transpose(0, 1), mask.transpose(0, 1).unsqueeze(-1)))
    return outputs.transpose(0, 1), final
