# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Noise-contrastive estimation: learn a softmax's scores by distinguishing words of the text from words of noise.

Gutmann & Hyvärinen, "Noise-contrastive estimation: a new estimation principle for unnormalized statistical models",
AISTATS 2010; for language models Mnih & Teh, "A fast and simple algorithm for training neural probabilistic language
models", ICML 2012; one sample of noise for all positions of a batch, Zoph, Vaswani, May & Knight, "Simple, fast
noise-contrastive estimation for large RNN vocabularies", NAACL 2016. Slides Y:278 and Y:435 name the cost that it
saves.

With the score s(w) = W[w] h + b[w], k words x_1 ... x_k drawn from the noise q, and the normaliser Z fixed at 1:

    D(w) = s(w) - ln Z - ln(k q(w))
    loss = -ln σ(D(target)) - Σ_j ln σ(-D(x_j))

σ(D(w)) is the probability that w is a word of the text and not one of k words of noise. With P the text's distribution,
the expected gradient by s(w) is (exp(s(w)) - P(w)) k q(w) / (k q(w) + exp(s(w))). As k grows, this becomes the gradient
of maximum likelihood, once exp(s) sums to 1, and the loss makes it do so.

q is the unigram distribution of the training text with each count raised by one, so that every word is possible.

Deviations: the biases start at ln q, with which exp(s) sums to 1 where W h = 0.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.linear_cross_entropy import matrix_cross_entropy


def noise_contrastive_loss(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, noise: Tensor, log_noise: Tensor
) -> Tensor:
    """Return the module's loss summed over positions.

    Args:
        hidden: (positions, hidden).
        weight, bias: (vocab, hidden), (vocab,).
        targets: (positions,) ids.
        noise: (samples,) ids, drawn from q.
        log_noise: (vocab,), ln q.

    Returns:
        A scalar, float32 or wider.
    """
    # One look-up for both, because each one has a gradient of the whole matrix.
    rows = F.embedding(torch.cat((targets, noise)), weight)
    offset = bias - log_noise - math.log(len(noise))
    wide = torch.promote_types(hidden.dtype, torch.float32)
    right = (hidden * rows[: len(targets)]).to(wide).sum(1) + offset[targets]  # (positions,)
    wrong = torch.mm(hidden, rows[len(targets) :].t()).to(wide) + offset[noise]  # (positions, samples)
    return -F.logsigmoid(right).sum() - F.logsigmoid(-wrong).sum()


class NoiseContrastiveLinear(nn.Linear):
    """A linear output layer to logits, trained by noise contrast and evaluated as a softmax.

    Args:
        hidden_size: width of h.
        vocab_size: number of words.
        noise_samples: k, the words of noise that all positions of a batch share.
    """

    training_loss = staticmethod(noise_contrastive_loss)

    token_counts: Tensor

    def __init__(self, hidden_size: int, vocab_size: int, noise_samples: int):
        super().__init__(hidden_size, vocab_size)
        self.noise_samples = noise_samples
        self.register_buffer("token_counts", torch.zeros(vocab_size, dtype=torch.long))

    def draw_weights(self) -> None:
        """Start without counts."""
        init.zeros_(self.token_counts)

    @torch.no_grad()
    def set_token_counts(self, counts: Tensor) -> None:
        """Set the noise's distribution, and the biases to it, by counts (vocab_size,); before, all words are equal."""
        self.token_counts.copy_(counts)
        self.bias.copy_(self.log_noise())

    def log_noise(self) -> Tensor:
        """ln q(w): (vocab_size,), float32 or wider."""
        counts, wide = self.token_counts + 1, torch.promote_types(self.weight.dtype, torch.float32)
        return counts.to(wide).log() - counts.sum().to(wide).log()

    def draw_noise(self) -> Tensor:
        """(noise_samples,) ids drawn from q by torch's global random generator."""
        cumulative = (self.token_counts + 1).cumsum(0)
        drawn = torch.randint(int(cumulative[-1]), (self.noise_samples,), device=cumulative.device)
        return torch.searchsorted(cumulative, drawn, right=True)

    def loss(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Return `training_loss` in training mode, and -ln softmax(W h + b)[target] in evaluation mode; both summed.

        The noise-contrastive loss is not a code length: do not compare it with a softmax's.
        """
        if not self.training:
            return matrix_cross_entropy(self, hidden, targets)
        return self.training_loss(hidden, self.weight, self.bias, targets, self.draw_noise(), self.log_noise())
