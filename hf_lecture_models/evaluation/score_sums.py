# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the measures of language models add up, for each scored text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from hf_lecture_models.evaluation.made_items import bounds_of
from hf_lecture_models.evaluation.scoring import TextScore, TextScores


@dataclass(frozen=True)
class ScoreSums:
    """Numbers of terminated texts, (texts,) arrays of int64, and of float64 for nats.

    A text that cannot be encoded has the tokens that its words would be, and nothing known.

    Attributes:
        nats, known_nats: -ln P, and without the tokens of unknown words.
        tokens, known_tokens: with the end of each text.
        words, known_words: as well.
        read: tokens that the model has scored; 0 for a text that cannot be encoded.
        unknown: unknown words.
        spelling_bits: bits that spell the unknown words.
        bytes: of UTF-8, and one for the end of the text.
    """

    nats: np.ndarray
    tokens: np.ndarray
    words: np.ndarray
    bytes: np.ndarray
    read: np.ndarray
    unknown: np.ndarray
    spelling_bits: np.ndarray
    known_nats: np.ndarray
    known_tokens: np.ndarray
    known_words: np.ndarray

    @classmethod
    def of(cls, scores: Sequence[TextScore]) -> ScoreSums:
        """Return the numbers of scored texts, without an item for each where the scores are whole arrays."""
        if isinstance(scores, TextScores) and scores.is_whole:
            return cls._of_arrays(scores)
        names = [field.name for field in fields(cls)]
        rows = list(zip(*map(_numbers_of, scores), strict=True)) or [()] * len(names)
        types = (float if "nats" in name else np.int64 for name in names)
        return cls(*map(np.array, rows, types))

    @classmethod
    def _of_arrays(cls, scores: TextScores) -> ScoreSums:
        texts, possible = scores.encoded, scores.encoded.possible
        words, read, nats = texts.words + 1, scores.lengths, -scores.log_probs
        unknown = texts.unknown_word_counts
        return cls(
            nats=nats,
            tokens=np.where(possible, read, words),
            words=words,
            bytes=np.fromiter(map(_size, texts.texts), np.int64, len(texts)),
            read=read,
            unknown=unknown,
            spelling_bits=_spelling_bits(scores),
            known_nats=_known_nats(scores, nats),
            known_tokens=np.where(possible, read - texts.unknown_token_counts, 0),
            known_words=np.where(possible, words - unknown, 0),
        )


def _numbers_of(score: TextScore) -> tuple[float, ...]:
    """Return the numbers of one text, in the order of the fields."""
    text, nats, read = score.encoded, -score.log_prob, len(score.ids)
    words, size, unknown = text.words + 1, _size(text.text), len(text.unknown_words)
    if not text.possible:  # its tokens are its words: only vocabularies of words are closed
        return nats, words, words, size, read, unknown, text.oov_spelling_bits, 0.0, 0, 0
    if not unknown:
        return nats, read, words, size, read, 0, 0, nats, read, words
    known = -score.known_log_prob, read - len(text.unknown_tokens), words - unknown
    return nats, read, words, size, read, unknown, text.oov_spelling_bits, *known


def _size(text: str) -> int:
    return (len(text) if text.isascii() else len(text.encode())) + 1


def _spelling_bits(scores: TextScores) -> np.ndarray:
    """Return `EncodedText.oov_spelling_bits` of each text."""
    texts = scores.encoded
    bits = np.fromiter((8 * (len(word.encode()) + 1) for word in texts.unknown_words), np.int64)
    return np.diff(bounds_of(bits)[bounds_of(texts.unknown_word_counts)])


def _known_nats(scores: TextScores, nats: np.ndarray) -> np.ndarray:
    """Return -`known_log_prob` of each text: the same sum, in the same order; 0 if it cannot be encoded."""
    texts = scores.encoded
    known, some = np.where(texts.possible, nats, 0.0), np.flatnonzero(texts.possible & (texts.unknown_token_counts > 0))
    if not len(some):
        return known
    is_known = np.ones(len(scores.ids), bool)
    is_known[np.repeat(scores.bounds[:-1] + 1, texts.unknown_token_counts) + texts.unknown_tokens] = False
    # Each sum begins with the 0 of the text's first token, as the sum of an array does.
    log_probs = scores.token_log_probs.copy()
    log_probs[scores.bounds[:-1][texts.possible]] = 0.0
    ends = np.cumsum(np.add.reduceat(is_known, scores.bounds[:-1][texts.possible], dtype=np.int64))
    sums = np.add.reduceat(log_probs[is_known], np.concatenate([[0], ends[:-1]]))
    known[texts.possible] = np.where(texts.unknown_token_counts[texts.possible] > 0, -sums, known[texts.possible])
    return known
