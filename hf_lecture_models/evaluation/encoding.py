# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Texts as token ids, with what the measures must know of their words: how many, and which are unknown."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hf_lecture_models.tokenization.corpus import encode_corpus
from hf_lecture_models.tokenization.splitting import WHITE_SPACE, split_words
from hf_lecture_models.tokenization.word import UnknownWordError, WordTokenizer

_WORD = re.compile(f"[^{WHITE_SPACE}]+")


@dataclass(frozen=True)
class EncodedText:
    """One text, its token ids without special tokens, and its words."""

    text: str
    ids: np.ndarray
    """(tokens,) int."""
    words: int
    unknown_words: tuple[str, ...] = ()
    """Words that the tokenizer maps to an unknown id, repeated as they occur; a literal `<unk>` is not one of them."""
    unknown_tokens: list[int] = field(default_factory=list)
    """Positions in `ids` that belong to an unknown word."""
    possible: bool = True
    """False where a closed vocabulary cannot encode the text at all: its probability is 0."""

    @property
    def bytes(self) -> int:
        """Length in UTF-8, and one for the end of the text."""
        return len(self.text.encode()) + 1

    @property
    def charged_bits(self) -> int:
        """Bits that spell out the unknown words: 8 per byte, and one end byte for each word."""
        return sum(8 * (len(word.encode()) + 1) for word in self.unknown_words)


def encode_texts(tokenizer: Any, texts: Sequence[str]) -> list[EncodedText]:
    """Encode texts as data: a special token's spelling in a text is an ordinary word, never the special token.

    Raises:
        TypeError: `texts` is one str, or holds something else than str.
        ValueError: a text is not valid Unicode (a lone surrogate).
    """
    try:
        corpus = encode_corpus(tokenizer, texts)
    except UnknownWordError:
        if len(texts) == 1:
            return [_impossible(tokenizer, texts[0])]
        return [encoded for text in texts for encoded in encode_texts(tokenizer, [text])]
    return [_with_words(tokenizer, text, ids) for text, ids in zip(texts, corpus, strict=True)]


def _with_words(tokenizer: Any, text: str, ids: np.ndarray) -> EncodedText:
    unk = tokenizer.unk_token_id
    if unk is None or not (ids == unk).any():
        return EncodedText(text, ids, len(split_words(text)))
    words = list(_WORD.finditer(text))
    one_each = isinstance(tokenizer, WordTokenizer) and tokenizer.is_as_built()
    word_of = range(len(ids)) if one_each else _word_of_token(tokenizer, text, words)
    unknown = {word for word, id_ in zip(word_of, ids, strict=True) if id_ == unk}
    unknown = {word for word in unknown if words[word].group() != tokenizer.unk_token}
    return EncodedText(
        text,
        ids,
        len(words),
        unknown_words=tuple(words[word].group() for word in sorted(unknown)),
        unknown_tokens=[position for position, word in enumerate(word_of) if word in unknown],
    )


def _word_of_token(tokenizer: Any, text: str, words: list[re.Match[str]]) -> list[int]:
    options = {"add_special_tokens": False, "split_special_tokens": True, "verbose": False}
    offsets = tokenizer(text, return_offsets_mapping=True, **options)["offset_mapping"]
    starts = [word.start() for word in words]
    # A token belongs to the word that holds its last character: some tokenizers count the space before into the token.
    return [bisect_right(starts, max(start, end - 1)) - 1 for start, end in offsets]


def _impossible(tokenizer: Any, text: str) -> EncodedText:
    words = split_words(text)
    unknown = tuple(word for word in words if not _knows(tokenizer, word))
    return EncodedText(text, np.zeros(0, np.int64), len(words), unknown, possible=False)


def _knows(tokenizer: Any, word: str) -> bool:
    try:
        encode_corpus(tokenizer, [word])
    except UnknownWordError:
        return False
    return True
