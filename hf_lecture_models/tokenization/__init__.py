# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The tokenizers, on the Rust library `tokenizers`. Importing this folder makes `AutoTokenizer` find them."""

from hf_lecture_models.io.registration import expose
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.corpus import EncodedCorpus, encode_corpus, read_texts
from hf_lecture_models.tokenization.elmo import ElmoTokenizer
from hf_lecture_models.tokenization.pairs import TokenizerPair
from hf_lecture_models.tokenization.registry import TOKENIZERS
from hf_lecture_models.tokenization.templates import TEMPLATES, Template, require_template
from hf_lecture_models.tokenization.unigram import Segmentation, UnigramTokenizer
from hf_lecture_models.tokenization.unknown_words import UnknownWordError
from hf_lecture_models.tokenization.word import WordTokenizer
from hf_lecture_models.tokenization.wordpiece import WordPieceTokenizer

__all__ = [
    "TEMPLATES",
    "BpeTokenizer",
    "ByteTokenizer",
    "CharTokenizer",
    "ElmoTokenizer",
    "EncodedCorpus",
    "Segmentation",
    "Template",
    "TokenizerPair",
    "UnigramTokenizer",
    "UnknownWordError",
    "WordPieceTokenizer",
    "WordTokenizer",
    "encode_corpus",
    "read_texts",
    "require_template",
]


TOKENIZERS.update(
    word=WordTokenizer,
    bpe=BpeTokenizer,
    char=CharTokenizer,
    byte=ByteTokenizer,
    wordpiece=WordPieceTokenizer,
    elmo=ElmoTokenizer,
    unigram=UnigramTokenizer,
)


def register_tokenizers() -> None:
    """Make each class an attribute of the `transformers` module.

    `AutoTokenizer` and other programs look there for the `tokenizer_class` that a tokenizer_config.json names.
    (`AutoTokenizer.register` would tie a class to one model type, but a tokenizer serves many.)
    """
    for cls in (*TOKENIZERS.values(), TokenizerPair):
        expose(cls)


register_tokenizers()
