# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""GPT-1, its language model and its heads for other tasks; official `openai-gpt` checkpoints load as they are."""

from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMultipleChoice, AutoModelForSequenceClassification

from hf_lecture_models.io.optional_packages import TRANSFORMER_TARGETS
from hf_lecture_models.io.registration import attach, register
from hf_lecture_models.models.gpt1.configuration_gpt1 import Gpt1Config
from hf_lecture_models.models.gpt1.conversion_gpt1 import official_weights
from hf_lecture_models.models.gpt1.modeling_gpt1 import (
    Gpt1ForCausalLM,
    Gpt1ForMultipleChoice,
    Gpt1ForSequenceClassification,
    Gpt1Model,
    Gpt1PreTrainedModel,
)

attach(Gpt1PreTrainedModel, f"{__name__}.example_gpt1", methods=["place_task_tokens"])
register(
    Gpt1Config,
    [
        (AutoModel, Gpt1Model),
        (AutoModelForCausalLM, Gpt1ForCausalLM),
        (AutoModelForSequenceClassification, Gpt1ForSequenceClassification),
        (AutoModelForMultipleChoice, Gpt1ForMultipleChoice),
    ],
    TRANSFORMER_TARGETS,
    official_weights,
)

__all__ = [
    "Gpt1Config",
    "Gpt1ForCausalLM",
    "Gpt1ForMultipleChoice",
    "Gpt1ForSequenceClassification",
    "Gpt1Model",
    "Gpt1PreTrainedModel",
]
