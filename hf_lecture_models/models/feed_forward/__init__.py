# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Bengio's feed-forward language model."""

from transformers import AutoModel, AutoModelForCausalLM

from hf_lecture_models.io.registration import register
from hf_lecture_models.models.feed_forward.configuration_feed_forward import FeedForwardConfig
from hf_lecture_models.models.feed_forward.modeling_feed_forward import FeedForwardForCausalLM, FeedForwardModel

register(
    FeedForwardConfig,
    [(AutoModel, FeedForwardModel), (AutoModelForCausalLM, FeedForwardForCausalLM)],
    adapters={"c_attn": "hidden_layer", "mlp.c_proj": "hidden_layer"},
)

__all__ = ["FeedForwardConfig", "FeedForwardForCausalLM", "FeedForwardModel"]
