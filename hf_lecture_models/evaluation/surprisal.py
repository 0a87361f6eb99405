# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The surprisal, -log2 P, of the pieces of a text, for one model, or for several with different tokens.

A causal language model gives the probability of a piece after the text before it, and that of the text's end. A model
of masked words gives the probability of a piece between all others (`pseudo_likelihood`), and none to the text's end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForPreTraining

from hf_lecture_models.evaluation.encoding import token_ends
from hf_lecture_models.evaluation.language_model import PerplexityAccumulator
from hf_lecture_models.evaluation.made_items import MadeItems
from hf_lecture_models.evaluation.pseudo_likelihood import pseudo_log_likelihoods
from hf_lecture_models.evaluation.scoring import TextScore, score_stream, score_texts
from hf_lecture_models.io.auto_classes import learns_next_sentences, model_classes
from hf_lecture_models.tokenization.splitting import WORD

SENTENCE_PAIRS = {
    "English": [
        ("The parcel was secured by grey tape .", "The parcel was secured by great ape ."),
        ("he was a lighthouse keeper", "he was a light housekeeper"),
        ("I do not like to teach early in the morning", "I do not like teaching early in the morning"),
    ],
    "French": [
        ("les enfants ont dansé sur la plage", "les enfants ont dansés sur la plage"),
        ("les enfants ont dansé sur la plage", "les enfants ont dansée sur la plage"),
    ],
}
"""The lectures' pairs (slides R:180-190, Y:21-51) in WikiText's tokens; the better one, if a slide says, is first."""

CAUSAL, MASKED = "causal", "masked"


@dataclass(slots=True)
class TokenSpan:
    """A span of a text, with the summed surprisal of its tokens."""

    text: str
    bits: float
    """Surprisal; NaN for the end of a text if the model gives it no probability."""
    end: int | None = None
    """The position after its last visible character; None for white space alone, and for the end of the text."""
    unknown: bool = False
    tokens: int = 1
    """0 for the end of a text that the model gives no probability."""


class TokenSpans(MadeItems[TokenSpan]):
    """The spans of a text as arrays, since there may be millions; a `TokenSpan` is made when it is asked for.

    >>> spans = TokenSpans("a b", *map(np.array, ([1, 3], [0.5, 2.0], [1, 3], [False, True], [1, 1])))
    >>> len(spans), spans[-1]
    (2, TokenSpan(text=' b', bits=2.0, end=3, unknown=True, tokens=1))

    Attributes:
        text: the text.
        ends: (spans,) int64, where each span ends.
        bits: (spans,) float64.
        visible: (spans,) int64, the `end` of each `TokenSpan`, or -1 for None.
        unknown: (spans,) bool.
        tokens: (spans,) int64.
    """

    def __init__(
        self,
        text: str,
        ends: np.ndarray,
        bits: np.ndarray,
        visible: np.ndarray,
        unknown: np.ndarray,
        tokens: np.ndarray,
    ) -> None:
        super().__init__(len(ends))
        self.text, self.ends = text, ends
        self.bits, self.visible, self.unknown, self.tokens = bits, visible, unknown, tokens

    @classmethod
    def of(cls, spans: Sequence[TokenSpan]) -> TokenSpans:
        """Return spans as arrays; those that are whole arrays already as they are."""
        if isinstance(spans, TokenSpans) and spans.is_whole:
            return spans
        ends = np.cumsum([len(span.text) for span in spans], dtype=np.int64)
        visible = np.array([-1 if span.end is None else span.end for span in spans], np.int64)
        bits = np.array([span.bits for span in spans], np.float64)
        unknown = np.array([span.unknown for span in spans], bool)
        tokens = np.array([span.tokens for span in spans], np.int64)
        return cls("".join(span.text for span in spans), ends, bits, visible, unknown, tokens)

    def _make(self, begin: int, end: int) -> Iterator[TokenSpan]:
        ends = self.ends[begin:end].tolist()
        starts = [int(self.ends[begin - 1]) if begin else 0, *ends[:-1]]
        texts = map(self.text.__getitem__, map(slice, starts, ends))
        visible = (None if place < 0 else place for place in self.visible[begin:end].tolist())
        bits, unknown, tokens = (column[begin:end].tolist() for column in (self.bits, self.unknown, self.tokens))
        return map(TokenSpan, texts, bits, visible, unknown, tokens)


