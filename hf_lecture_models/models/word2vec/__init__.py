# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""word2vec: vectors of words, learnt from the words around them."""

from transformers import AutoModel, AutoModelForPreTraining

from hf_lecture_models.io.registration import register
from hf_lecture_models.models.word2vec.configuration_word2vec import Word2VecConfig
from hf_lecture_models.models.word2vec.conversion_word2vec import from_word2vec_format, save_word2vec_format
from hf_lecture_models.models.word2vec.modeling_word2vec import Word2VecForPreTraining, Word2VecModel

# What only the package can do does not travel with the model's code to the Hub. By setattr: a type checker keeps the
# signatures that the class declares.
setattr(Word2VecModel, "from_word2vec_format", classmethod(from_word2vec_format))  # noqa: B010
setattr(Word2VecModel, "save_word2vec_format", save_word2vec_format)  # noqa: B010

register(Word2VecConfig, [(AutoModel, Word2VecModel), (AutoModelForPreTraining, Word2VecForPreTraining)])

__all__ = ["Word2VecConfig", "Word2VecForPreTraining", "Word2VecModel"]
