# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The tokenizers by their names in recipes, scripts, commands and cards."""

from typing import Any

from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.elmo import ElmoTokenizer
from hf_lecture_models.tokenization.unigram import UnigramTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer
from hf_lecture_models.tokenization.wordpiece import WordPieceTokenizer

TOKENIZERS: dict[str, Any] = {
    "word": WordTokenizer,
    "bpe": BpeTokenizer,
    "char": CharTokenizer,
    "byte": ByteTokenizer,
    "wordpiece": WordPieceTokenizer,
    "elmo": ElmoTokenizer,
    "unigram": UnigramTokenizer,
}

TYPES = f"{', '.join([*TOKENIZERS][:-1])} or {[*TOKENIZERS][-1]}"
"""The names in a sentence, for help texts."""
