# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Characters, from "the set of all unicode characters" (slide R:57-97): those of no training text are spelled in bytes.

Slide Y:323 asks: "letters: no more unknown words unknown symbols instead?" Here, neither.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from tokenizers.decoders import ByteFallback, Fuse, Sequence
from tokenizers.models import BPE

from hf_lecture_models.tokenization.backend import LectureTokenizer, special_spellings
from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.tokenization.splitting import (
    CHUNK_CHARACTERS,
    WordIndex,
    chunk_texts,
    flatten_ids,
    refuse_surrogates,
    shorten,
    surrogate_errors,
)
from hf_lecture_models.tokenization.unknown_words import BYTE_TOKENS

_CODE_POINTS = 0x110000


class CharTokenizer(LectureTokenizer):
    """Characters (code points), white space among them; those that the training texts lack are spelled in bytes.

    >>> tokenizer = CharTokenizer.train(["a cat", "a dog"], progress=False)
    >>> tokenizer.tokenize("a €")
    ['a', ' ', '<0xE2>', '<0x82>', '<0xAC>']
    >>> tokenizer.decode(tokenizer("a €").input_ids, skip_special_tokens=True)
    'a €'

    The ids 0 to 255 are the bytes `<0x00>` to `<0xFF>`. Nothing is unknown, and every text comes back exactly; `<0x41>`
    written in a text is six characters. Offsets count characters: all bytes of one character have its place. With
    `is_split_into_words=True` the words are joined without a space. Bytes that are not UTF-8, which a model may
    generate, are decoded to U+FFFD.
    """

    model_class = BPE
    characters_at_once = CHUNK_CHARACTERS >> 3
    pre_tokenizer_class = NoneType

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int | None = None,
        *,
        min_count: int = 1,
        progress: bool = True,
        **kwargs: Any,
    ) -> CharTokenizer:
        """Build the vocabulary from the characters of `texts`, the most frequent first, then by code point.

        >>> tokenizer = CharTokenizer.train(["ab", "b"], progress=False)
        >>> tokenizer.convert_ids_to_tokens(range(255, len(tokenizer)))
        ['<0xFF>', 'b', 'a', '<s>', '</s>', '<pad>']
        >>> tokenizer("abé").input_ids
        [258, 257, 256, 195, 169]

        `LectureTokenizer.train` describes the other arguments, and the errors.

        Args:
            vocab_size: the largest number of tokens, bytes and special ones included.
            min_count: a character that occurs less often is spelled in bytes.
        """
        special = cls._special_spellings(min_count, kwargs)
        start = len(BYTE_TOKENS) + len(special)
        if vocab_size is not None and vocab_size <= start:
            raise ValueError(
                f"vocab_size {vocab_size} leaves no room for characters beside {start} bytes and special tokens"
            )
        characters = [character for character in _by_count(texts, min_count, progress) if character not in special]
        if not characters:
            raise ValueError("no characters are left of the texts; give texts that are not empty, or lower min_count")
        return cls.from_characters(characters[: vocab_size and vocab_size - start], **kwargs)

    @classmethod
    def from_characters(cls, characters: Iterable[str], **kwargs: Any) -> CharTokenizer:
        """Build a tokenizer from its characters, in the order of their ids from 256 on.

        >>> CharTokenizer.from_characters("ab")("ba\\n").input_ids
        [258, 257, 256, 10]

        Raises:
            ValueError: an item is not one character, occurs twice, or is spelled like a special token.
        """
        vocabulary = {token: byte for byte, token in enumerate(BYTE_TOKENS)}
        special = special_spellings(kwargs)
        for character in characters:
            if len(character) != 1 or character in vocabulary or character in special:
                raise ValueError(f"{shorten(character)} is not one character, stands here twice, or is a special token")
            refuse_surrogates(character)
            vocabulary[character] = len(vocabulary)
        backend = Tokenizer(BPE(vocabulary, merges=[], byte_fallback=True))
        backend.decoder = Sequence([ByteFallback(), Fuse()])
        return cls(tokenizer_object=backend, **kwargs)

    @classmethod
    def _is_own_model(cls, model: Any) -> bool:
        return isinstance(model, BPE) and model.byte_fallback and not model.ignore_merges

    def index_words(self, texts: list[str]) -> WordIndex:
        """Split `texts` into characters."""
        points = _code_points(texts)
        found = np.flatnonzero(np.bincount(points))
        position = np.zeros(_CODE_POINTS, np.int32)
        position[found] = np.arange(len(found))
        return WordIndex(list(map(chr, found)), position[points], np.fromiter(map(len, texts), np.int64, len(texts)))

    def encode_words(self, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of characters."""
        model = self.backend_tokenizer.model
        return flatten_ids([[token.id for token in model.tokenize(character)] for character in words])


def _code_points(texts: list[str]) -> np.ndarray:
    with surrogate_errors(texts):
        return np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)


def _by_count(texts: Iterable[str], min_count: int, progress: bool) -> list[str]:
    counts = np.zeros(_CODE_POINTS, np.int64)
    for chunk in chunk_texts(plain_texts(texts), progress, desc="counting characters"):
        counts += np.bincount(_code_points(chunk), minlength=_CODE_POINTS)
    found = np.flatnonzero(counts >= min_count)
    return list(map(chr, found[np.argsort(-counts[found], kind="stable")]))
