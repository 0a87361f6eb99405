# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models that lack a part: norms, residual connections, the scale of the scores, or the features of ELMo.

No configuration can leave these parts out, so a model is changed after it was made. It keeps all weights, those of the
norms too, though it does not use them, so that it is saved and loaded like any other.
"""

from typing import Any

from torch import Tensor, nn
from transformers.cache_utils import Cache

from hf_lecture_models.layers.attention import AttentionKernel, MultiHeadAttention
from hf_lecture_models.layers.layer_mix import SoftmaxLayerMix
from hf_lecture_models.models.self_attention.modeling_self_attention import PreNormBlock

PARTS = ("norms", "residuals", "scale", "features")


class _NoNorm(nn.LayerNorm):
    """LN(x) = x."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x, (..., width)."""
        return x


class _BlockWithoutResiduals(PreNormBlock):
    """n = Attention(LN_1(h)); h' = FFN(LN_2(n))."""

    def forward(self, hidden: Tensor, attention: AttentionKernel, layer_past: Cache | None = None) -> Tensor:
        """Return the next state, (batch, seq, hidden)."""
        attended, _ = self.self_attn(self.attention_norm(hidden), attention, layer_past)
        return self.dropout(self.ffn(self.ffn_norm(self.dropout(attended))))


def leave_out(model: Any, part: str) -> None:
    """Leave a part out of a model.

    Pre-LN blocks may lack "norms", "residuals", or "scale", the division by √head_dim. A reader of ELMo's "features"
    gets zeros in their place: γ is 0 and is not trained.

    Raises:
        ValueError: there is no such part, or the model does not have it.
    """
    if part not in PARTS:
        raise ValueError(f"no model without {part!r} can be made; the parts are {', '.join(PARTS)}")
    kinds: dict[str, type[nn.Module]] = {
        "norms": nn.LayerNorm,
        "residuals": PreNormBlock,
        "scale": MultiHeadAttention,
        "features": SoftmaxLayerMix,
    }
    found: list[Any] = [module for module in model.modules() if isinstance(module, kinds[part])]
    if not found:
        raise ValueError(f"{type(model).__name__} has no {kinds[part].__name__}, so {part} cannot be left out")
    for module in found:
        if part == "scale":
            module.scaling = 1.0
        elif part == "features":
            nn.init.zeros_(module.gamma)
            module.gamma.requires_grad_(False)
        else:
            module.__class__ = _NoNorm if part == "norms" else _BlockWithoutResiduals
