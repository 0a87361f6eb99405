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

from hf_lecture_models.io.optional_packages import TRANSFORMER_TARGETS
from hf_lecture_models.io.registration import register
from hf_lecture_models.models.bert.configuration_bert import LectureBertConfig
from hf_lecture_models.models.bert.conversion_bert import official_weights
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

register(
    LectureBertConfig,
    [
        (AutoModel, LectureBertModel),
        (AutoModelForPreTraining, LectureBertForPreTraining),
        (AutoModelForMaskedLM, LectureBertForMaskedLM),
        (AutoModelForNextSentencePrediction, LectureBertForNextSentencePrediction),
        (AutoModelForSequenceClassification, LectureBertForSequenceClassification),
        (AutoModelForTokenClassification, LectureBertForTokenClassification),
        (AutoModelForQuestionAnswering, LectureBertForQuestionAnswering),
        (AutoModelForMultipleChoice, LectureBertForMultipleChoice),
    ],
    TRANSFORMER_TARGETS,
    official_weights,
)

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
