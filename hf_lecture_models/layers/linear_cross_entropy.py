# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Cross-entropy of softmax(W h + b) over a large vocabulary, in pieces: the logits of all positions never coexist.

With p = softmax(W h + b) and target w the loss is -ln p[w], and its gradient with respect to the logits, p - onehot(w),
is known as soon as p is. So the forward pass computes the gradients too, piece by piece, and keeps only those. That
also saves the passes over memory that a separate softmax and its backward take.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hf_lecture_models.layers.execution import at_least_float32, has_own_loss, is_traced, with_weights
from hf_lecture_models.layers.word_scores import WordScores, piece_rows


def linear_cross_entropy(
    hidden: Tensor, head: Any, targets: Tensor, weights: Tensor | None = None, ignore_index: int = -100
) -> Tensor:
    """Return the sum of -ln softmax(head(hidden))[target] in nats.

    Args:
        hidden: (positions, hidden).
        head: the output layer. A plain `nn.Linear` and `WordScores` are computed in pieces. One with a method
            `loss(hidden, targets)` computes its own sum of losses. Any other (an adapter around one, a quantised one)
            is called on all counted positions at once.
        targets: (positions,) ids; `ignore_index` is not counted.
        weights: (positions,), how often each one counts, without a gradient; None: once. With weights, a head's own
            `loss` is not used.

    Returns:
        A scalar, float32 or wider.
    """
    counted = (targets != ignore_index).nonzero().squeeze(1)
    hidden, targets = hidden.index_select(0, counted), targets.index_select(0, counted)
    weights = None if weights is None else weights.index_select(0, counted)
    if type(head) in (nn.Linear, WordScores):
        return with_weights(head, partial(matrix_cross_entropy, head), hidden, targets, weights)
    if has_own_loss(head) and weights is None:
        return with_weights(head, head.loss, hidden, targets)
    return _summed(head(hidden), targets, weights)


def matrix_cross_entropy(head: Any, hidden: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return `linear_cross_entropy` of a linear layer; in pieces, unless it is compiled or its matrix is quantised."""
    if is_traced() or type(head.weight.data) is not Tensor:
        return _summed(F.linear(hidden, head.weight, head.bias), targets, weights)
    return _LinearCrossEntropy.apply(hidden, head.weight, head.bias, targets, weights)


def _summed(logits: Tensor, targets: Tensor, weights: Tensor | None) -> Tensor:
    logits = at_least_float32(logits)
    if weights is None:
        return F.cross_entropy(logits, targets, reduction="sum")
    return (F.cross_entropy(logits, targets, reduction="none") * weights).sum()


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, weights: Tensor | None
    ) -> Tensor:
        device = hidden.device.type
        low = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
        with torch.autocast(device, enabled=False):
            wanted = any(ctx.needs_input_grad)
            loss, *gradients = _loss_and_gradients(hidden.to(low), weight.to(low), bias, targets, weights, wanted)
        if gradients:
            inputs = (hidden, weight) if bias is None else (hidden, weight, bias)
            ctx.save_for_backward(*(g.to(x.dtype) for g, x in zip(gradients, inputs, strict=True)))
        return loss

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        gradients = [gradient * grad_outputs[0].to(gradient.dtype) for gradient in ctx.saved_tensors]
        return *gradients, *([None] * (5 - len(gradients)))


def _loss_and_gradients(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, weights: Tensor | None, with_gradients: bool
) -> tuple[Tensor, ...]:
    wide = torch.promote_types(hidden.dtype, torch.float32)
    loss = torch.zeros((), dtype=wide, device=hidden.device)
    by_hidden = torch.empty_like(hidden, dtype=wide)
    by_weight = torch.zeros_like(loss)  # until the first piece makes it a matrix
    by_bias = [] if bias is None else [torch.zeros_like(bias, dtype=wide)]
    rows = piece_rows(len(hidden), len(weight))
    for start in range(0, len(hidden), rows):
        piece, target = hidden[start : start + rows], targets[start : start + rows, None]
        z = torch.mm(piece, weight.t()).to(wide)  # (rows, vocab)
        if bias is not None:
            z.add_(bias)
        z.sub_(z.amax(1, keepdim=True))
        right = z.gather(1, target)
        z.exp_()
        norm = z.sum(1, keepdim=True)
        times = 1 if weights is None else weights[start : start + rows, None].to(wide)
        loss += ((norm.log() - right) * times).sum()
        if not with_gradients:
            continue
        # z / norm is the softmax; dividing the narrow hidden rows instead of z saves a pass over the vocabulary.
        z.scatter_add_(1, target, -norm)
        norm = norm / times
        low, scaled = z.to(hidden.dtype), (piece / norm).to(hidden.dtype)
        by_hidden[start : start + rows] = torch.mm(low, weight) / norm
        if start and wide == hidden.dtype:
            by_weight.addmm_(low.t(), scaled)
        else:
            product = torch.mm(low.t(), scaled)
            by_weight = by_weight.add_(product) if start else product.to(wide)
        for gradient in by_bias:
            gradient.addmv_(z.t(), norm.reciprocal().squeeze(1))
    return (loss, by_hidden, by_weight.expand_as(weight), *by_bias) if with_gradients else (loss,)
