# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The weights of `bert` checkpoints under our names, with and without the prefix `bert.`.

Queries, keys and values are matrices of their own there, and one below the other here. Layer norms of the first
checkpoints call their parameters `gamma` and `beta`.
"""

from hf_lecture_models.io.compat_files import WeightConverter, WeightRenaming
from hf_lecture_models.io.official_weights import weight_conversions

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
    # After attention's own, which end alike.
    r"\.output\.dense\.": ".ffn.down_proj.",
    r"\.output\.LayerNorm\.": ".ffn_norm.",
    r"(^|\.)pooler\.dense\.": r"\1pooler.",
    r"^cls\.predictions\.transform\.dense\.": "transform.dense.",
    r"^cls\.predictions\.transform\.LayerNorm\.": "transform.norm.",
    r"^cls\.predictions\.bias$": "lm_head.bias",
    r"^cls\.predictions\.decoder\.weight$": "lm_head.weight",
    r"^cls\.seq_relationship\.": "seq_relationship.",
}
_JOINED = {".self_attn.qkv_proj": [f".attention.self.{name}" for name in ("query", "key", "value")]}


def official_weights() -> list[WeightConverter | WeightRenaming]:
    """Return the conversions from a `bert` checkpoint."""
    return weight_conversions(_NAMES, _JOINED)
