# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Linear layers for one to five rows, as `generate()` has them: a row, or the beams of a row, at each step.

Such a product takes as long as reading the matrix W. How fast that is depends on how the product is asked for, though
the sums are the same. Measured with float32 on an AMD EPYC, one thread, W in the order of `nn.Linear` (outputs x
inputs): milliseconds of all linear layers of a Transformer, one after the other, as in a step of `generate()`.

| blocks, widths, words | rows | x W^T | (W x^T)^T | blocks of W |
|---|---|---|---|---|
| 4, 256 and 1,024, 8,192 | 1 | 2.45 | 2.50 | 1.19 |
| | 5 | 4.32 | 2.69 | 2.78 |
| 6, 512 and 2,048, 8,000 | 1 | 8.50 | 8.51 | 4.36 |
| | 5 | 15.4 | 11.8 | 12.2 |
| | 8 | 15.5 | 15.2 | 16.0 |
| 12, 768 and 3,072, 40,478 | 1 | 34.2 | 35.2 | 18.5 |
| | 5 | 63.8 | 54.3 | 57.9 |

So one row is multiplied with blocks of 64 rows of W, two to five rows are (W x^T)^T, and more are x W^T. A matrix of
less than 2^17 numbers (512 KiB) stays in the processor's cache, where x W^T is as fast. The forms add in another order:
results differ in the last bits.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hf_lecture_models.layers.execution import is_traced

MOST_ROWS, LEAST_NUMBERS, BLOCK = 5, 2**17, 64


class FewRowsLinear(nn.Linear):
    """`nn.Linear`, whose product has another form for few rows of float32 on the CPU, without gradients.

    The matrix is the parameter itself, read anew at each call.

    >>> layer, rows = FewRowsLinear(512, 300), torch.ones(1, 5, 512)
    >>> with torch.no_grad():
    ...     torch.allclose(layer(rows), F.linear(rows, layer.weight, layer.bias), atol=1e-5)
    True
    """

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., in_features) to (..., out_features)."""
        weight, bias = self.weight, self.bias
        if torch.is_grad_enabled() or not _is_few(hidden, weight):
            return F.linear(hidden, weight, bias)
        rows = hidden.reshape(-1, weight.shape[1])
        output = _one_row(rows, weight, bias) if len(rows) == 1 else _rows(rows, weight, bias)
        return output.view(*hidden.shape[:-1], -1)


def _is_few(hidden: Tensor, weight: Tensor) -> bool:
    """Return whether `hidden` has at least one and at most `MOST_ROWS` rows, for a large plain matrix."""
    return (
        0 < hidden.numel() <= MOST_ROWS * weight.shape[-1]
        and weight.numel() >= LEAST_NUMBERS
        # A quantised or distributed matrix is of another class, and one of a module's own making may lie otherwise.
        and type(weight.data) is Tensor
        and weight.is_contiguous()
        and weight.device.type == hidden.device.type == "cpu"
        and weight.dtype == hidden.dtype == torch.float32
        and not torch.is_autocast_enabled("cpu")
        and not is_traced()
    )


def _one_row(row: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return W x + b for x (1, inputs), by a batch of products with `BLOCK` rows of W: (1, outputs)."""
    blocks = len(weight) // BLOCK
    whole = blocks * BLOCK
    column, parts = row.t().expand(blocks, -1, -1), weight[:whole].view(blocks, BLOCK, -1)
    if bias is None:
        output = torch.bmm(parts, column).view(1, whole)
    else:
        output = torch.baddbmm(bias[:whole].view(blocks, BLOCK, 1), parts, column).view(1, whole)
    if whole == len(weight):
        return output
    return torch.cat((output, F.linear(row, weight[whole:], None if bias is None else bias[whole:])), 1)


def _rows(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return (W x^T + b)^T for x (rows, inputs): (rows, outputs)."""
    columns = weight @ rows.t() if bias is None else torch.addmm(bias[:, None], weight, rows.t())
    return columns.t().contiguous()
