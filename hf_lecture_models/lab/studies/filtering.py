# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Keep the texts of a corpus that a language model finds probable: a perplexity filter.

Four figures of a text can be compared, as `evaluation.language_model` defines them for many: `perplexity` per token,
`word_perplexity` per word, `bits_per_byte`, which spells unknown words, and `perplexity_without_unk` per token of known
words. A text without a word (None, an empty or a blank one) has the figure NaN and is never kept; nor is one of
probability 0, whose figure is infinite.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np

from hf_lecture_models.evaluation.language_model import check_distribution, check_texts, text_chunks
from hf_lecture_models.evaluation.score_sums import ScoreSums
from hf_lecture_models.evaluation.scoring import TextScores, score_texts

_BATCH = 64


def text_perplexities(
    model: Any,
    tokenizer: Any,
    texts: Iterable[str | None],
    measure: str = "perplexity",
    batch_size: int | None = None,
) -> np.ndarray:
    """Return the perplexity of each text by itself, (texts,) float64: NaN for a blank text, infinity for P = 0.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["the cat sat", "the cat ran"])
    >>> model = NGramForCausalLM.fit(["the cat sat", "the cat ran"], tokenizer, order=2, smoothing="add_alpha")
    >>> text_perplexities(model, tokenizer, ["the cat sat", "sat cat the", ""]).round(2)
    array([3.16, 7.74,  nan])

    Args:
        model, tokenizer: any causal language model of transformers, and its tokenizer or `SentencePieceWords`.
        texts: the texts; None is a missing one.
        measure: "perplexity" (per token), "word_perplexity", "bits_per_byte" or "perplexity_without_unk".
        batch_size: the most texts per batch, by default 64; an n-gram looks up 4,096 texts at once.

    Raises:
        TypeError: `texts` is one str, or holds something else.
        ValueError: `measure` is unknown, the model's scores do not sum to one, or as `score_texts`.
    """
    unit = _unit(measure)
    nats = _concatenated(_nats(model, tokenizer, chunk, measure, batch_size) for chunk in _chunks(texts))
    with np.errstate(over="ignore"):
        return nats / math.log(2) if unit.is_bits else np.exp(nats)


def _chunks(texts: Iterable[str | None]) -> Iterator[list[str | None]]:
    check_texts(texts)
    return text_chunks(texts)


def _concatenated(arrays: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *arrays])


def _nats(model: Any, tokenizer: Any, texts: list[str | None], measure: str, batch_size: int | None) -> np.ndarray:
    """Return the cross-entropy of each text in nats per unit of the measure, (texts,); see `text_perplexities`.

    Raises:
        TypeError, ValueError: as `text_perplexities`.
    """
    unit = _unit(measure)
    check_distribution(model)
    given = ["" if text is None else text for text in texts] if None in texts else texts
    scores = score_texts(model, tokenizer, given, batch_size=batch_size or _BATCH)
    nats, size = unit.nats_and_size(scores)
    # A text may have words, and all their characters be removed by its tokenizer.
    encoded = scores.encoded
    return np.where((encoded.words == 0) | (encoded.possible & (encoded.lengths == 0)), math.nan, nats / size)


def _by_tokens(scores: TextScores) -> tuple[np.ndarray, np.ndarray]:
    return -scores.log_probs, np.maximum(scores.lengths, 1)


def _by_words(scores: TextScores) -> tuple[np.ndarray, np.ndarray]:
    return -scores.log_probs, scores.encoded.words + 1


def _by_bytes(scores: TextScores) -> tuple[np.ndarray, np.ndarray]:
    sums = ScoreSums.of(scores)
    return sums.nats + math.log(2) * sums.spelling_bits, sums.bytes


def _by_known_tokens(scores: TextScores) -> tuple[np.ndarray, np.ndarray]:
    sums = ScoreSums.of(scores)
    return np.where(scores.encoded.possible, sums.known_nats, math.inf), np.maximum(sums.known_tokens, 1)


@dataclass(frozen=True)
class _Unit:
    """A measure: the nats of each text, and the number of tokens, words or bytes that share them, both (texts,)."""

    nats_and_size: Callable[[TextScores], tuple[np.ndarray, np.ndarray]]
    is_bits: bool = False
    is_of_tokens: bool = False


