# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A softmax over a large vocabulary, trained on a sample of it.

Bengio & Senécal, "Adaptive importance sampling to accelerate training of a neural probabilistic language model", IEEE
Transactions on Neural Networks 19, 2008; Jean, Cho, Memisevic & Bengio, "On using very large target vocabulary for
neural machine translation", ACL 2015. With the score s(w) = W[w] h + b[w], and words x_1 ... x_k drawn from q,

    loss = -ln (exp s(target) / (exp s(target) + Σ_j exp s(x_j) / (k q(x_j))))

where those x_j that are the target itself are left out of the sum, which is in expectation that of exp s over all other
words: as k grows, the loss becomes the softmax's.

Deviations: TensorFlow's function, by which ELMo was trained, divides exp s(target) by k q(target) too.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from hf_lecture_models.layers.linear_cross_entropy import matrix_cross_entropy
from hf_lecture_models.layers.noise_contrastive import NoiseContrastiveLinear


class SampledSoftmaxLinear(NoiseContrastiveLinear):
    """A linear output layer to logits that is trained on `noise_samples` words and evaluated as the softmax it is.

    The words are drawn as those of `NoiseContrastiveLinear` are, once for all positions of a batch.
    """

    def loss(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """In training mode the loss above, in evaluation mode -ln softmax(W h + b)[target]; both summed.

        Args:
            hidden: (positions, hidden).
            targets: (positions,) ids.
        """
        if not self.training:
            return matrix_cross_entropy(self, hidden, targets)
        return sampled_softmax_loss(hidden, self.weight, self.bias, targets, self.draw_noise(), self.log_noise())


def sampled_softmax_loss(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, sample: Tensor, log_noise: Tensor
) -> Tensor:
    """The loss of the formula above, summed over positions.

    Args:
        hidden: (positions, hidden).
        weight, bias: (vocab, hidden), (vocab,).
        targets: (positions,) ids.
        sample: (samples,) ids, drawn from q.
        log_noise: (vocab,), ln q.

    Returns:
        A scalar, float32 or wider.
    """
    # One look-up for both, because each would make a gradient of the whole matrix.
    rows = F.embedding(torch.cat((targets, sample)), weight)
    wide = torch.promote_types(hidden.dtype, torch.float32)
    right = (hidden * rows[: len(targets)]).to(wide).sum(1) + bias[targets]  # (positions,)
    shares = log_noise[sample] + math.log(len(sample))
    others = torch.mm(hidden, rows[len(targets) :].t()).to(wide) + bias[sample] - shares  # (positions, samples)
    others = others.masked_fill(sample == targets[:, None], -math.inf)
    return (torch.cat((right[:, None], others), 1).logsumexp(1) - right).sum()