@dataclass(frozen=True)
class ScoredText:
    """A text scored by one model: its spans, with the end of the text last, and its measures.

    A text that a closed vocabulary cannot encode has no spans, and probability 0.
    """

    text: str
    spans: Sequence[TokenSpan]
    measures: dict[str, Any]
    unknown_words: tuple[str, ...] = ()

    @property
    def possible(self) -> bool:
        """False if a closed vocabulary cannot encode the text."""
        return bool(self.spans)

    @property
    def bits(self) -> float:
        """-log2 of the probability of the text and its end."""
        return -self.measures["log_prob"] / math.log(2)


def kind_of(model: Any) -> str | None:
    """Return "causal" for a model of P(text), "masked" for one of P(word | the others), None for any other model.

    >>> from transformers import BertConfig, BertForMaskedLM, BertModel
    >>> config = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
    >>> kind_of(BertForMaskedLM(config)), kind_of(BertModel(config))
    ('masked', None)
    """

    def built_by(auto_class: Any) -> bool:
        return isinstance(model, model_classes(auto_class, type(model.config)))

    if built_by(AutoModelForCausalLM):
        return CAUSAL
    if built_by(AutoModelForMaskedLM) or (built_by(AutoModelForPreTraining) and learns_next_sentences(model)):
        return MASKED
    # No table has a class that came with its model's files.
    return CAUSAL if model.can_generate() and not model.config.is_encoder_decoder else None


def score_text(model: Any, tokenizer: Any, text: str) -> ScoredText:
    """Score one text, span by span, with a causal or a masked language model.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["the cat sat", "the cat ran"])
    >>> model = NGramForCausalLM.fit(["the cat sat", "the cat ran"], tokenizer, order=2, smoothing="maximum_likelihood")
    >>> [(span.text, round(span.bits, 2) + 0) for span in score_text(model, tokenizer, "the cat sat").spans]
    [('the', 0.0), (' cat', 0.0), (' sat', 1.0), ('', 0.0)]

    Raises:
        ValueError: the model is not a language model; or as `score_texts` and `pseudo_log_likelihoods`.
    """
    return score_spans(model, tokenizer, [text])[0]


def score_spans(
    model: Any, tokenizer: Any, texts: Sequence[str], stream: bool = False, batch_size: int = 16
) -> list[ScoredText]:
    """Score several texts, as `score_text` does one.

    Args:
        model, tokenizer: a causal or a masked language model with its tokenizer.
        texts: each is scored by itself.
        stream: score each text given all texts before it; needs a causal language model.
        batch_size: the most texts, or copies of a text with a masked token, that are read together.

    Raises:
        ValueError: as `score_text`; the tokenizer gives no offsets; `stream` with a model of masked words.
    """
    kind = kind_of(model)
    if kind is None:
        raise ValueError(
            f"{type(model).__name__} gives words no probability, so they have no surprisal; choose a language model, "
            "causal or of masked words"
        )
    if not tokenizer.is_fast:
        raise ValueError(f"{type(tokenizer).__name__} does not say where its tokens stand in the text; use a fast one")
    if kind == MASKED and stream:
        raise ValueError(f"{type(model).__name__} reads one text at a time, so texts make no stream; leave stream out")
    if kind == MASKED:
        return [_masked(tokenizer, one) for one in pseudo_log_likelihoods(model, tokenizer, texts, batch_size)]
    score = score_stream if stream else score_texts
    return [causal_spans(model, tokenizer, one) for one in score(model, tokenizer, texts, batch_size=batch_size)]


def causal_spans(model: Any, tokenizer: Any, score: TextScore) -> ScoredText:
    """Return the spans of a text whose tokens a causal model has scored, from `score_texts` or `score_stream`."""
    sums = PerplexityAccumulator(model, tokenizer)
    sums.add([score])
    bits = -score.log_probs / math.log(2)
    spans = _spans(tokenizer, score, bits[:-1], float(bits[-1])) if score.encoded.possible else []
    return ScoredText(score.encoded.text, spans, sums.measures(), score.encoded.unknown_words)


def _masked(tokenizer: Any, score: TextScore) -> ScoredText:
    bits = -score.log_probs / math.log(2)
    spans = _spans(tokenizer, score, bits, math.nan) if score.encoded.possible else []
    measures = {"tokens": len(score.ids), "unknown": len(score.encoded.unknown_words), "log_prob": score.log_prob}
    return ScoredText(score.encoded.text, spans, measures, score.encoded.unknown_words)


