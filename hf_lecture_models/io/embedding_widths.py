# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The width of the vectors that sentence-transformers makes with our models.

sentence-transformers takes `config.hidden_size` for the width of every model's states. In several of our models that is
another width: that of one direction of two, or of a cell whose output is projected. Their width is `output_size`.
"""

from functools import wraps
from typing import Any

from hf_lecture_models.io.after_import import after_import

_MODULE = "sentence_transformers.base.modules.transformer"


def report_output_size() -> None:
    """Let sentence-transformers, where it is installed, read `output_size` of the configurations that have it."""
    after_import(_MODULE, _complete)


def _complete(module: Any) -> None:
    theirs = module.Transformer.get_embedding_dimension

    @wraps(theirs)
    def get_embedding_dimension(self: Any) -> int:
        config = self.model.config
        reads_states = self.module_output_name != "sentence_embedding"  # which is `pooler_output`
        if reads_states and isinstance(getattr(type(config), "output_size", None), property):
            return config.output_size
        return theirs(self)

    module.Transformer.get_embedding_dimension = get_embedding_dimension