_UNITS = {
    "perplexity": _Unit(_by_tokens, is_of_tokens=True),
    "word_perplexity": _Unit(_by_words),
    "bits_per_byte": _Unit(_by_bytes, is_bits=True),
    "perplexity_without_unk": _Unit(_by_known_tokens, is_of_tokens=True),
}
MEASURES = tuple(_UNITS)
"""The figures that can be compared."""


def _unit(measure: str) -> _Unit:
    if measure not in _UNITS:
        raise ValueError(f"measure is {measure!r}; it must be one of {', '.join(map(repr, MEASURES))}")
    return _UNITS[measure]


def fraction_threshold(values: np.ndarray, keep: float) -> float:
    """Return the figure up to which texts are kept, so that they are the fraction `keep` of those with a word.

    Texts with the same figure are kept or left out together, so a few more than the fraction may be kept. The threshold
    is infinite where the fraction reaches texts of probability 0, and minus infinity where it is less than one text.

    >>> fraction_threshold(np.array([5.0, np.nan, 1.0, 3.0, np.inf]), 0.5)
    3.0

    Args:
        values: (texts,), as `text_perplexities` returns them.
        keep: the fraction, above 0 and at most 1; it is rounded to whole texts.

    Raises:
        ValueError: `keep` is outside its range.
    """
    if not 0 < keep <= 1:
        raise ValueError(f"keep is {keep}; it must be above 0 and at most 1, such as 0.3")
    ordered = np.sort(values[~np.isnan(values)])
    count = round(keep * len(ordered))
    return float(ordered[count - 1]) if count else -math.inf


@dataclass
class PerplexityLimits:
    """Decides which texts are kept by their figures, and counts them.

    >>> limits = PerplexityLimits(most=3.0)
    >>> limits.keeps(np.array([5.0, np.nan, 1.0, 3.0, np.inf])), limits.kept, limits.texts
    (array([False, False,  True,  True, False]), 2, 5)

    Attributes:
        most, least: texts between these two figures are kept, both included.
        texts, kept: texts so far, and those that were kept.
        blank, impossible: texts without a word, and of probability 0.
    """

    most: float = math.inf
    least: float = -math.inf
    texts: int = field(default=0, init=False)
    kept: int = field(default=0, init=False)
    blank: int = field(default=0, init=False)
    impossible: int = field(default=0, init=False)

    def keeps(self, values: np.ndarray) -> np.ndarray:
        """Return which texts are kept, (texts,) bool."""
        kept = np.isfinite(values) & (values <= self.most) & (values >= self.least)
        self.texts += len(values)
        self.kept += int(kept.sum())
        self.blank += int(np.isnan(values).sum())
        self.impossible += int(np.isinf(values).sum())
        return kept


def filter_texts(
    model: Any,
    tokenizer: Any,
    texts: Iterable[str],
    keep: float | None = None,
    most: float = math.inf,
    least: float = -math.inf,
    measure: str = "perplexity",
    batch_size: int | None = None,
) -> Iterator[str]:
    """Yield the texts that the model finds most probable, in their order.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> texts = ["the cat sat", "cat the the sat", "the cat ran", ""]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> model = NGramForCausalLM.fit(["the cat sat", "the cat ran"], tokenizer, order=2, smoothing="add_alpha")
    >>> list(filter_texts(model, tokenizer, texts, keep=0.67))
    ['the cat sat', 'the cat ran']

    Args:
        keep: the fraction of the texts with the lowest figures; all texts are scored, and held, before the first comes.
        most, least: in place of `keep`, the figures between which texts are kept; these are yielded chunk by chunk.
        model, tokenizer, texts, measure, batch_size: as for `text_perplexities`.

    Raises:
        TypeError, ValueError: as `text_perplexities` and `fraction_threshold`; or `keep` goes together with limits.
    """
    check_texts(texts)

    def figures(chunk: list[str]) -> np.ndarray:
        return text_perplexities(model, tokenizer, chunk, measure, batch_size)

    scored: Iterable[tuple[list[str], np.ndarray]]
    if keep is None:
        scored = ((chunk, figures(chunk)) for chunk in text_chunks(texts))
        limits = PerplexityLimits(most, least)
    elif (most, least) == (math.inf, -math.inf):
        held = list(texts)
        values = figures(held)
        scored = [(held, values)]
        limits = PerplexityLimits(fraction_threshold(values, keep))
    else:
        raise ValueError("give either keep, a fraction, or limits, most and least")
    for chunk, values in scored:
        yield from compress(chunk, limits.keeps(values).tolist())
