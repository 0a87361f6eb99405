# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A softmax over a large vocabulary, trained on a sample of it.

Bengio & Senécal, "Adaptive importance sampling to accelerate training of a neural probabilistic language model", IEEE
Transactions on Neural Networks 19, 2008; Jean, Cho, Memisevic & Bengio, "On using very large target vocabulary for
neural machine translation", ACL 2015. With the score s(w) = W[w] h + b[w], and words x_1 ... x_k drawn from q,

    loss = -ln (exp s(target) / (exp s(target) + Σ_j exp s(x_j) / (k q(x_j))))

where the x_j that are the target itself are left out of the sum. Its expectation is the sum of exp s over all other
words, so that the loss becomes the softmax's as k grows.

Deviations: TensorFlow's function, which trained ELMo, divides exp s(target) by k q(target) too.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from hf_lecture_models.layers.noise_contrastive import NoiseContrastiveLinear


def sampled_softmax_loss(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, noise: Tensor, log_noise: Tensor
) -> Tensor:
    """Return the module's loss summed over positions; arguments and result are `noise_contrastive_loss`'s."""
    # One look-up for both, because each one has a gradient of the whole matrix.
    rows = F.embedding(torch.cat((targets, noise)), weight)
    wide = torch.promote_types(hidden.dtype, torch.float32)
    right = (hidden * rows[: len(targets)]).to(wide).sum(1) + bias[targets]  # (positions,)
    shares = log_noise[noise] + math.log(len(noise))
    others = torch.mm(hidden, rows[len(targets) :].t()).to(wide) + bias[noise] - shares  # (positions, samples)
    others = others.masked_fill(noise == targets[:, None], -math.inf)
    return (torch.cat((right[:, None], others), 1).logsumexp(1) - right).sum()


class SampledSoftmaxLinear(NoiseContrastiveLinear):
    """A linear output layer to logits, trained on `noise_samples` words and evaluated as a softmax.

    The words are drawn as `NoiseContrastiveLinear` draws noise, once for all positions of a batch.
    """

    training_loss = staticmethod(sampled_softmax_loss)
