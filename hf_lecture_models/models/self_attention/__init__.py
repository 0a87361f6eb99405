# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The self-attention language model: positions, place of the norms and prediction as the slides vary them."""

from transformers import AutoModel, AutoModelForCausalLM

from hf_lecture_models.io.optional_packages import TRANSFORMER_TARGETS
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
    TRANSFORMER_TARGETS,
)

__all__ = ["SelfAttentionConfig", "SelfAttentionForCausalLM", "SelfAttentionModel", "SelfAttentionPreTrainedModel"]
