# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Spans of a stream of tokens: one for each text, or pieces of a length."""

import numpy as np


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
