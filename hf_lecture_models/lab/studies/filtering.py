# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Keep the texts of a corpus that a language model finds probable: a perplexity filter.

With a second model, texts are compared by the difference of two cross-entropies: R. Moore, W. Lewis, Intelligent
Selection of Language Model Training Data, 2010. Head, middle and tail are those of CCNet: G. Wenzek et al., CCNet:
Extracting High Quality Monolingual Datasets from Web Crawl Data, 2020.

Four figures of a text can be compared, as `evaluation.language_model` defines them for many: `perplexity` per token,
`word_perplexity` per word, `bits_per_byte`, which spells unknown words, and `perplexity_without_unk` per token of known
words. A text without a word (None, an empty or a blank one) has the figure NaN and is never kept; nor is one of
probability 0, whose figure is infinite.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from typing import Any

import numpy as np

from hf_lecture_models.evaluation.language_model import check_distribution, check_texts, text_chunks
from hf_lecture_models.evaluation.score_sums import ScoreSums
from hf_lecture_models.evaluation.scoring import TextScores, score_texts
from hf_lecture_models.tokenization.sentencepiece_words import SentencePieceWords

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
    check_texts(texts)
    unit = _unit(measure)
    check_distribution(model)
    chunks = (_nats(model, tokenizer, chunk, unit, batch_size) for chunk in text_chunks(texts))
    nats = np.concatenate([np.zeros(0), *chunks])
    with np.errstate(over="ignore"):
        return nats / math.log(2) if unit.is_bits else np.exp(nats)


def text_differences(
    model: Any,
    tokenizer: Any,
    other_model: Any,
    other_tokenizer: Any,
    texts: Iterable[str | None],
    measure: str = "perplexity",
    batch_size: int | None = None,
) -> np.ndarray:
    """Return the cross-entropy of each text by one model minus that by another, in bits, (texts,) float64.

    Lower: more like the texts of the first model (Moore and Lewis 2010). NaN: blank. Infinity: P = 0 by either model.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> good, all_texts = ["the cat sat", "the cat ran"], ["the cat sat", "cat the cat", "sat ran the"]
    >>> tokenizer = WordTokenizer.train(all_texts)
    >>> model, other = (NGramForCausalLM.fit(x, tokenizer, order=2, smoothing="add_alpha") for x in (good, all_texts))
    >>> text_differences(model, tokenizer, other, tokenizer, ["the cat ran", "sat ran the", None]).round(2)
    array([-0.77,  0.87,   nan])

    Args:
        model, tokenizer: the model of the wanted texts; see `text_perplexities`.
        other_model, other_tokenizer: the model of texts in general; it may be of another kind.
        measure: "perplexity" and "perplexity_without_unk": bits per token, of models with the same tokens alone;
            "word_perplexity": bits per word; "bits_per_byte": bits per byte, in which each model spells the words that
            it does not know.
        texts, batch_size: as for `text_perplexities`.

    Raises:
        TypeError: as `text_perplexities`.
        ValueError: as `text_perplexities`; or the measure counts tokens, and those of the models are different.
    """
    check_texts(texts)
    unit = _unit(measure)
    for one in (model, other_model):
        check_distribution(one)
    _refuse_other_tokens(tokenizer, other_tokenizer, measure)
    found = [np.zeros(0)]
    for chunk in text_chunks(texts):
        nats = _nats(model, tokenizer, chunk, unit, batch_size)
        other_nats = _nats(other_model, other_tokenizer, chunk, unit, batch_size)
        nats[np.isinf(other_nats)], other_nats[np.isinf(other_nats)] = math.inf, 0.0
        found.append((nats - other_nats) / math.log(2))
    return np.concatenate(found)


def _refuse_other_tokens(tokenizer: Any, other: Any, measure: str) -> None:
    if _unit(measure).is_of_tokens and not _have_same_tokens(tokenizer, other):
        raise ValueError(
            f"`measure` is {measure!r}, per token, and the two models have different tokens; choose bits_per_byte, in "
            "which each model spells the words that it does not know, or word_perplexity"
        )


def _have_same_tokens(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, SentencePieceWords):
        return one.has_tokens_of(other)
    if not hasattr(one, "backend_tokenizer"):
        return one.get_vocab() == other.get_vocab()
    return one.backend_tokenizer.to_str() == other.backend_tokenizer.to_str()


