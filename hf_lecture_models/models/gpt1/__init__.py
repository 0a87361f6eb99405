# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""GPT-1 and its language model; official `openai-gpt` checkpoints load as they are."""

from transformers import AutoModel, AutoModelForCausalLM

from hf_lecture_models.io.registration import register
from hf_lecture_models.models.gpt1.configuration_gpt1 import Gpt1Config
from hf_lecture_models.models.gpt1.conversion_gpt1 import register_official_weights
from hf_lecture_models.models.gpt1.modeling_gpt1 import Gpt1ForCausalLM, Gpt1Model, Gpt1PreTrainedModel

register(
    Gpt1Config,
    [(AutoModel, Gpt1Model), (AutoModelForCausalLM, Gpt1ForCausalLM)],
    adapters={"c_attn": "qkv_proj", "mlp.c_proj": "down_proj", "ln_1": "attention_norm", "ln_2": "ffn_norm"},
)
for model_class in (Gpt1Model, Gpt1ForCausalLM):
    register_official_weights(model_class)

__all__ = ["Gpt1Config", "Gpt1ForCausalLM", "Gpt1Model", "Gpt1PreTrainedModel"]
