# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The weights of `vit` checkpoints under our names, with and without the prefix `vit.`, in both layouts that there are.

Published files have the names of old versions of transformers (`encoder.layer.0.attention.attention.query`), which
version 5 writes too, although its own modules have new ones (`layers.0.attention.q_proj`). Queries, keys and values are
matrices of their own in both, and one below the other here.
"""

from hf_lecture_models.io.compat_files import WeightConverter, WeightRenaming
from hf_lecture_models.io.official_weights import weight_conversions

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
    # After attention's own, which ends alike.
    r"\.output\.dense\.": ".ffn.down_proj.",
    r"\.mlp\.fc2\.": ".ffn.down_proj.",
    r"\.layernorm_before\.": ".attention_norm.",
    r"\.layernorm_after\.": ".ffn_norm.",
    r"(^|\.)layernorm\.": r"\1norm.",
    r"(^|\.)pooler\.dense\.": r"\1pooler.",
}
_JOINED = {".self_attn.qkv_proj": [f".attention.{name}_proj" for name in "qkv"]}


def official_weights() -> list[WeightConverter | WeightRenaming]:
    """Return the conversions from a `vit` checkpoint."""
    return weight_conversions(_NAMES, _JOINED)
