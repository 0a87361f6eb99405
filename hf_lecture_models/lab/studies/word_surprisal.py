# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The surprisal of each word of a text, summed over its tokens.

Words are split at white space. A token counts for the word in which its last visible character stands, and a token of
white space alone for the word after it, or for the end of the text. So where tokens begin with the blank, as GPT-2's
do, the blank before a word is paid by the word, and that the word ends is paid by the blank of the next one, or by
`</s>`. Oh and Schuler (2024) and Pimentel and Meister (2024) move this cost to the word that ends; nothing is moved
here, so that the words and the end add up to -log2 of the probability of the text.
"""

import math
from dataclasses import dataclass

import numpy as np

from hf_lecture_models.evaluation.surprisal import ScoredText, TokenSpans, word_places


@dataclass(slots=True)
class WordSurprisal:
    """One word of a text, or its end, under one model."""

    word: str
    """The characters `start` to `end` of the text; empty for its end."""
    start: int
    end: int
    bits: float
    """-log2 P; infinity for probability 0; NaN if no token counts for the word, or the model gives no probability to
    the end."""
    tokens: int
    unknown: bool = False
    """True if the tokenizer maps the word, or a part of it, to an unknown id. The bits are then those of `<unk>`."""


def word_surprisals(scored: ScoredText) -> list[WordSurprisal]:
    """Return the words of a text with their surprisal, and the end of the text, which is last.

    In a text that a closed vocabulary cannot encode, the words that it lacks have infinite surprisal, the others none.

    >>> from hf_lecture_models.evaluation.surprisal import TokenSpan
    >>> spans = [TokenSpan("un", 3.0, 2), TokenSpan("kind", 1.5, 6), TokenSpan(" word", 8.0, 11), TokenSpan("", 1.0)]
    >>> for word in word_surprisals(ScoredText("unkind word", spans, {})):
    ...     print(repr(word.word), word.start, word.end, word.bits, word.tokens)
    'unkind' 0 6 4.5 2
    'word' 7 11 8.0 1
    '' 11 11 1.0 1
    """
    columns = (column.tolist() for column in word_columns(scored))
    return [
        WordSurprisal(scored.text[start:end], start, end, *rest) for start, end, *rest in zip(*columns, strict=True)
    ]


def word_columns(scored: ScoredText) -> tuple[np.ndarray, ...]:
    """Return `start`, `end`, `bits`, `tokens` and `unknown` of the words of a text and of its end, each (words + 1,).

    >>> from hf_lecture_models.evaluation.surprisal import TokenSpan
    >>> [column.tolist() for column in word_columns(ScoredText("a b", [TokenSpan("a", 3.0, 1)], {}))]
    [[0, 2, 3], [1, 3, 3], [3.0, nan, nan], [1, 0, 0], [False, False, False]]
    """
    starts, ends = np.append(word_places(scored.text), [[len(scored.text)] * 2], axis=0).T
    if not scored.possible:
        lacking = set(scored.unknown_words)
        unknown = np.array([scored.text[a:b] in lacking for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
        return starts, ends, np.where(unknown, math.inf, math.nan), np.zeros(len(starts), np.int64), unknown
    spans = TokenSpans.of(scored.spans)
    seen = np.flatnonzero(spans.visible >= 0)
    # The last word that begins before a span's last visible character ends.
    last = np.searchsorted(starts, spans.visible[seen], side="left") - 1
    words = np.append(np.maximum.accumulate(last.clip(min=0)), len(starts) - 1)
    words = words[np.searchsorted(seen, np.arange(len(spans)))]  # (spans,); white space is of the word after it
    places = np.arange(len(starts))
    first, past = np.searchsorted(words, places), np.searchsorted(words, places, side="right")
    filled = first < past
    bits = np.full(len(starts), math.nan)
    bits[filled] = spans.bits[first[filled]] + 0.0
    for at in np.flatnonzero(past - first > 1).tolist():
        some = spans.bits[first[at] : past[at]]
        known = some[~np.isnan(some)].tolist()
        bits[at] = math.fsum(known) if known else math.nan
    tokens, unknown = (np.append(0, np.cumsum(column)) for column in (spans.tokens, spans.unknown))
    return starts, ends, bits, tokens[past] - tokens[first], unknown[past] > unknown[first]
