# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The tokenizers by their names in recipes, scripts, commands and cards; the folder's `__init__` lists them."""

from typing import Any

TOKENIZERS: dict[str, Any] = {}


def tokenizer_types() -> str:
    """Return the names in a sentence, for help texts.

    >>> tokenizer_types()
    'word, bpe, char, byte, wordpiece, elmo or unigram'
    """
    *names, last = TOKENIZERS
    return f"{', '.join(names)} or {last}"
