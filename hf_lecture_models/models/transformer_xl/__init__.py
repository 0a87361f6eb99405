# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Transformer-XL and its language model; published `transfo-xl` checkpoints load as they are."""

from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

from hf_lecture_models.io.registration import expose, register
from hf_lecture_models.models.transformer_xl.configuration_transformer_xl import TransfoXLConfig
from hf_lecture_models.models.transformer_xl.conversion_transformer_xl import official_weights
from hf_lecture_models.models.transformer_xl.modeling_transformer_xl import (
    TransfoXLLMHeadModel,
    TransfoXLModel,
    TransfoXLPreTrainedModel,
)
from hf_lecture_models.models.transformer_xl.tokenization_transformer_xl import TransfoXLTokenizer

register(
    TransfoXLConfig,
    [(AutoModel, TransfoXLModel), (AutoModelForCausalLM, TransfoXLLMHeadModel)],
    {"c_attn": "q_proj", "mlp.c_proj": "down_proj", "ln_1": "attention_norm", "ln_2": "ffn_norm"},
    official_weights,
)
# By the class that old folders name, and where they name none by the model type.
expose(TransfoXLTokenizer)
AutoTokenizer.register(TransfoXLConfig, TransfoXLTokenizer)

__all__ = ["TransfoXLConfig", "TransfoXLLMHeadModel", "TransfoXLModel", "TransfoXLPreTrainedModel"]
