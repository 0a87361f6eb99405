# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base of the word2vec models, and the methods that only the package can fulfil, which `__init__.py` binds."""

import os
from typing import Any, Self

from hf_lecture_models.base.modeling import LecturePreTrainedModel
from hf_lecture_models.models.word2vec.configuration_word2vec import Word2VecConfig

_NEEDS_THE_PACKAGE = (
    "Word2VecModel.{} needs the package: `pip install hf-lecture-models`, then `import hf_lecture_models`; "
    "this copy of the model was loaded from a repository's own code"
)


class Word2VecPreTrainedModel(LecturePreTrainedModel):
    """The base of both models."""

    config: Word2VecConfig


class Word2VecFiles:
    """Word vectors from and to word2vec files."""

    @classmethod
    def from_word2vec_format(
        cls, path: str | os.PathLike[str], binary: bool | None = True, encoding: str = "utf-8", errors: str = "strict"
    ) -> tuple[Self, Any]:
        """Read a word2vec file; see `hf_lecture_models.models.word2vec.conversion_word2vec.from_word2vec_format`."""
        raise RuntimeError(_NEEDS_THE_PACKAGE.format("from_word2vec_format"))

    def save_word2vec_format(self, path: str | os.PathLike[str], tokenizer: Any, binary: bool = True) -> None:
        """Write a word2vec file; see `hf_lecture_models.models.word2vec.conversion_word2vec.save_word2vec_format`."""
        raise RuntimeError(_NEEDS_THE_PACKAGE.format("save_word2vec_format"))
