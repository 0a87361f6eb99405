# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The Performer's attention: random features whose products are, on average, the softmax's exponentials (slide Y:601).

Choromanski et al., "Rethinking attention with Performers", 2021, lemma 1 and section 2.4. With ω_1 ... ω_m, Gaussian
and orthogonal to each other in groups of head_dim,

    φ(x) = exp(ω_r · x' - |x'|² / 2) / √m,  r = 1 ... m,  x' = x / head_dim^(1/4)
    E[φ(q) · φ(k)] = exp(q · k / √head_dim)

The ω are drawn when the layer is built and saved. Sums and state are those of `layers/linear_attention.py`.
"""

import torch
from torch import Tensor

from hf_lecture_models.layers.drawn_buffers import DrawnBuffers
from hf_lecture_models.layers.linear_attention import AllSums, CausalSums, FeatureAttention


class PerformerAttention(DrawnBuffers, FeatureAttention):
    """The base of the two forms: the features.

    Args:
        hidden_size: width of input and output; `num_heads` must divide it.
        num_heads: heads; all have the same ω.
        num_features: m.
        seed: from which the ω are drawn.
    """

    directions: Tensor

    def __init__(self, hidden_size: int, num_heads: int, num_features: int, seed: int):
        super().__init__(hidden_size, num_heads)
        self.num_features = num_features
        self.register_drawn(seed)

    def drawn_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return that of the ω."""
        return {"directions": (self.num_features, self.head_dim)}

    def draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the ω, (num_features, head_dim)."""
        return {"directions": orthogonal_gaussian(self.num_features, self.head_dim, generator)}

    def features(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return φ(x) exp(-s) and s, the largest exponent of each x."""
        scaled = x * self.head_dim**-0.25
        exponents = scaled @ self.directions.to(x.dtype).T - scaled.square().sum(-1, keepdim=True) / 2
        s = exponents.detach().amax(-1, keepdim=True)
        return (exponents - s).exp() * self.num_features**-0.5, s[..., 0]


def orthogonal_gaussian(rows: int, width: int, generator: torch.Generator) -> Tensor:
    """(rows, width): Gaussian vectors; each group of `width` of them is orthogonal.

    >>> drawn = orthogonal_gaussian(3, 3, torch.Generator().manual_seed(0))
    >>> bool(((drawn @ drawn.T).fill_diagonal_(0).abs() < 1e-5).all())
    True
    """
    groups = []
    for _ in range(-(-rows // width)):
        square = torch.randn(width, width, generator=generator)
        rotation, upper = torch.linalg.qr(square)
        # With these signs, a rotation is uniform; each row then gets the length of a Gaussian vector.
        rotation = rotation * upper.diagonal().sign()
        groups.append(rotation.T * torch.randn(width, width, generator=generator).norm(dim=1, keepdim=True))
    return torch.cat(groups)[:rows]


class BidirectionalPerformerAttention(AllSums, PerformerAttention):
    """The Performer's attention to all tokens."""


class CausalPerformerAttention(CausalSums, PerformerAttention):
    """The Performer's attention to the tokens up to i, with the state S and z."""
