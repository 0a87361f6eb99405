# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The self-attention language model: positions, place of the norms and prediction as the slides vary them."""

from transformers import AutoModel, AutoModelForCausalLM

from hf_lecture_models.io.registration import register
from hf_lecture_models.models.self_attention.configuration_self_attention import SelfAttentionConfig
from hf_lecture_models.models.self_attention.modeling_self_attention import (
    SelfAttentionForCausalLM,
    SelfAttentionModel,
    SelfAttentionPreTrainedModel,
)

register(
    SelfAttentionConfig,
    [(AutoModel, SelfAttentionModel), (AutoModelForCausalLM, SelfAttentionForCausalLM)],
    # Not the final norm: with post-LN there is none.
    adapters={"c_attn": "qkv_proj", "mlp.c_proj": "down_proj", "ln_1": "attention_norm", "ln_2": "ffn_norm"},
)

__all__ = ["SelfAttentionConfig", "SelfAttentionForCausalLM", "SelfAttentionModel", "SelfAttentionPreTrainedModel"]
