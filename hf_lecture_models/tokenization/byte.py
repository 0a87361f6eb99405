# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The 256 bytes of UTF-8: no unknown words, and every text comes back exactly (slides R and Y: the open world)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from hf_lecture_models.tokenization.backend import LectureTokenizer


def byte_names() -> list[str]:
    """Return the visible characters that the Rust library writes for the bytes, in the order of the bytes.

    A byte that is a printable Latin-1 character keeps it; the others take the characters from U+0100 on.

    >>> byte_names()[ord("A")], byte_names()[ord(" ")]
    ('A', 'Ġ')
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = [byte for byte in range(256) if byte not in printable]
    return [chr(byte if byte in printable else 0x100 + hidden.index(byte)) for byte in range(256)]


class ByteTokenizer(LectureTokenizer):
    """Bytes: the id of a byte is its value, then `<s>` 256, `</s>` 257, `<pad>` 258.

    Offsets count characters: all bytes of one character have its place. With `is_split_into_words=True` the words are
    joined without a space. Bytes that are not UTF-8, which a model may generate, are decoded to U+FFFD.

    >>> tokenizer = ByteTokenizer()
    >>> tokenizer("né").input_ids
    [256, 110, 195, 169]
    >>> tokenizer.decode([256, 110, 195, 169], skip_special_tokens=True)
    'né'
    """

    model_class = BPE
    pre_tokenizer_class = ByteLevel

    @classmethod
    def train(
        cls,
        texts: Iterable[str] | None = None,
        vocab_size: int | None = None,
        *,
        min_count: int = 1,
        progress: bool = True,
        **kwargs: Any,
    ) -> ByteTokenizer:
        """Return the tokenizer. It has nothing to learn: `texts`, `min_count` and `progress` change nothing.

        `LectureTokenizer.train` describes the arguments. `vocab_size` must be at least the number of bytes and special
        tokens together, 259 without a template.
        """
        needed = 256 + len(cls._special_spellings(min_count, kwargs))
        if vocab_size is not None and vocab_size < needed:
            raise ValueError(f"vocab_size must be at least {needed} for bytes, not {vocab_size}")
        return cls(**kwargs)

    @classmethod
    def _is_own_model(cls, model: Any) -> bool:
        return super()._is_own_model(model) and [*map(model.id_to_token, range(257))] == [*byte_names(), None]

    @classmethod
    def _new_backend(cls) -> Tokenizer:
        backend = Tokenizer(BPE({name: byte for byte, name in enumerate(byte_names())}, merges=[]))
        backend.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
        backend.decoder = ByteLevelDecoder()
        return backend

    def encode_texts(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the bytes of texts and their numbers."""
        rows = [text.encode() for text in texts]
        ids = np.frombuffer(b"".join(rows), np.uint8).astype(np.int32)
        return ids, np.fromiter(map(len, rows), np.int64, len(rows))