def _nats(model: Any, tokenizer: Any, texts: list[Any], unit: "_Unit", batch_size: int | None) -> np.ndarray:
    """Return the cross-entropy of each text, (texts,), in nats per token, word or byte; NaN without a word."""
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
    """How a measure finds the nats of each text, and the tokens, words or bytes that they are divided by."""

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


def percentile_threshold(values: np.ndarray, percentile: float) -> float:
    """Return the least figure of a sample at or below which this percentage of its texts with a word are.

    It is always a figure of the sample (numpy's method "inverted_cdf"), and infinite where the percentile reaches texts
    of probability 0.

    >>> percentile_threshold(np.array([5.0, np.nan, 1.0, 3.0, 4.0]), 50)
    3.0

    Args:
        values: (texts,), as `text_perplexities` or `text_differences` returns them.
        percentile: above 0 and at most 100.

    Raises:
        ValueError: `percentile` is outside its range, or no text has a word.
    """
    if not 0 < percentile <= 100:
        raise ValueError(f"percentile is {percentile}; it must be above 0 and at most 100, such as 30")
    ordered = np.sort(values[~np.isnan(values)])
    if not len(ordered):
        raise ValueError("no text has a word; give texts from which a percentile can be taken")
    # Rounded, since 33.3 * 1000 / 100 might be a little above 333.
    return float(ordered[math.ceil(round(percentile * len(ordered) / 100, 6)) - 1])


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


BUCKETS = ("head", "middle", "tail")
"""CCNet's names of three parts of a corpus, from low to high perplexity."""


@dataclass
class PerplexityBuckets:
    """Divides texts into head, middle and tail by two figures, and counts them.

    >>> buckets = PerplexityBuckets(2.0, 4.0)
    >>> buckets.of(np.array([2.0, 3.0, np.nan, 4.5, np.inf])).tolist(), buckets.counts
    ([0, 1, -1, 2, -1], [1, 1, 1])

    Attributes:
        head, middle: the largest figures of the texts in the head, and in the middle.
        counts: the texts in each of `BUCKETS` so far.
        texts, blank, impossible: all texts so far; texts without a word, and of probability 0, which no bucket has.

    Raises:
        ValueError: `head` is above `middle`, or one of them is NaN.
    """

    head: float
    middle: float
    counts: list[int] = field(default_factory=lambda: [0] * len(BUCKETS), init=False)
    texts: int = field(default=0, init=False)
    blank: int = field(default=0, init=False)
    impossible: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if not self.head <= self.middle:
            raise ValueError(
                f"the head ends at {self.head} and the middle at {self.middle}; give the lower figure first"
            )

    def of(self, values: np.ndarray) -> np.ndarray:
        """Return the bucket of each text, (texts,) int64: 0, 1 or 2, its place in `BUCKETS`; -1 for none."""
        places = np.searchsorted([self.head, self.middle], values, side="left")
        places[~np.isfinite(values)] = -1
        counts = np.bincount(places + 1, minlength=len(BUCKETS) + 1)[1:].tolist()
        self.counts = [before + count for before, count in zip(self.counts, counts, strict=True)]
        self.texts += len(values)
        self.blank += int(np.isnan(values).sum())
        self.impossible += int(np.isinf(values).sum())
        return places


def filter_texts(
    model: Any,
    tokenizer: Any,
    texts: Iterable[str],
    keep: float | None = None,
    most: float = math.inf,
    least: float = -math.inf,
    measure: str = "perplexity",
    batch_size: int | None = None,
    minus: tuple[Any, Any] | None = None,
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
        minus: another model and its tokenizer: the figures are those of `text_differences`.
        model, tokenizer, texts, measure, batch_size: as for `text_perplexities`.

    Raises:
        TypeError, ValueError: as these functions and `fraction_threshold`; or `keep` goes together with limits.
    """
    check_texts(texts)
    function: Any = text_perplexities if minus is None else text_differences
    figures = partial(function, model, tokenizer, *(minus or ()), measure=measure, batch_size=batch_size)
    scored: Iterable[tuple[list[str], np.ndarray]]
    if keep is None:
        scored, limits = ((chunk, figures(chunk)) for chunk in text_chunks(texts)), PerplexityLimits(most, least)
    elif (most, least) == (math.inf, -math.inf):
        held = list(texts)
        scored = [(held, figures(held))]
        limits = PerplexityLimits(fraction_threshold(scored[0][1], keep))
    else:
        raise ValueError("give either keep, a fraction, or limits, most and least")
    for chunk, values in scored:
        yield from compress(chunk, limits.keeps(values).tolist())
