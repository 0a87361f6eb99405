# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Elman networks, GRUs and LSTMs, and their language model."""

from transformers import AutoModel, AutoModelForCausalLM

from hf_lecture_models.io.registration import register
from hf_lecture_models.models.recurrent.configuration_recurrent import RecurrentConfig
from hf_lecture_models.models.recurrent.modeling_recurrent import (
    RecurrentForCausalLM,
    RecurrentModel,
    RecurrentPreTrainedModel,
)

register(RecurrentConfig, [(AutoModel, RecurrentModel), (AutoModelForCausalLM, RecurrentForCausalLM)])

__all__ = ["RecurrentConfig", "RecurrentForCausalLM", "RecurrentModel", "RecurrentPreTrainedModel"]
