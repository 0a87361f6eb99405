# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A corpus as one stream of ids with `<s>` and `</s>`, and the windows of words in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig


@dataclass(frozen=True)
class Stream:
    """A corpus with `<s>` and `</s>` around each text: (tokens,) ids, and (tokens,) places in their text from 0."""

    words: np.ndarray
    places: np.ndarray


def make_stream(ids: np.ndarray, lengths: np.ndarray, config: NGramConfig) -> Stream:
    """Put `<s>` and `</s>` around each text.

    Raises:
        ValueError: there is no text, the lengths do not add up, or an id is outside the vocabulary or a special token.
    """
    ids, lengths = np.asarray(ids), np.asarray(lengths, np.int64)
    if len(lengths) == 0:
        raise ValueError("the corpus is empty: there is no text to count; check the path or the iterable")
    if lengths.min() < 0 or lengths.sum() != len(ids):
        raise ValueError(f"the lengths add up to {lengths.sum()} tokens, but there are {len(ids)} ids")
    if len(ids) and not 0 <= ids.min() <= ids.max() < config.vocab_size:
        raise ValueError(f"a token id is outside the vocabulary of {config.vocab_size}; use the model's own tokenizer")
    if config.bos_token_id is None or config.eos_token_id is None:
        raise ValueError("NGramConfig.bos_token_id and eos_token_id are needed to mark where texts begin and end")
    for special in {config.bos_token_id, config.eos_token_id, config.pad_token_id} - {None}:
        if (ids == special).any():
            raise ValueError(f"special token {special} stands inside a text; encode texts without special tokens")
    before = np.cumsum(lengths + 2) - (lengths + 2)  # where each text's <s> stands
    places = np.arange(lengths.sum() + 2 * len(lengths)) - np.repeat(before, lengths + 2)
    words = np.full(len(places), config.bos_token_id, np.int64)
    words[before + lengths + 1] = config.eos_token_id
    words[np.arange(len(ids)) + np.repeat(2 * np.arange(len(lengths)) + 1, lengths)] = ids
    return Stream(words, places)


def check_longest(longest: int, order: int) -> None:
    """Raise a ValueError if the longest text, of so many tokens with `<s>` and `</s>`, has no n-gram of the order."""
    if longest < order:
        raise ValueError(
            f"the corpus is shorter than the order: its longest text has {longest} tokens with <s> and </s>, "
            f"no {order}-gram; give longer texts or order={longest} at most"
        )


def windows_of(stream: Stream, order: int) -> np.ndarray:
    """The words from each position on, (order, tokens) int32; -1 behind the end of the text.

    >>> windows_of(Stream(np.array([0, 5, 1, 0, 1]), np.array([0, 1, 2, 0, 1])), order=3).T.tolist()
    [[0, 5, 1], [5, 1, -1], [1, -1, -1], [0, 1, -1], [1, -1, -1]]
    """
    windows = np.full((order, len(stream.words)), -1, np.int32)
    for n in range(min(order, len(stream.words))):
        last = len(stream.words) - n
        inside = stream.places[n:] >= n
        windows[n, :last] = np.where(inside, stream.words[n:], -1)
    return windows
