# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A model outside the package, laid out and registered as a user's own would be."""

from transformers import AutoModelForCausalLM

from hf_lecture_models.base.registration import register
from tests.stand_in.modeling_stand_in import StandInCache, StandInConfig, StandInForCausalLM, StandInOutput

__all__ = ["StandInCache", "StandInConfig", "StandInForCausalLM", "StandInOutput"]

register(StandInConfig, [(AutoModelForCausalLM, StandInForCausalLM)])
