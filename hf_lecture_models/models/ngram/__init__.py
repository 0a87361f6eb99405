# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The n-gram language model."""

from transformers import AutoModelForCausalLM

from hf_lecture_models.io.registration import attach, register
from hf_lecture_models.models.ngram.checks_ngram import broken_rule, check_fields
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM

__all__ = ["NGramConfig", "NGramForCausalLM"]

# What only the package can do does not travel with the model's code to the Hub.
NGramConfig.check_fields, NGramConfig._broken_rule = check_fields, broken_rule  # type: ignore[assignment, method-assign]
attach(NGramForCausalLM, f"{__name__}.fitting_ngram", ["fit"])
attach(NGramForCausalLM, f"{__name__}.conversion_ngram", ["from_arpa", "from_kenlm"], ["save_arpa"])
attach(NGramForCausalLM, f"{__name__}.interpolation_ngram", ["interpolate"])
attach(
    NGramForCausalLM,
    f"{__name__}.tables_ngram",
    ["from_pretrained", "from_tables"],
    ["quantise", "tables", "word_classes"],
)
register(NGramConfig, [(AutoModelForCausalLM, NGramForCausalLM)])
