# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""ELMo, its pre-training and heads; AllenNLP's files load by `ElmoModel.from_allennlp`."""

from transformers import (
    AutoModel,
    AutoModelForPreTraining,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

from hf_lecture_models.io.registration import attach, register
from hf_lecture_models.models.elmo.configuration_elmo import ElmoConfig
from hf_lecture_models.models.elmo.modeling_elmo import ElmoForPreTraining, ElmoModel
from hf_lecture_models.models.elmo.modeling_elmo_tasks import (
    ElmoForQuestionAnswering,
    ElmoForSequenceClassification,
    ElmoForTokenClassification,
)

attach(ElmoModel, f"{__name__}.conversion_elmo", ["from_allennlp"])

register(
    ElmoConfig,
    [
        (AutoModel, ElmoModel),
        (AutoModelForPreTraining, ElmoForPreTraining),
        (AutoModelForSequenceClassification, ElmoForSequenceClassification),
        (AutoModelForTokenClassification, ElmoForTokenClassification),
        (AutoModelForQuestionAnswering, ElmoForQuestionAnswering),
    ],
)

__all__ = [
    "ElmoConfig",
    "ElmoForPreTraining",
    "ElmoForQuestionAnswering",
    "ElmoForSequenceClassification",
    "ElmoForTokenClassification",
    "ElmoModel",
]
