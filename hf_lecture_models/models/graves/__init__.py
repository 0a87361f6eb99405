# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models of sequences of points: Graves' network, and the joint Gaussian of a point and those before it.

They are two model types: an Auto class builds a new model from its configuration, and knows one class for each type.
"""

from transformers import AutoModel

from hf_lecture_models.io.registration import attach, register
from hf_lecture_models.models.graves.configuration_graves import GravesConfig
from hf_lecture_models.models.graves.configuration_joint_gaussian import JointGaussianConfig
from hf_lecture_models.models.graves.modeling_graves import GravesForSequencePrediction
from hf_lecture_models.models.graves.modeling_joint_gaussian import JointGaussianForSequencePrediction

attach(JointGaussianForSequencePrediction, f"{__name__}.estimation_graves", ["fit"])

register(GravesConfig, [(AutoModel, GravesForSequencePrediction)])
register(JointGaussianConfig, [(AutoModel, JointGaussianForSequencePrediction)])

__all__ = [
    "GravesConfig",
    "GravesForSequencePrediction",
    "JointGaussianConfig",
    "JointGaussianForSequencePrediction",
]
