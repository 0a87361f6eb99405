# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The bag of words: texts classified by the words in them, in no order."""

from transformers import AutoModel, AutoModelForSequenceClassification

from hf_lecture_models.io.registration import register
from hf_lecture_models.models.bag_of_words.configuration_bag_of_words import BagOfWordsConfig
from hf_lecture_models.models.bag_of_words.modeling_bag_of_words import (
    BagOfWordsForSequenceClassification,
    BagOfWordsModel,
)

register(
    BagOfWordsConfig,
    [(AutoModel, BagOfWordsModel), (AutoModelForSequenceClassification, BagOfWordsForSequenceClassification)],
)

__all__ = ["BagOfWordsConfig", "BagOfWordsForSequenceClassification", "BagOfWordsModel"]
