# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Transformers with efficient attention: local, random, hierarchical, low-rank, linear, Performer's, by hashing."""

from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM

from hf_lecture_models.io.optional_packages import TRANSFORMER_TARGETS
from hf_lecture_models.io.registration import register
from hf_lecture_models.models.efficient_transformer.configuration_efficient_transformer import (
    EfficientTransformerConfig,
)
from hf_lecture_models.models.efficient_transformer.modeling_efficient_transformer import (
    EfficientTransformerForCausalLM,
    EfficientTransformerForMaskedLM,
    EfficientTransformerModel,
    EfficientTransformerPreTrainedModel,
)

register(
    EfficientTransformerConfig,
    [
        (AutoModel, EfficientTransformerModel),
        (AutoModelForCausalLM, EfficientTransformerForCausalLM),
        (AutoModelForMaskedLM, EfficientTransformerForMaskedLM),
    ],
    TRANSFORMER_TARGETS,
)

__all__ = [
    "EfficientTransformerConfig",
    "EfficientTransformerForCausalLM",
    "EfficientTransformerForMaskedLM",
    "EfficientTransformerModel",
    "EfficientTransformerPreTrainedModel",
]
