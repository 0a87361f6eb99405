# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The weights of `openai-gpt` checkpoints under our names, with and without the prefix `transformer.`.

Their linear maps are stored transposed (input width × output width). The fused projection holds q, k, v side by side,
as ours does.
"""

from hf_lecture_models.io.compat import (
    Transpose,
    WeightConverter,
    WeightRenaming,
    register_checkpoint_conversion_mapping,
)

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
    """Renamings and transpositions from an `openai-gpt` checkpoint; names of our own pass through unchanged."""
    mapping: list[WeightConverter | WeightRenaming] = [WeightRenaming(theirs, ours) for theirs, ours in _NAMES.items()]
    for theirs, ours in _LINEAR.items():
        mapping.append(WeightRenaming(rf"\.{theirs}\.bias$", f".{ours}.bias"))
        mapping.append(WeightConverter(f".{theirs}.weight", f".{ours}.weight", operations=[Transpose(0, 1)]))
    return mapping


def register_official_weights(model_class: type) -> None:
    """Let `model_class.from_pretrained` read official checkpoints.

    By the name of the class: a mapping by model type would be looked up under the checkpoint's own, and not be found.
    """
    # Overwrite: pytest, told to collect this folder alone, imports the module a second time.
    register_checkpoint_conversion_mapping(model_class.__name__, official_weights(), overwrite=True)
