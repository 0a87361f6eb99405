# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""BERT with the heads of its pre-training and fine-tuning; official `bert` checkpoints load as they are."""

from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForMultipleChoice,
    AutoModelForNextSentencePrediction,
    AutoModelForPreTraining,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

from hf_lecture_models.io.registration import register
from hf_lecture_models.models.bert.configuration_bert import LectureBertConfig
from hf_lecture_models.models.bert.conversion_bert import register_official_weights
from hf_lecture_models.models.bert.modeling_bert import (
    LectureBertForMaskedLM,
    LectureBertForMultipleChoice,
    LectureBertForNextSentencePrediction,
    LectureBertForPreTraining,
    LectureBertForQuestionAnswering,
    LectureBertForSequenceClassification,
    LectureBertForTokenClassification,
    LectureBertModel,
    LectureBertPreTrainedModel,
)

_MODELS = [
    (AutoModel, LectureBertModel),
    (AutoModelForPreTraining, LectureBertForPreTraining),
    (AutoModelForMaskedLM, LectureBertForMaskedLM),
    (AutoModelForNextSentencePrediction, LectureBertForNextSentencePrediction),
    (AutoModelForSequenceClassification, LectureBertForSequenceClassification),
    (AutoModelForTokenClassification, LectureBertForTokenClassification),
    (AutoModelForQuestionAnswering, LectureBertForQuestionAnswering),
    (AutoModelForMultipleChoice, LectureBertForMultipleChoice),
]

register(
    LectureBertConfig,
    _MODELS,
    adapters={"c_attn": "qkv_proj", "mlp.c_proj": "down_proj", "ln_1": "attention_norm", "ln_2": "ffn_norm"},
)
for _, model_class in _MODELS:
    register_official_weights(model_class)

__all__ = [
    "LectureBertConfig",
    "LectureBertForMaskedLM",
    "LectureBertForMultipleChoice",
    "LectureBertForNextSentencePrediction",
    "LectureBertForPreTraining",
    "LectureBertForQuestionAnswering",
    "LectureBertForSequenceClassification",
    "LectureBertForTokenClassification",
    "LectureBertModel",
    "LectureBertPreTrainedModel",
]
