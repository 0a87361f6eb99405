# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The weights of `openai-gpt` checkpoints under our names, with and without the prefix `transformer.`.

Their linear maps are stored transposed (input width × output width). The fused projection holds q, k, v side by side,
as ours does.
"""

from hf_lecture_models.io.compat_files import Transpose, WeightConverter, WeightRenaming
from hf_lecture_models.io.official_weights import weight_conversions

_LINEAR = {
    "attn.c_attn": "self_attn.qkv_proj",
    "attn.c_proj": "self_attn.o_proj",
    "mlp.c_fc": "ffn.up_proj",
    "mlp.c_proj": "ffn.down_proj",
}
_NAMES = {
    r"^transformer\.": "model.",
    r"(^|\.)tokens_embed\.": r"\1embed_tokens.",
    r"(^|\.)positions_embed\.": r"\1embed_positions.",
    # Followed by a block's number: nothing of ours is called so.
    r"(^|\.)h\.(?=\d)": r"\1layers.",
    r"\.ln_1\.": ".attention_norm.",
    r"\.ln_2\.": ".ffn_norm.",
    # The heads of OpenAIGPTForSequenceClassification, which has no bias, and of OpenAIGPTDoubleHeadsModel.
    r"^score\.": "classifier.",
    r"^multiple_choice_head\.summary\.": "classifier.",
}


def official_weights() -> list[WeightConverter | WeightRenaming]:
    """Return the conversions from an `openai-gpt` checkpoint."""
    mapping = weight_conversions(_NAMES | {rf"\.{theirs}\.bias$": f".{ours}.bias" for theirs, ours in _LINEAR.items()})
    for theirs, ours in _LINEAR.items():
        mapping.append(WeightConverter(f".{theirs}.weight", f".{ours}.weight", operations=[Transpose(0, 1)]))
    return mapping
