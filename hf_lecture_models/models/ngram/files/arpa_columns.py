# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Reading the n-grams of ARPA files in blocks, with Arrow's compute kernels, several times faster than line by line.

Only plain spellings are read here: columns with one tab or space between them, words of the vocabulary, and finite
numbers. `arpa_reader.py` reads all else line by line, with the same result, and says what is wrong with a line.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from hf_lecture_models.models.ngram.files.arpa_format import ZERO
from hf_lecture_models.tokenization.splitting import arrow

# To read less text, line by line, takes no longer than to import Arrow.
ARROW_BYTES = 1 << 20


def read_entries(
    text: bytes, place: int, n: int, highest: bool, vocabulary: dict[bytes, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int] | None:
    r"""Return the entries of order n that begin at a place of the text; None: one is not plain, or has a fault.

    >>> text = b"-0.5\ta b\t-0.25\n-1\tb b\n\n"
    >>> ids, probs, backoffs, size = read_entries(text, 0, 2, False, {b"a": 0, b"b": 1})
    >>> ids.tolist(), probs.tolist(), backoffs.tolist(), size
    ([[0, 1], [1, 1]], [-0.5, -1.0], [-0.25, 0.0], 22)

    Args:
        text: whole lines.
        highest: whether n is the highest order, where all weights are 0.

    Returns:
        The ids of the words, (n, entries) int32; log10 p and log10 of the weights, (entries,) float32; and the bytes of
        the entries in the text.
    """
    characters = np.frombuffer(text, np.uint8)[place:]
    ends = np.flatnonzero((characters == ord("\t")) | (characters == ord(" ")) | (characters == ord("\n"))) + place
    last = np.flatnonzero(characters[ends - place] == ord("\n"))  # the last column of each line
    columns = np.diff(last, prepend=-1)
    other = np.flatnonzero((columns != n + 1) & (columns != n + 2))
    last = last[: other[0]] if len(other) else last
    if not len(last):
        return None
    first = np.concatenate([[0], last[:-1] + 1])
    starts = np.concatenate([[place], ends[: last[-1]] + 1])
    if (starts == ends[: len(starts)]).any():
        return None
    weighted = columns[: len(last)] == n + 2
    backoffs = np.zeros(len(last), np.float32)
    places = (first + np.arange(1, n + 1)[:, None]).ravel()
    try:
        ids = _ids(text, starts[places], ends[places], vocabulary)
        probs = _numbers(text, starts[first], ends[first])
        backoffs[weighted] = _numbers(text, starts[last[weighted]], ends[last[weighted]])
    except (KeyError, ValueError):
        return None
    if (probs > 0).any() or (backoffs != 0 if highest else backoffs == np.inf).any():
        return None
    return ids.reshape(n, -1), probs, backoffs, int(ends[last[-1]]) + 1 - place


def _pieces(text: bytes, starts: np.ndarray, ends: np.ndarray) -> Any:
    """Return an Arrow array of pieces of a text, with a null, the text between them, after all but the last."""
    offsets = np.stack([starts, ends], axis=1).astype(np.int32)
    size = max(offsets.size - 1, 0)
    present = b"\x55" * (size // 8 + 1)  # every other bit
    buffers = map(arrow().py_buffer, (present, offsets, text))
    return arrow().Array.from_buffers(arrow().string(), size, list(buffers))


def _ids(text: bytes, starts: np.ndarray, ends: np.ndarray, vocabulary: dict[bytes, int]) -> np.ndarray:
    """Return the id of each word, (words,) int32; KeyError: it has none."""
    words = _pieces(text, starts, ends).view(arrow().binary()).dictionary_encode()
    ids = np.array([vocabulary[word] for word in words.dictionary.to_pylist()], np.int32)
    return ids[np.frombuffer(words.indices.buffers()[1], np.int32)[: len(words) : 2]]


def _numbers(text: bytes, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the numbers, (numbers,) float32; ValueError: one is not finite, or none for Arrow."""
    numbers = _pieces(text, starts, ends).cast(arrow().float64())
    exact = np.frombuffer(numbers.buffers()[1], np.float64)[: len(numbers) : 2]
    if not np.isfinite(exact).all():
        raise ValueError
    return to_float32(exact, lambda place: text[starts[place] : ends[place]])


def to_float32(exact: np.ndarray, text: Callable[[int], bytes]) -> np.ndarray:
    """Return decimals, read as (decimals,) float64, as float32, correctly rounded; -99 and less become -inf.

    A decimal next to the middle of two float32 may have become that middle: then its side of it, in the text, decides.
    """
    doubtful = np.flatnonzero(exact.view(np.int64) & 0x1FFFFFFF == 0x10000000)
    exact = exact.copy() if len(doubtful) else exact
    for place in doubtful.tolist():
        decimal, middle = Decimal(text(place).decode()), Decimal(exact[place])
        if decimal != middle:
            exact[place] = np.nextafter(exact[place], np.inf if decimal > middle else -np.inf)
    with np.errstate(over="ignore"):
        values = exact.astype(np.float32)
    values[values <= ZERO] = -np.inf
    return values
