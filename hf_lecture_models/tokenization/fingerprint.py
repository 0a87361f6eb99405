# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Checksums of tokenizers and values, which show whether a resumed run uses the same ones."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from hf_lecture_models.tokenization.pairs import TokenizerPair


def fingerprint(values: Iterable[Any]) -> str:
    """Return a checksum of values in their order; the `repr` of a value must show all of it.

    >>> fingerprint(["a b", "c"]) == fingerprint(["a", "b c"])
    False
    """
    digest = hashlib.sha256()
    for value in values:
        digest.update(f"{value!r}\n".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def fingerprint_tokenizer(tokenizer: Any) -> str:
    """Return a checksum of all that turns texts into ids: vocabulary, merges, rules, special tokens.

    For a `TokenizerPair` it covers both tokenizers, and for an image processor all its settings.
    """
    if isinstance(tokenizer, TokenizerPair):
        return fingerprint(map(fingerprint_tokenizer, (tokenizer.source, tokenizer.target)))
    if not hasattr(tokenizer, "get_vocab"):
        return fingerprint(sorted(tokenizer.to_dict().items()))
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = {} if backend is None else json.loads(backend.to_str())
    for name in ("truncation", "padding"):  # the options of its latest call
        rules.pop(name, None)
    known = [sorted(tokenizer.get_vocab().items()), sorted(tokenizer.special_tokens_map.items()), rules]
    # Only ElmoTokenizer has words beside its vocabulary, the characters.
    words = getattr(tokenizer, "words", None)
    return fingerprint(known if words is None else [*known, words, tokenizer.max_characters_per_token])
