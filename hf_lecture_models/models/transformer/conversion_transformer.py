# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The weights of `marian` checkpoints under our names.

Queries, keys and values are matrices of their own there, and one below the other here. The bias of the output layer is
a row there, `final_logits_bias`. Their sinusoids are computed here.
"""

from typing import Any

from torch import Tensor

from hf_lecture_models.io.compat_files import ConversionOps, WeightConverter, WeightRenaming
from hf_lecture_models.io.official_weights import weight_conversions

_NAMES = {
    r"(^|\.)shared\.": r"\1encoder.embed_tokens.",
    r"\.self_attn\.out_proj\.": ".self_attn.o_proj.",
    r"\.self_attn_layer_norm\.": ".attention_norm.",
    r"\.encoder_attn\.out_proj\.": ".cross_attn.o_proj.",
    r"\.encoder_attn_layer_norm\.": ".cross_attention_norm.",
    # After the output's, whose names are changed already.
    r"\.encoder_attn\.": ".cross_attn.",
    r"\.fc1\.": ".ffn.up_proj.",
    r"\.fc2\.": ".ffn.down_proj.",
    r"\.final_layer_norm\.": ".ffn_norm.",
}
_JOINED = {
    ".self_attn.qkv_proj": [f".self_attn.{name}_proj" for name in "qkv"],
    ".cross_attn.kv_proj": [f".cross_attn.{name}_proj" for name in "kv"],
}


class OnlyRow(ConversionOps):
    """(1, vocab) to (vocab,)."""

    def convert(  # type: ignore[override]  # as transformers' own of this kind
        self, input_dict: dict[str, Any], source_patterns: list[str], target_patterns: list[str], **kwargs: Any
    ) -> dict[str, Tensor]:
        """The one tensor given, under the one name asked for."""
        (given,) = input_dict.values()
        row = given[0] if isinstance(given, list) else given
        return {target_patterns[0]: row.flatten()}


def official_weights() -> list[WeightConverter | WeightRenaming]:
    """Return the conversions from a `marian` checkpoint."""
    bias = WeightConverter("final_logits_bias", "lm_head.bias", operations=[OnlyRow()])
    return [*weight_conversions(_NAMES, _JOINED), bias]
