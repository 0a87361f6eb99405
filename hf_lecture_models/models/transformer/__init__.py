# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The Transformer of Vaswani et al. and its model for translation; official `marian` checkpoints load as they are."""

from transformers import AutoModel, AutoModelForSeq2SeqLM

from hf_lecture_models.io.optional_packages import TRANSFORMER_TARGETS
from hf_lecture_models.io.registration import register
from hf_lecture_models.models.transformer.configuration_transformer import LectureTransformerConfig
from hf_lecture_models.models.transformer.conversion_transformer import official_weights
from hf_lecture_models.models.transformer.modeling_transformer import (
    LectureTransformerForConditionalGeneration,
    LectureTransformerModel,
)
from hf_lecture_models.models.transformer.modeling_transformer_stacks import LectureTransformerPreTrainedModel

register(
    LectureTransformerConfig,
    [
        (AutoModel, LectureTransformerModel),
        (AutoModelForSeq2SeqLM, LectureTransformerForConditionalGeneration),
    ],
    TRANSFORMER_TARGETS,
    official_weights,
)

__all__ = [
    "LectureTransformerConfig",
    "LectureTransformerForConditionalGeneration",
    "LectureTransformerModel",
    "LectureTransformerPreTrainedModel",
]
