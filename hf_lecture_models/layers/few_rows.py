# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Linear layers for one to five rows, as `generate()` has them: a row, or the beams of a row, at each step.

Such a product takes as long as reading the matrix W, and how fast that is depends on how torch is asked for it.
Milliseconds of all linear layers of a Transformer, one after the other (float32, one thread of an AMD EPYC), as x W^T,
as (W x^T)^T, and by blocks of 64 rows of W:

    layers, width, words    one row             five rows           eight rows
    4, 256, 8,192           2.45  2.50  1.19    4.32  2.69  2.78
    6, 512, 8,000           8.50  8.51  4.36    15.4  11.8  12.2    15.5  15.2  16.0
    12, 768, 40,478         34.2  35.2  18.5    63.8  54.3  57.9

So one row is multiplied by blocks, two to five are (W x^T)^T, more are x W^T. A matrix of fewer than 2^17 numbers
(512 KiB) stays in the processor's cache, where x W^T is as fast. The forms add in another order: results differ in the
last bits.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hf_lecture_models.layers.execution import is_traced

MOST_ROWS, LEAST_NUMBERS, BLOCK = 5, 2**17, 64


class FewRowsLinear(nn.Linear):
    """`nn.Linear`, whose product has another form for few rows of float32 on the CPU, without gradients.

    >>> layer, rows = FewRowsLinear(512, 300), torch.ones(1, 5, 512)
    >>> with torch.no_grad():
    ...     torch.allclose(layer(rows), F.linear(rows, layer.weight, layer.bias), atol=1e-5)
    True
    """

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., in_features) to (..., out_features)."""
        weight, bias = self.weight, self.bias
        if torch.is_grad_enabled() or is_traced() or not _is_few(hidden, weight):
            return F.linear(hidden, weight, bias)
        rows = hidden.reshape(-1, weight.shape[1])
        output = _one_row(rows, weight, bias) if len(rows) == 1 else _rows(rows, weight, bias)
        return output.view(*hidden.shape[:-1], -1)


def _is_few(hidden: Tensor, weight: Tensor) -> bool:
    """Return whether `hidden` has at least one and at most `MOST_ROWS` rows, for a large plain matrix."""
    return (
        hidden.shape[-1] == weight.shape[-1]  # else `F.linear` says what does not fit
        and 0 < hidden.numel() <= MOST_ROWS * weight.shape[-1]
        and weight.numel() >= LEAST_NUMBERS
        and len(weight) >= BLOCK
        # A quantised or distributed matrix is of another class.
        and type(weight) in (nn.Parameter, Tensor)
        and weight.is_contiguous()
        and weight.device.type == hidden.device.type == "cpu"
        and weight.dtype == hidden.dtype == torch.float32
        and not torch.is_autocast_enabled("cpu")
    )


def _one_row(row: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return W x + b for x (1, inputs), by a batch of products with `BLOCK` rows of W: (1, outputs)."""
    blocks = len(weight) // BLOCK
    whole = blocks * BLOCK
    parts, column = weight[:whole].view(blocks, BLOCK, -1), row.t().expand(blocks, -1, -1)
    if bias is None:
        output = torch.bmm(parts, column)
    else:
        output = torch.baddbmm(bias[:whole].view(blocks, BLOCK, 1), parts, column)
    output, rest = output.view(1, whole), None if bias is None else bias[whole:]
    return output if whole == len(weight) else torch.cat((output, F.linear(row, weight[whole:], rest)), 1)


def _rows(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return (W x^T + b)^T for x (rows, inputs): (rows, outputs)."""
    columns = weight @ rows.t() if bias is None else torch.addmm(bias[:, None], weight, rows.t())
    return columns.t().contiguous()
