# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Label smoothing: cross-entropy against (1 - ε) · (the right token) + ε · (the uniform distribution).

The name is of C. Szegedy et al. (2016); A. Vaswani et al. (2017) train with ε = 0.1. With z the V logits of one
position, w the right token and p = softmax(z),

    loss = ln Σ_v exp z_v - (1 - ε) z_w - ε mean_v z_v,        gradient by z = p - (1 - ε) onehot(w) - ε / V

The gradient needs p alone, so the forward pass computes it as well, a few rows at a time. This saves most of the passes
over memory that `torch.nn.functional.cross_entropy` takes with `label_smoothing`.
"""

from typing import Any

import torch
from torch import Tensor

from hf_lecture_models.base.heads.losses import NOT_COUNTED

# The most logits that are processed at a time: 4 MiB in float32.
_ELEMENTS = 2**20


def smoothed_loss(outputs: Any, labels: Tensor, label_smoothing: float) -> Tensor:
    """Return the mean loss with ε = `label_smoothing` over the labels that are not -100; 0 if all are.

    >>> from transformers.modeling_outputs import Seq2SeqLMOutput
    >>> outputs = Seq2SeqLMOutput(logits=torch.tensor([[[0.0, 2.0]]]))
    >>> [round(float(smoothed_loss(outputs, torch.tensor([[1]]), ε)), 4) for ε in (0.0, 0.1)]
    [0.1269, 0.2269]

    Args:
        outputs: the model's, with `logits` (batch, target, vocab).
        labels: (batch, target).

    Returns:
        A scalar in nats, float32 or wider.
    """
    logits = outputs.logits.flatten(0, 1)
    return _SmoothedCrossEntropy.apply(logits, labels.flatten().to(logits.device), label_smoothing)


class _SmoothedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, share: float) -> Tensor:
        vocab, wide = logits.shape[1], torch.promote_types(logits.dtype, torch.float32)
        counted = (labels != NOT_COUNTED)[:, None]
        weights = counted.to(wide) / counted.sum().clamp(min=1)  # of each position in the mean
        targets = labels.masked_fill(labels == NOT_COUNTED, 0)[:, None]
        gradient = torch.empty_like(logits) if ctx.needs_input_grad[0] else None
        loss, rows = torch.zeros((), dtype=wide, device=logits.device), max(1, _ELEMENTS // vocab)
        for start in range(0, len(logits), rows):
            piece = slice(start, start + rows)
            weight, target = weights[piece], targets[piece]
            z = logits[piece].to(wide, copy=True)
            z.sub_(z.amax(1, keepdim=True))
            right, mean = z.gather(1, target), z.mean(1, keepdim=True)
            norm = z.exp_().sum(1, keepdim=True)
            loss += ((norm.log() - (1 - share) * right - share * mean) * weight).sum()
            if gradient is not None:
                z.mul_(weight / norm).sub_(weight * (share / vocab)).scatter_add_(1, target, weight * (share - 1))
                gradient[piece] = z
        if gradient is not None:
            ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        # In place: no second matrix of this size. A second backward pass over the same loss is refused by autograd.
        return gradient.mul_(grad_outputs[0]), None, None
