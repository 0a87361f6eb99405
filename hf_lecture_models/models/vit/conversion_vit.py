# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The weights of `vit` checkpoints under our names, with and without the prefix `vit.`, in both layouts that there are.

Published files have the names of old versions of transformers (`encoder.layer.0.attention.attention.query`), which
version 5 writes too, although its own modules have new ones (`layers.0.attention.q_proj`). Queries, keys and values are
matrices of their own in both, and one below the other here.
"""

from hf_lecture_models.io.compat import (
    Concatenate,
    WeightConverter,
    WeightRenaming,
    register_checkpoint_conversion_mapping,
)

_NAMES = {
    r"^vit\.": "model.",
    r"\.patch_embeddings\.projection\.": ".embed_patches.",
    r"^embeddings\.patch_embeddings\.projection\.": "embeddings.embed_patches.",
    r"(^|\.)encoder\.layer\.": r"\1layers.",
    r"\.attention\.attention\.query\.": ".attention.q_proj.",
    r"\.attention\.attention\.key\.": ".attention.k_proj.",
    r"\.attention\.attention\.value\.": ".attention.v_proj.",
    r"\.attention\.output\.dense\.": ".self_attn.o_proj.",
    r"\.attention\.o_proj\.": ".self_attn.o_proj.",
    r"\.intermediate\.dense\.": ".ffn.up_proj.",
    r"\.mlp\.fc1\.": ".ffn.up_proj.",
    # Behind attention's own, which ends alike.
    r"\.output\.dense\.": ".ffn.down_proj.",
    r"\.mlp\.fc2\.": ".ffn.down_proj.",
    r"\.layernorm_before\.": ".attention_norm.",
    r"\.layernorm_after\.": ".ffn_norm.",
    r"(^|\.)layernorm\.": r"\1norm.",
    r"(^|\.)pooler\.dense\.": r"\1pooler.",
}


def official_weights() -> list[WeightConverter | WeightRenaming]:
    """Renamings and concatenations from a `vit` checkpoint; names of our own pass through unchanged."""
    mapping: list[WeightConverter | WeightRenaming] = [WeightRenaming(theirs, ours) for theirs, ours in _NAMES.items()]
    for kind in ("weight", "bias"):
        apart = [f".attention.{name}_proj.{kind}" for name in "qkv"]
        mapping.append(WeightConverter(apart, f".self_attn.qkv_proj.{kind}", operations=[Concatenate(dim=0)]))
    return mapping


def register_official_weights(model_class: type) -> None:
    """Let `model_class.from_pretrained` read official checkpoints.

    By the name of the class: a mapping by model type would be looked up under the checkpoint's own, and not be found.
    """
    # Overwrite: pytest, told to collect this folder alone, imports the module a second time.
    register_checkpoint_conversion_mapping(model_class.__name__, official_weights(), overwrite=True)
