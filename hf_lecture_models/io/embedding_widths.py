# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How wide the vectors are that sentence-transformers makes with our models.

It takes every model's states for `config.hidden_size` wide. Of several of ours that is the width of something else: of
one direction of two, of a cell whose output is projected. Their configurations say the width as `output_size`.
"""

from functools import wraps
from typing import Any

from hf_lecture_models.io.after_import import after_import

_MODULE = "sentence_transformers.base.modules.transformer"


def report_output_size() -> None:
    """Let sentence-transformers read `output_size`, where a configuration has it; its package may be absent."""
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
