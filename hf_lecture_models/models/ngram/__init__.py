# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The n-gram language model."""

from transformers import AutoModelForCausalLM

from hf_lecture_models.io.registration import register
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.conversion_ngram import from_arpa, from_kenlm, save_arpa
from hf_lecture_models.models.ngram.estimation_ngram import fit
from hf_lecture_models.models.ngram.interpolation_ngram import interpolate
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM

__all__ = ["NGramConfig", "NGramForCausalLM"]

# What only the package can do does not travel with the model's code to the Hub. By setattr: a type checker keeps the
# signatures that the class declares.
setattr(NGramForCausalLM, "fit", classmethod(fit))  # noqa: B010
setattr(NGramForCausalLM, "from_arpa", classmethod(from_arpa))  # noqa: B010
setattr(NGramForCausalLM, "from_kenlm", classmethod(from_kenlm))  # noqa: B010
setattr(NGramForCausalLM, "interpolate", classmethod(interpolate))  # noqa: B010
setattr(NGramForCausalLM, "save_arpa", save_arpa)  # noqa: B010

register(NGramConfig, [(AutoModelForCausalLM, NGramForCausalLM)])
