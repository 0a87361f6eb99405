# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The n-gram language model."""

from transformers import AutoModelForCausalLM

from hf_lecture_models.base.registration import register
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.estimation_ngram import fit
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM

__all__ = ["NGramConfig", "NGramForCausalLM"]

# What only the package can do does not travel with the model's code to the Hub.
setattr(NGramForCausalLM, "fit", classmethod(fit))  # noqa: B010 an assignment would hide the signature from type checkers

register(NGramConfig, [(AutoModelForCausalLM, NGramForCausalLM)])
