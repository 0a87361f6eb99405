# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The surprisal of each word of a text, summed over its tokens.

Words are split at white space. A token counts for the word in which its last visible character stands, and a token of
white space alone for the word after it, or for the end of the text. So where tokens begin with the blank, as GPT-2's
do, the blank before a word is paid by the word, and that the word ends is paid by the blank of the next one, or by
`</s>`. Oh and Schuler (2024) and Pimentel and Meister (2024) move this cost to the word that ends; nothing is moved
here, so that the words and the end add up to -log2 of the probability of the text.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from hf_lecture_models.evaluation.surprisal import ScoredText, TokenSpan
from hf_lecture_models.tokenization.splitting import WORD


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

    >>> spans = [TokenSpan("un", 3.0, 2), TokenSpan("kind", 1.5, 6), TokenSpan(" word", 8.0, 11), TokenSpan("", 1.0)]
    >>> for word in word_surprisals(ScoredText("unkind word", spans, {})):
    ...     print(repr(word.word), word.start, word.end, word.bits, word.tokens)
    'unkind' 0 6 4.5 2
    'word' 7 11 8.0 1
    '' 11 11 1.0 1
    """
    return list(iterate_words(scored))


def iterate_words(scored: ScoredText) -> Iterator[WordSurprisal]:
    """Yield what `word_surprisals` returns, one by one: a text may have millions of words.

    >>> [word.bits for word in iterate_words(ScoredText("a b", [TokenSpan("a", 3.0, 1), TokenSpan(" b", 2.0, 3)], {}))]
    [3.0, 2.0, nan]
    """
    end = len(scored.text)
    places = chain((match.span() for match in WORD.finditer(scored.text)), [(end, end)])
    place, following = next(places), next(places, None)
    own, waiting = list[TokenSpan](), list[TokenSpan]()
    for span in scored.spans:
        waiting.append(span)
        if span.end is None:
            continue
        while following is not None and following[0] < span.end:
            yield _sum(scored, *place, own)
            own, place, following = [], following, next(places, None)
        own += waiting
        waiting = []
    while following is not None:
        yield _sum(scored, *place, own)
        own, place, following = [], following, next(places, None)
    yield _sum(scored, *place, waiting)


def _sum(scored: ScoredText, start: int, end: int, spans: list[TokenSpan]) -> WordSurprisal:
    word = scored.text[start:end]
    if not scored.possible:
        unknown = word in scored.unknown_words
        return WordSurprisal(word, start, end, math.inf if unknown else math.nan, 0, unknown)
    if len(spans) == 1:
        return WordSurprisal(word, start, end, spans[0].bits + 0.0, spans[0].tokens, spans[0].unknown)
    bits = [span.bits for span in spans if not math.isnan(span.bits)]
    total = math.fsum(bits) if bits else math.nan
    tokens, unknown = sum(span.tokens for span in spans), any(span.unknown for span in spans)
    return WordSurprisal(word, start, end, total, tokens, unknown)
