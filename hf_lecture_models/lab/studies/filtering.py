# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Keep the texts of a corpus that a language model finds probable: a perplexity filter.

Four figures of a text can be compared, as `evaluation.language_model` defines them for many: `perplexity` per token,
`word_perplexity` per word, `bits_per_byte`, which spells unknown words, and `perplexity_without_unk` per token of known
words. A text without a word (None, an empty or a blank one) has the figure NaN and is never kept; nor is one of
probability 0, whose figure is infinite.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np

from hf_lecture_models.evaluation.language_model import check_distribution, check_texts, text_chunks
from hf_lecture_models.evaluation.scoring import TextScore, score_texts
from hf_lecture_models.tokenization.splitting import split_words

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
    if measure not in _MEASURES:
        raise ValueError(f"measure is {measure!r}; it must be one of {', '.join(map(repr, _MEASURES))}")
    check_distribution(model)
    figure = _MEASURES[measure]
    batch_size = batch_size or _BATCH
    found = [np.zeros(0)]
    for chunk in text_chunks(texts):
        values = np.full(len(chunk), math.nan)
        places = [place for place, text in enumerate(chunk) if not _is_blank(text)]
        scores = score_texts(model, tokenizer, [chunk[place] for place in places], batch_size=batch_size)
        with np.errstate(over="ignore"):
            values[places] = [math.nan if _has_no_token(one) else figure(one) for one in scores]
        found.append(values)
    return np.concatenate(found)


def _is_blank(text: Any) -> bool:
    return text is None or (isinstance(text, str) and not split_words(text))


def _has_no_token(score: TextScore) -> bool:
    # A text of characters that its tokenizer removes.
    return score.encoded.possible and not len(score.encoded.ids)


def _per_token(score: TextScore) -> float:
    return float(np.exp(-score.log_prob / len(score.log_probs)))


def _per_known_token(score: TextScore) -> float:
    if not score.encoded.possible:
        return math.inf
    return float(np.exp(-score.known_log_prob / (len(score.log_probs) - len(score.encoded.unknown_tokens))))


def _per_word(score: TextScore) -> float:
    return float(np.exp(-score.log_prob / (score.encoded.words + 1)))


def _bits_per_byte(score: TextScore) -> float:
    bits = -score.log_prob / math.log(2) + score.encoded.oov_spelling_bits
    return bits / (len(score.encoded.text.encode()) + 1)


_MEASURES = {
    "perplexity": _per_token,
    "word_perplexity": _per_word,
    "bits_per_byte": _bits_per_byte,
    "perplexity_without_unk": _per_known_token,
}
MEASURES = tuple(_MEASURES)
"""The figures that can be compared."""


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
