# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Cross-entropy of softmax(W h + b) over a large vocabulary, in pieces: the logits of all positions never coexist.

With p = softmax(W h + b) and target w the loss is -ln p[w], and its gradient with respect to the logits p - onehot(w)
is known as soon as p is. So the forward pass computes the gradients too, piece by piece, and keeps only those. That
also spares the passes over memory which a separate softmax and its backward take.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Protocol, TypeGuard

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hf_lecture_models.layers.offloading import with_weights

# Logits of one piece: at most so many rows, and about so many elements (31 MiB in float32; glibc gives larger ones back to
# the system, which fills them with zeros anew each time).
_ROWS, _ELEMENTS = 1024, 31 * 2**18


class HeadWithLoss(Protocol):
    """An output layer with a loss of its own."""

    def loss(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """The summed loss in nats of `targets` (positions,) after `hidden` (positions, hidden)."""


def linear_cross_entropy(
    hidden: Tensor, head: nn.Module, targets: Tensor, weights: Tensor | None = None, ignore_index: int = -100
) -> Tensor:
    """The sum of -ln softmax(head(hidden))[target] in nats.

    Args:
        hidden: (positions, hidden).
        head: the output layer. A plain `nn.Linear` goes in pieces. One with a method `loss(hidden, targets)` is asked
            for its own sum of losses. Any other (an adapter around one, a quantised one) is called as it is, on all
            counted positions at once.
        targets: (positions,) ids; `ignore_index` is not counted.
        weights: (positions,), how often each one counts, without a gradient; None: once. With them, no head is asked
            for a sum of its own.

    Returns:
        A scalar, float32 or wider.
    """
    counted = (targets != ignore_index).nonzero().squeeze(1)
    hidden, targets = hidden.index_select(0, counted), targets.index_select(0, counted)
    weights = None if weights is None else weights.index_select(0, counted)
    if has_own_loss(head) and weights is None:
        return with_weights(head, head.loss, hidden, targets)
    if type(head) is nn.Linear:
        return with_weights(head, partial(matrix_cross_entropy, head), hidden, targets, weights)
    return _summed(head(hidden), targets, weights)


def matrix_cross_entropy(head: nn.Linear, hidden: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """As `linear_cross_entropy`, of a layer that is its matrix and bias; in pieces, unless the matrix is quantised."""
    if type(head.weight.data) is not Tensor:
        return _summed(head(hidden), targets, weights)
    return softmax_cross_entropy(hidden, head.weight, head.bias, targets, weights)


def _summed(logits: Tensor, targets: Tensor, weights: Tensor | None) -> Tensor:
    logits = _at_least_float32(logits)
    if weights is None:
        return F.cross_entropy(logits, targets, reduction="sum")
    return (F.cross_entropy(logits, targets, reduction="none") * weights).sum()


def has_own_loss(head: nn.Module) -> TypeGuard[HeadWithLoss]:
    """Whether the output layer computes its own loss, one that is more than a softmax of its logits."""
    return callable(getattr(head, "loss", None))


def softmax_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, weights: Tensor | None = None
) -> Tensor:
    """The sum of -ln softmax(W h + b)[target] in nats, in pieces (compiled: at once).

    Args:
        hidden: (positions, hidden).
        weight: (vocab, hidden).
        bias: (vocab,) or None.
        targets: (positions,) ids.
        weights: (positions,), how often each one counts; None: once.

    Returns:
        A scalar, float32 or wider.
    """
    # Tracing cannot count the pieces.
    if torch.compiler.is_compiling():
        return _summed(F.linear(hidden, weight, bias), targets, weights)
    return _LinearCrossEntropy.apply(hidden, weight, bias, targets, weights)


def target_log_probs(hidden: Tensor, head: nn.Module, targets: Tensor, vocab_size: int) -> Tensor:
    """ln softmax(head(hidden))[target] for scoring, in pieces too, without gradients and for any head.

    Args:
        hidden: (positions, hidden).
        head: the output layer, to logits (positions, vocab_size); a method `target_log_probs(hidden, targets)` of its
            own is asked instead.
        targets: (positions,) ids.

    Returns:
        (positions,), float32 or wider.
    """
    if callable(own := getattr(head, "target_log_probs", None)):
        return with_weights(head, own, hidden, targets)
    rows, scores = _piece_rows(len(hidden), vocab_size), []
    for piece, target in zip(hidden.split(rows), targets.split(rows), strict=True):
        logits = _at_least_float32(head(piece))
        scores.append(logits.gather(1, target[:, None]).squeeze(1) - logits.logsumexp(1))
    return torch.cat(scores)


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
        scale = grad_outputs[0]
        gradients = [gradient * scale.to(gradient.dtype) for gradient in ctx.saved_tensors]
        return *gradients, *([None] * (5 - len(gradients)))


def _loss_and_gradients(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, weights: Tensor | None, with_gradients: bool
) -> tuple[Tensor, ...]:
    wide = torch.promote_types(hidden.dtype, torch.float32)
    loss = torch.zeros((), dtype=wide, device=hidden.device)
    by_hidden = torch.empty_like(hidden, dtype=wide)
    by_weight: Tensor | None = None
    by_bias = [] if bias is None else [torch.zeros_like(bias, dtype=wide)]
    rows = _piece_rows(len(hidden), len(weight))
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
        if by_weight is None:  # zeros to add to would be one more pass over the matrix
            by_weight = torch.mm(low.t(), scaled).to(wide)
        elif wide == hidden.dtype:
            by_weight.addmm_(low.t(), scaled)
        else:
            by_weight += torch.mm(low.t(), scaled)
        for gradient in by_bias:
            gradient.addmv_(z.t(), norm.reciprocal().squeeze(1))
    if not with_gradients:
        return (loss,)
    return loss, by_hidden, torch.zeros_like(weight) if by_weight is None else by_weight, *by_bias


def _piece_rows(positions: int, vocab_size: int) -> int:
    """How many positions make a piece, all pieces being of about one size."""
    pieces = math.ceil(positions / max(1, min(_ROWS, _ELEMENTS // vocab_size)))
    return max(1, math.ceil(positions / max(1, pieces)))


def _at_least_float32(logits: Tensor) -> Tensor:
    return logits.to(torch.promote_types(logits.dtype, torch.float32))
