# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The weights of `transfo-xl` checkpoints under our names, with and without the prefix `transformer.`.

One matrix holds q, k and v. A matrix of the input's or the output's has the number of its cluster of words.
"""

from hf_lecture_models.io.compat_files import Chunk, WeightConverter, WeightRenaming
from hf_lecture_models.io.official_weights import weight_conversions

_NAMES = {
    r"^transformer\.": "model.",
    r"word_emb\.emb_layers\.": "embed_tokens.vectors.",
    r"word_emb\.emb_projs\.(\d+)$": r"embed_tokens.projections.\1.weight",
    r"layers\.(?=\d+\.dec_attn\.r_[rw]_bias$)": "score_biases.",
    r"\.dec_attn\.r_w_bias$": ".content",
    r"\.dec_attn\.r_r_bias$": ".position",
    r"\.dec_attn\.layer_norm\.": ".attention_norm.",
    r"\.dec_attn\.r_net\.": ".self_attn.r_proj.",
    r"\.dec_attn\.o_net\.": ".self_attn.o_proj.",
    r"\.pos_ff\.layer_norm\.": ".ffn_norm.",
    r"\.pos_ff\.CoreNet\.0\.": ".ffn.up_proj.",
    r"\.pos_ff\.CoreNet\.3\.": ".ffn.down_proj.",
    r"^crit\.out_layers\.": "lm_head.words.",
    r"^crit\.out_projs\.(\d+)$": r"lm_head.projections.\1.weight",
    r"^crit\.cluster_(weight|bias)$": r"lm_head.clusters.\1",
}


def official_weights() -> list[WeightConverter | WeightRenaming]:
    """Return the conversions from a `transfo-xl` checkpoint."""
    parts = [f".self_attn.{name}_proj.weight" for name in "qkv"]
    return [*weight_conversions(_NAMES), WeightConverter(".dec_attn.qkv_net.weight", parts, operations=[Chunk(0)])]
