# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The position-wise feed-forward network (Vaswani et al. 2017, section 3.3; slides R:860-890, Y:514)."""

from torch import Tensor, nn

from hf_lecture_models.layers.few_rows import FewRowsLinear


class PositionWise(nn.Module):
    """FFN(h) = W_2 φ(W_1 h + b_1) + b_2, at each position separately.

    Args:
        hidden_size: width of input and output.
        intermediate_size: width of W_1 h.
        activation: φ, a module.
    """

    def __init__(self, hidden_size: int, intermediate_size: int, activation: nn.Module):
        super().__init__()
        self.up_proj = FewRowsLinear(hidden_size, intermediate_size)
        self.activation = activation
        self.down_proj = FewRowsLinear(intermediate_size, hidden_size)

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., hidden_size) to the same shape."""
        return self.down_proj(self.activation(self.up_proj(hidden)))
