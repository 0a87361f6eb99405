# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""word2vec: vectors of words, learnt from the words around them."""

from transformers import AutoModel, AutoModelForPreTraining

from hf_lecture_models.io.registration import attach, register
from hf_lecture_models.models.word2vec.configuration_word2vec import Word2VecConfig
from hf_lecture_models.models.word2vec.modeling_word2vec import Word2VecForPreTraining, Word2VecModel

attach(Word2VecModel, f"{__name__}.conversion_word2vec", ["from_word2vec_format"], ["save_word2vec_format"])

register(Word2VecConfig, [(AutoModel, Word2VecModel), (AutoModelForPreTraining, Word2VecForPreTraining)])

__all__ = ["Word2VecConfig", "Word2VecForPreTraining", "Word2VecModel"]