def _spans(tokenizer: Any, score: TextScore, bits: np.ndarray, last: float) -> TokenSpans:
    """Return a span for each token with the white space before it, and one for the text's end.

    Several tokens of one character are one span.
    """
    text = score.encoded.text
    ends_of_tokens = np.array(token_ends(tokenizer, text), np.int64)
    # Bytes of one character end at the same place.
    first = np.flatnonzero(np.diff(ends_of_tokens, prepend=-1))
    ends, tokens = ends_of_tokens[first], np.diff(first, append=len(ends_of_tokens))
    sums = bits[first] + 0.0  # of -0.0 it makes 0.0
    for at in np.flatnonzero(tokens > 1).tolist():
        sums[at] = math.fsum(bits[first[at] : first[at] + tokens[at]].tolist())
    unknown = np.zeros(len(first), bool)
    unknown[np.searchsorted(first, np.array(score.encoded.unknown_tokens, np.int64), side="right") - 1] = True
    visible = _visible_ends(text, ends)
    columns = ((ends, len(text)), (sums, last), (visible, -1), (unknown, False), (tokens, not math.isnan(last)))
    return TokenSpans(text, *(np.append(column, end) for column, end in columns))


def _visible_ends(text: str, ends: np.ndarray) -> np.ndarray:
    """Return where the last visible character of each span ends; -1 for spans of white space alone.

    >>> _visible_ends("a  bc d ", np.array([1, 2, 4, 5, 6, 8])).tolist()
    [1, -1, 4, 5, -1, 7]
    """
    words = word_places(text)
    starts = np.append(0, ends[:-1])
    complete = np.searchsorted(words[:, 1], ends, side="right")  # words that end within or before the span
    within = np.append(words[:, 0], len(text) + 1)[complete]
    visible = np.where(complete > np.append(0, complete[:-1]), np.append(-1, words[:, 1])[complete], -1)
    return np.where(np.maximum(starts, within) < ends, ends, visible)


def word_places(text: str) -> np.ndarray:
    """Return where the words of a text begin and end, (words, 2) int64.

    >>> word_places("so  be").tolist()
    [[0, 2], [4, 6]]
    """
    spaces = _spaces()
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    inside = ~spaces[np.minimum(codes, len(spaces) - 1)]
    return np.flatnonzero(np.diff(inside, prepend=False, append=False)).reshape(-1, 2)


@cache
def _spaces() -> np.ndarray:
    """Return which of the first characters of Unicode split words, (characters,) bool; no later one does."""
    return np.array([WORD.match(chr(code)) is None for code in range(0x3002)])


def align_spans(scored: Sequence[ScoredText], text: str) -> list[ScoredText]:
    """Cut one text into the same spans for all models that scored it.

    A span ends where every tokenizer ends a token; in a text of several words, only at the end of a word.

    >>> words = ScoredText("so be it", [TokenSpan("so", 2.0, 2), TokenSpan(" be it", 4.0, 8), TokenSpan("", 1.0)], {})
    >>> pairs = ScoredText("so be it", [TokenSpan("so be", 3.0, 5), TokenSpan(" it", 2.0, 8), TokenSpan("", 0.5)], {})
    >>> [[(span.text, span.bits) for span in one.spans] for one in align_spans([words, pairs], "so be it")]
    [[('so be it', 6.0), ('', 1.0)], [('so be it', 5.0), ('', 0.5)]]
    """
    ends = [{span.end for span in one.spans} - {None} for one in scored if one.possible]
    cuts = set.intersection(*ends) if ends else set()
    words = {match.end() for match in WORD.finditer(text)}
    if len(words) > 1:
        cuts &= words
    return [ScoredText(text, _joined(one.spans, cuts), one.measures, one.unknown_words) for one in scored]


def _joined(spans: Sequence[TokenSpan], cuts: set[int | None]) -> list[TokenSpan]:
    """Join spans to longer ones that end at `cuts`, and a last one for the rest."""
    joined: list[TokenSpan] = []
    group: list[TokenSpan] = []
    for number, span in enumerate(spans, start=1):
        group.append(span)
        if span.end in cuts or number == len(spans):
            text, bits = "".join(one.text for one in group), [one.bits for one in group if not math.isnan(one.bits)]
            total = math.fsum(bits) if bits else math.nan
            unknown, tokens = any(one.unknown for one in group), sum(one.tokens for one in group)
            joined.append(TokenSpan(text, total, span.end, unknown, tokens))
            group = []
    return joined
