# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Elman networks, GRUs and LSTMs, their language model, classifier and tagger."""

from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

from hf_lecture_models.io.registration import register
from hf_lecture_models.models.recurrent.configuration_recurrent import RecurrentConfig
from hf_lecture_models.models.recurrent.modeling_recurrent import (
    RecurrentForCausalLM,
    RecurrentForSequenceClassification,
    RecurrentForTokenClassification,
    RecurrentModel,
)

register(
    RecurrentConfig,
    [
        (AutoModel, RecurrentModel),
        (AutoModelForCausalLM, RecurrentForCausalLM),
        (AutoModelForSequenceClassification, RecurrentForSequenceClassification),
        (AutoModelForTokenClassification, RecurrentForTokenClassification),
    ],
)

__all__ = [
    "RecurrentConfig",
    "RecurrentForCausalLM",
    "RecurrentForSequenceClassification",
    "RecurrentForTokenClassification",
    "RecurrentModel",
]
