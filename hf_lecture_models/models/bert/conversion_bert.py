# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The weights of `bert` checkpoints under our names, with and without the prefix `bert.`.

Queries, keys and values are matrices of their own there, and one below the other here. Layer norms of the first
checkpoints call their parameters `gamma` and `beta`.
"""

from hf_lecture_models.io.compat import (
    Concatenate,
    WeightConverter,
    WeightRenaming,
    register_checkpoint_conversion_mapping,
)

_NAMES = {
    r"LayerNorm\.gamma$": "LayerNorm.weight",
    r"LayerNorm\.beta$": "LayerNorm.bias",
    r"^bert\.": "model.",
    r"(^|\.)embeddings\.word_embeddings\.": r"\1embed_tokens.",
    r"(^|\.)embeddings\.position_embeddings\.": r"\1embed_positions.",
    r"(^|\.)embeddings\.token_type_embeddings\.": r"\1embed_types.",
    r"(^|\.)embeddings\.LayerNorm\.": r"\1embedding_norm.",
    r"(^|\.)encoder\.layer\.": r"\1layers.",
    r"\.attention\.output\.dense\.": ".self_attn.o_proj.",
    r"\.attention\.output\.LayerNorm\.": ".attention_norm.",
    r"\.intermediate\.dense\.": ".ffn.up_proj.",
    # Behind attention's own, which end alike.
    r"\.output\.dense\.": ".ffn.down_proj.",
    r"\.output\.LayerNorm\.": ".ffn_norm.",
    r"(^|\.)pooler\.dense\.": r"\1pooler.",
    r"^cls\.predictions\.transform\.dense\.": "transform.dense.",
    r"^cls\.predictions\.transform\.LayerNorm\.": "transform.norm.",
    r"^cls\.predictions\.bias$": "lm_head.bias",
    r"^cls\.predictions\.decoder\.weight$": "lm_head.weight",
    r"^cls\.seq_relationship\.": "seq_relationship.",
}


def official_weights() -> list[WeightConverter | WeightRenaming]:
    """Renamings and concatenations from a `bert` checkpoint; names of our own pass through unchanged."""
    mapping: list[WeightConverter | WeightRenaming] = [WeightRenaming(theirs, ours) for theirs, ours in _NAMES.items()]
    for kind in ("weight", "bias"):
        apart = [f".attention.self.{name}.{kind}" for name in ("query", "key", "value")]
        mapping.append(WeightConverter(apart, f".self_attn.qkv_proj.{kind}", operations=[Concatenate(dim=0)]))
    return mapping


def register_official_weights(model_class: type) -> None:
    """Let `model_class.from_pretrained` read official checkpoints.

    By the name of the class: a mapping by model type would be looked up under the checkpoint's own, and not be found.
    """
    # Overwrite: pytest, told to collect this folder alone, imports the module a second time.
    register_checkpoint_conversion_mapping(model_class.__name__, official_weights(), overwrite=True)
