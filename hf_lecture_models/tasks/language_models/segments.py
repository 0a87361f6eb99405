# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Put one or two segments of text between the special tokens of a tokenizer's template, for all rows at once."""

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Spans:
    """One span of a token stream for each row; both arrays are (rows,) int64."""

    starts: np.ndarray
    lengths: np.ndarray


@dataclass(frozen=True)
class SegmentRows:
    """Rows of tokens, padded on the right; all arrays are (rows, width)."""

    ids: np.ndarray
    token_type_ids: np.ndarray
    is_text: np.ndarray
    """True for tokens of a segment, False for the template's special tokens and padding."""
    is_real: np.ndarray
    """False for padding."""


@dataclass(frozen=True)
class SegmentTemplate:
    """The special tokens that a tokenizer puts around one text, or around a pair of texts.

    Attributes:
        parts: in order, each a list of special ids, or the number of a segment, 0 or 1.
        type_ids: the `token_type_ids` of each part.
    """

    parts: tuple[list[int] | int, ...]
    type_ids: tuple[int, ...]
    pad_id: int

    @classmethod
    def of(cls, tokenizer: Any, pairs: bool) -> "SegmentTemplate":
        """Return the template of a tokenizer of the Rust library (`tokenizers`).

        >>> from hf_lecture_models.tokenization.byte import ByteTokenizer
        >>> SegmentTemplate.of(ByteTokenizer(), pairs=False).parts
        ([256], 0)

        Raises:
            ValueError: it has no padding token, or none of its tokens can be written in a text.
        """
        if tokenizer.pad_token_id is None:
            raise ValueError("the tokenizer has no pad_token, so texts of several lengths make no batch; set one")
        word = _any_word(tokenizer)
        encoded = tokenizer(word, word if pairs else None, return_token_type_ids=True, verbose=False)
        tokens = zip(encoded.sequence_ids(), encoded["input_ids"], encoded["token_type_ids"], strict=True)
        parts: list[list[int] | int] = []
        types = []
        for (segment, type_id), group in groupby(tokens, key=lambda token: (token[0], token[2])):
            parts.append([id_ for _, id_, _ in group] if segment is None else segment)
            types.append(type_id)
        return cls(tuple(parts), tuple(types), tokenizer.pad_token_id)

    @property
    def special_ids(self) -> list[int]:
        """The ids of the special tokens, in order."""
        return [id_ for part in self.parts if isinstance(part, list) for id_ in part]

    def fill(self, stream: np.ndarray, *segments: Spans) -> SegmentRows:
        """Return one row per span: these segments of `stream` (tokens,) in the template.

        >>> template = SegmentTemplate(([7], 0, [8], 1, [8]), (0, 0, 0, 1, 1), pad_id=0)
        >>> first, second = Spans(np.array([0, 2]), np.array([2, 1])), Spans(np.array([4, 4]), np.array([1, 1]))
        >>> template.fill(np.arange(10, 16), first, second).ids
        array([[ 7, 10, 11,  8, 14,  8],
               [ 7, 12,  8, 14,  8,  0]])
        """
        rows = len(segments[0].lengths)
        totals = np.sum([span.lengths for span in segments], axis=0) + len(self.special_ids)
        columns = np.arange(totals.max(initial=1))[None, :]
        shape = (rows, columns.shape[1])
        ids, types = np.full(shape, self.pad_id, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        is_text = np.zeros(shape, dtype=bool)
        begin = np.zeros((rows, 1), dtype=np.int64)
        for part, type_id in zip(self.parts, self.type_ids, strict=True):
            if isinstance(part, list):
                tokens, span = np.array(part), Spans(np.zeros(rows, np.int64), np.full(rows, len(part)))
            else:
                tokens, span = stream, segments[part]
            end = begin + span.lengths[:, None]
            inside = (columns >= begin) & (columns < end)
            places = span.starts[:, None] + columns - begin
            ids[inside], types[inside] = tokens[places[inside]], type_id
            is_text |= inside & isinstance(part, int)
            begin = end
        return SegmentRows(ids, types, is_text, columns < totals[:, None])


def _any_word(tokenizer: Any) -> str:
    """Return a text that the tokenizer turns into at least one token."""
    special = set(tokenizer.all_special_ids)
    for token, id_ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1]):
        if id_ not in special and _encodes(tokenizer, token):
            return token
    raise ValueError("none of the tokenizer's tokens can be written in a text; it has nothing but special tokens")


def _encodes(tokenizer: Any, text: str) -> bool:
    try:
        return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]) > 0
    except ValueError:
        return False
