# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Texts of unequal length: zero-padded for a multi-layer perceptron, or read by one layer for each word.

The two networks are two model types. They have different fields (a list of widths; one width, and as many layers as
words), and an Auto class knows one class for each model type: with two classes for one type, a new configuration would
silently be built as the first of them.
"""

from transformers import AutoModel, AutoModelForSequenceClassification

from hf_lecture_models.io.registration import register
from hf_lecture_models.models.padded_mlp.configuration_layer_per_input import LayerPerInputConfig
from hf_lecture_models.models.padded_mlp.configuration_padded_mlp import PaddedMlpConfig
from hf_lecture_models.models.padded_mlp.modeling_layer_per_input import (
    LayerPerInputForSequenceClassification,
    LayerPerInputModel,
)
from hf_lecture_models.models.padded_mlp.modeling_padded_mlp import PaddedMlpForSequenceClassification, PaddedMlpModel

register(
    PaddedMlpConfig,
    [(AutoModel, PaddedMlpModel), (AutoModelForSequenceClassification, PaddedMlpForSequenceClassification)],
)
register(
    LayerPerInputConfig,
    [(AutoModel, LayerPerInputModel), (AutoModelForSequenceClassification, LayerPerInputForSequenceClassification)],
)

__all__ = [
    "LayerPerInputConfig",
    "LayerPerInputForSequenceClassification",
    "LayerPerInputModel",
    "PaddedMlpConfig",
    "PaddedMlpForSequenceClassification",
    "PaddedMlpModel",
]
