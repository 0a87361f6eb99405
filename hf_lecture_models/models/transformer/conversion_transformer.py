# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The weights of `marian` checkpoints under our names.

Queries, keys and values are matrices of their own there, and one below the other here. The bias of the output layer is
a row there, `final_logits_bias`. Their sinusoids are computed here.
"""

from typing import Any

from torch import Tensor

from hf_lecture_models.io.compat import (
    Concatenate,
    ConversionOps,
    WeightConverter,
    WeightRenaming,
    register_checkpoint_conversion_mapping,
)

_NAMES = {
    r"(^|\.)shared\.": r"\1encoder.embed_tokens.",
    r"\.self_attn\.out_proj\.": ".self_attn.o_proj.",
    r"\.self_attn_layer_norm\.": ".attention_norm.",
    r"\.encoder_attn\.out_proj\.": ".cross_attn.o_proj.",
    r"\.encoder_attn_layer_norm\.": ".cross_attention_norm.",
    # Behind the output's, whose names are changed already.
    r"\.encoder_attn\.": ".cross_attn.",
    r"\.fc1\.": ".ffn.up_proj.",
    r"\.fc2\.": ".ffn.down_proj.",
    r"\.final_layer_norm\.": ".ffn_norm.",
}
_JOINED = {"self_attn.qkv_proj": ("q_proj", "k_proj", "v_proj"), "cross_attn.kv_proj": ("k_proj", "v_proj")}


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
    """Renamings and concatenations from a `marian` checkpoint; names of our own pass through unchanged."""
    mapping: list[WeightConverter | WeightRenaming] = [WeightRenaming(theirs, ours) for theirs, ours in _NAMES.items()]
    for ours, parts in _JOINED.items():
        layer = ours.partition(".")[0]
        for kind in ("weight", "bias"):
            apart = [f".{layer}.{part}.{kind}" for part in parts]
            mapping.append(WeightConverter(apart, f".{ours}.{kind}", operations=[Concatenate(dim=0)]))
    mapping.append(WeightConverter("final_logits_bias", "lm_head.bias", operations=[OnlyRow()]))
    return mapping


def register_official_weights(model_class: type) -> None:
    """Let `model_class.from_pretrained` read official checkpoints.

    By the name of the class: a mapping by model type would be looked up under the checkpoint's own, and not be found.
    """
    # Overwrite: pytest, told to collect this folder alone, imports the module a second time.
    register_checkpoint_conversion_mapping(model_class.__name__, official_weights(), overwrite=True)
