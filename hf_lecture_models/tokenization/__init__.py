# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The tokenizers, on the Rust library `tokenizers`. Importing this folder makes `AutoTokenizer` find them."""

import sys

# Importing processing_utils runs transformers/__init__ again and replaces the module object; afterwards it stays.
import transformers.processing_utils  # noqa: F401

from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.corpus import EncodedCorpus, encode_corpus, read_texts
from hf_lecture_models.tokenization.word import UnknownWordError, WordTokenizer

__all__ = ["ByteTokenizer", "EncodedCorpus", "UnknownWordError", "WordTokenizer", "encode_corpus", "read_texts"]


def register_tokenizers() -> None:
    """Make each class an attribute of the `transformers` module.

    There `AutoTokenizer` looks for the `tokenizer_class` of a tokenizer_config.json when it is none of its own, and so
    do other programs. (`AutoTokenizer.register` ties a class to one model type, and a tokenizer serves many.)

    Raises:
        ValueError: transformers has another class of that name.
    """
    module = sys.modules["transformers"]
    for cls in (WordTokenizer, ByteTokenizer):
        if getattr(module, cls.__name__, cls) is not cls:
            raise ValueError(f"transformers has another {cls.__name__}; use the transformers version of pyproject.toml")
        setattr(module, cls.__name__, cls)


register_tokenizers()
