# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The n-gram language model."""

from transformers import AutoModelForCausalLM

from hf_lecture_models.io.registration import attach, register
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM

__all__ = ["NGramConfig", "NGramForCausalLM"]

attach(NGramForCausalLM, f"{__name__}.estimation_ngram", ["fit"])
attach(NGramForCausalLM, f"{__name__}.conversion_ngram", ["from_arpa", "from_kenlm"], ["save_arpa"])
attach(NGramForCausalLM, f"{__name__}.interpolation_ngram", ["interpolate"])
register(NGramConfig, [(AutoModelForCausalLM, NGramForCausalLM)])
