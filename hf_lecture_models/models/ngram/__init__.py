# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The n-gram language model."""

from transformers import AutoModelForCausalLM

from hf_lecture_models.io.registration import attach, register
from hf_lecture_models.layers.ngram_index import find_indexed
from hf_lecture_models.layers.ngram_trie import NGramTrie
from hf_lecture_models.models.ngram.checks_ngram import (
    ALLOWED_VALUES,
    LARGEST_VALUES,
    POSITIVE_FIELDS,
    broken_rule,
    check_fields,
    ngram_counts,
)
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM

__all__ = ["NGramConfig", "NGramForCausalLM"]

# What only the package can do does not travel with the model's code to the Hub.
setattr(NGramConfig, "check_fields", check_fields)  # noqa: B010
setattr(NGramConfig, "_broken_rule", broken_rule)  # noqa: B010
NGramConfig.allowed_values, NGramConfig.positive_fields = ALLOWED_VALUES, POSITIVE_FIELDS
NGramConfig.largest_values = LARGEST_VALUES
setattr(NGramConfig, "ngram_counts", property(ngram_counts))  # noqa: B010
setattr(NGramForCausalLM, "no_output_matrix", "it has no weights; estimate it with NGramForCausalLM.fit")  # noqa: B010
setattr(NGramTrie, "find", find_indexed)  # noqa: B010
attach(NGramForCausalLM, f"{__name__}.fitting_ngram", ["fit"])
attach(NGramForCausalLM, f"{__name__}.conversion_ngram", ["from_arpa", "from_kenlm"], ["save_arpa"])
attach(NGramForCausalLM, f"{__name__}.interpolation_ngram", ["interpolate"])
attach(
    NGramForCausalLM,
    f"{__name__}.tables_ngram",
    ["from_pretrained", "from_tables"],
    ["quantise", "score_joined", "tables", "word_classes"],
)
attach(NGramForCausalLM, f"{__name__}.tools.vocabulary", methods=["cut", "extend"])
register(NGramConfig, [(AutoModelForCausalLM, NGramForCausalLM)])
