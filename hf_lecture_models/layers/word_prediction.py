# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Two ways to predict a word among many without the softmax over all of them.

Mikolov, Sutskever, Chen, Corrado & Dean, "Distributed representations of words and phrases and their
compositionality", NeurIPS 2013. With h the predicting vector and w the word,

    negative sampling       loss = -ln σ(h · v_w) - Σ_{i=1}^k ln σ(-h · v_{n_i}), n_i drawn from q     (equation 4)
    hierarchical softmax    loss = -Σ_j ln σ(±h · v_{n(w,j)}), over the inner nodes n(w,j) from the root   (equation 3)
                            of a Huffman tree to w; + where the path goes on by bit 0, - where by bit 1

The second is -ln P(w | h) of a distribution over words; the first does not give a distribution.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.execution import at_least_float32
from hf_lecture_models.layers.huffman import balanced_tree, huffman_tree


class NegativeSampling(nn.Module):
    """Words distinguished from words of noise. `weight` (vocab, hidden) holds the output vectors v.

    The noise q(w) is proportional to the number of times that w occurs, to the power `noise_exponent`; before
    `set_token_counts` all words are equal. A drawn word that is w itself is left out, as in the authors' program.
    """

    token_counts: Tensor

    def __init__(self, vocab_size: int, hidden_size: int, num_negatives: int, noise_exponent: float):
        super().__init__()
        self.num_negatives, self.noise_exponent = num_negatives, noise_exponent
        self.weight = nn.Parameter(torch.zeros(vocab_size, hidden_size))
        self.register_buffer("token_counts", torch.zeros(vocab_size, dtype=torch.long))

    def draw_weights(self) -> None:
        """Start with zeros, and without counts."""
        init.zeros_(self.weight)
        init.zeros_(self.token_counts)

    @torch.no_grad()
    def set_token_counts(self, counts: Tensor) -> None:
        """Draw noise by these numbers of occurrences, (vocab,)."""
        self.token_counts.copy_(counts)

    def cumulative_noise(self) -> Tensor:
        """(vocab,) float64: the sums of q up to each word."""
        counts = torch.where(self.token_counts.any(), self.token_counts, 1).double()
        # 0 to the power 0 would be 1, but a word that does not occur is never drawn.
        total = counts.pow(self.noise_exponent).where(counts > 0, 0.0).cumsum(0)
        return total / total[-1]

    def draw_noise(self, *size: int, generator: torch.Generator | None = None) -> Tensor:
        """Ids of this shape, drawn from q."""
        cumulative = self.cumulative_noise()
        drawn = torch.rand(size, dtype=torch.float64, device=cumulative.device, generator=generator)
        return torch.searchsorted(cumulative, drawn, right=True).clamp(max=len(cumulative) - 1)

    def forward(self, hidden: Tensor, targets: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """The loss of each pair.

        Args:
            hidden: (pairs, hidden), h.
            targets: (pairs,), ids.
            generator: draws the noise; None: torch's global one.

        Returns:
            (pairs,), float32 or wider.
        """
        noise = self.draw_noise(len(targets), self.num_negatives, generator=generator)
        rows = F.embedding(torch.cat((targets[:, None], noise), 1), self.weight)
        scores = at_least_float32(torch.einsum("pd,pwd->pw", hidden, rows))
        wrong = F.softplus(scores[:, 1:]).where(noise != targets[:, None], 0.0)
        return F.softplus(-scores[:, 0]) + wrong.sum(1)


class HierarchicalSoftmax(nn.Module):
    """A word as a path of choices. `weight` (vocab - 1, hidden) holds the vectors v of the inner nodes.

    Before `set_token_counts` the tree is that of equally frequent words. Afterwards, a word that never occurs is not in
    the tree: its probability is 0.
    """

    token_counts: Tensor
    parents: Tensor
    bits: Tensor

    def __init__(self, vocab_size: int, hidden_size: int):
        super().__init__()
        parents, bits = balanced_tree(vocab_size)
        self.weight = nn.Parameter(torch.zeros(vocab_size - 1, hidden_size))
        self.register_buffer("token_counts", torch.zeros(vocab_size, dtype=torch.long))
        self.register_buffer("parents", parents)
        self.register_buffer("bits", bits)

    def draw_weights(self) -> None:
        """Start with zeros, without counts, and with the tree of equally frequent words."""
        init.zeros_(self.weight)
        init.zeros_(self.token_counts)
        for buffer, values in zip((self.parents, self.bits), balanced_tree(len(self.token_counts)), strict=True):
            init.copy_(buffer, values)

    @torch.no_grad()
    def set_token_counts(self, counts: Tensor) -> None:
        """Build the tree for these numbers of occurrences, (vocab,)."""
        self.token_counts.copy_(counts)
        for buffer, values in zip((self.parents, self.bits), huffman_tree(counts.tolist()), strict=True):
            buffer.copy_(values)

    def paths(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """The inner nodes between the words (n,) and the root, the root last, and the bits chosen at them.

        Returns:
            (n, longest path) rows of `weight`, -1 after the root; and the bits, 0 there.
        """
        node, nodes, bits = words, [], []
        while (self.parents[node] >= 0).any():
            parent, bit = self.parents[node], self.bits[node]
            nodes.append(torch.where(parent < 0, -1, parent - len(self.token_counts)))
            bits.append(bit)
            node = torch.where(parent < 0, node, parent)
        if not nodes:
            return words.new_full((len(words), 0), -1), words.new_zeros(len(words), 0)
        return torch.stack(nodes, 1), torch.stack(bits, 1)

    def forward(self, hidden: Tensor, targets: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return -ln P(target | h) of each pair; arguments and result are `NegativeSampling`'s. Nothing is drawn."""
        nodes, bits = self.paths(targets)
        scores = at_least_float32(torch.einsum("pd,pnd->pn", hidden, F.embedding(nodes.clamp(min=0), self.weight)))
        choices = F.softplus(torch.where(bits == 0, -scores, scores)).where(nodes >= 0, 0.0)
        in_tree = (self.parents[targets] >= 0) | (len(self.token_counts) == 1)
        return choices.sum(1).where(in_tree, torch.inf)
