# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Join texts in one stream of tokens, `<s> ... </s>` text after text, and cut it into spans."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from hf_lecture_models.tokenization.corpus import encode_corpus


def token_stream(tokenizer: Any, texts: Iterable[str], progress: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Encode all texts as `<s> ... </s>`, one after the other.

    Returns:
        (tokens,) int32 ids, and (texts,) int64, the place of each text's `<s>`.

    Raises:
        ValueError: the tokenizer has no `<s>` or no `</s>`, or one token for both.
    """
    begin, end = tokenizer.bos_token_id, tokenizer.eos_token_id
    if begin is None or end is None or begin == end:
        raise ValueError(
            f"the tokenizer's bos_token_id is {begin} and its eos_token_id {end}; training needs two tokens, "
            "one to begin a text with and one to predict at its end"
        )
    corpus = encode_corpus(tokenizer, texts, progress=progress)
    lengths = np.asarray(corpus.lengths, dtype=np.int64)
    ends = np.cumsum(lengths + 2) - 1
    starts = ends - lengths - 1
    stream = np.empty(len(corpus.ids) + 2 * len(lengths), dtype=np.int32)
    inside = np.ones(len(stream), dtype=bool)
    inside[starts] = inside[ends] = False
    stream[inside], stream[starts], stream[ends] = corpus.ids, begin, end
    return stream, starts


def text_spans(starts: np.ndarray, stream_length: int, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return spans of input tokens, one per text, or one per piece of a text that is longer than `longest`.

    A span predicts the token after each of its own, so the text's last token, `</s>`, is predicted and never read.

    >>> text_spans(np.array([0, 5]), stream_length=7, longest=3)
    (array([0, 3, 5]), array([3, 1, 1]))
    """
    return cut_spans(starts, np.diff(np.append(starts, stream_length)) - 1, longest)


def cut_spans(starts: np.ndarray, lengths: np.ndarray, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut spans into pieces of length `longest`; the last piece of each may be shorter.

    >>> cut_spans(np.array([0, 5]), np.array([5, 2]), longest=3)
    (array([0, 3, 5]), array([3, 2, 2]))
    """
    pieces = -(-lengths // longest)
    piece = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    offsets = piece * longest
    return np.repeat(starts, pieces) + offsets, np.minimum(np.repeat(lengths, pieces) - offsets, longest)
