# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Perplexity and bits per byte of a causal language model, comparable across vocabularies.

Perplexity (which no slide names) is the exponential of the mean negative log-likelihood per token, so it depends on
the tokens. Bits per byte do not: they are the length of a code for the text, which spells out each word outside the
vocabulary (OOV).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Protocol

import numpy as np

from hf_lecture_models.base.traits import trait
from hf_lecture_models.evaluation.encoding import unknown_tokens
from hf_lecture_models.evaluation.score_sums import ScoreSums
from hf_lecture_models.evaluation.scoring import ContextLimit, TextScore, score_stream_chunks, score_texts
from hf_lecture_models.io.progress import ProgressBar

CHUNK = 4096
"""Texts scored together: enough to sort by length, few enough to hold."""


class PerplexityAccumulator:
    """Adds up the scores of texts, and computes all measures from the sums.

    - `perplexity`, `word_perplexity`: exp(negative log-likelihood per token, or per word split at white space); each
      text has one `</s>`, which counts in both. `..._without_unk` leave the positions of unknown words out;
    - `bits_per_byte`: of a code for the UTF-8 of each text and its end. The spelling of each unknown word, whatever
      its class, adds 8 bits per byte and one end byte. `bits_per_byte_excluding_oov` leaves these bits out, so a code
      cannot have this length;
    - `tokens`, `words`, `bytes`, `texts`, `log_prob` (natural, of all texts), and `unknown`, the number of words with
      an unknown token or one of a class of unknown words (a literal `<unk>` that is one token is an ordinary word);
    - the conditions of the figures: `vocab_size`, `unk_token`, `unk_classes` (their number, or None), `stream`, and
      `window` and `stride` in tokens if texts were longer than the model's longest input (else None).

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["the cat sat", "the cat ran"])
    >>> model = NGramForCausalLM.fit(["the cat sat", "the cat ran"], tokenizer, order=2, smoothing="maximum_likelihood")
    >>> sums = PerplexityAccumulator(model, tokenizer)
    >>> sums.add(score_texts(model, tokenizer, ["the cat sat", "the cat ran"]))
    >>> sums.measures()["tokens"], round(sums.measures()["perplexity"], 4)
    (8, 1.1892)
    """

    def __init__(self, model: Any, tokenizer: Any, stream: bool = False) -> None:
        check_distribution(model)
        self.vocab_size, self.unk_token = model.config.vocab_size, tokenizer.unk_token
        self.unk_classes = len(unknown_tokens(tokenizer)) - 1
        self.limit, self.stream = ContextLimit.of(model), stream
        self.texts = self.tokens = self.words = self.bytes = self.unknown = self.oov_spelling_bits = 0
        self.nats = 0.0
        self.known_tokens = self.known_words = 0
        self.known_nats = 0.0
        self.longest_row = 0

    def add(self, scores: Sequence[TextScore]) -> None:
        """Add terminated texts. A text that cannot be encoded has probability 0 and no known positions."""
        sums = ScoreSums.of(scores)
        rows = sums.read + 1
        self.longest_row = (
            self.longest_row + int(rows.sum()) if self.stream else max([self.longest_row, *rows.tolist()])
        )
        self.texts += len(rows)
        self.bytes += int(sums.bytes.sum())
        self.tokens += int(sums.tokens.sum())
        self.known_tokens += int(sums.known_tokens.sum())
        self.words += int(sums.words.sum())
        self.known_words += int(sums.known_words.sum())
        self.unknown += int(sums.unknown.sum())
        self.oov_spelling_bits += int(sums.spelling_bits.sum())
        self.nats, self.known_nats = _added_up(self.nats, sums.nats), _added_up(self.known_nats, sums.known_nats)

    def measures(self) -> dict[str, Any]:
        """Return all measures of the added texts, which the class lists.

        Raises:
            ValueError: no text was added.
        """
        if not self.texts:
            raise ValueError("no texts to evaluate; an empty text is '', and an empty list measures nothing")
        bits = self.nats / math.log(2)
        windowed = not self.limit.exact and self.longest_row > self.limit.longest
        return {
            "perplexity": _exp(self.nats, self.tokens),
            "perplexity_without_unk": _exp(self.known_nats, self.known_tokens),
            "word_perplexity": _exp(self.nats, self.words),
            "word_perplexity_without_unk": _exp(self.known_nats, self.known_words),
            "bits_per_byte": (bits + self.oov_spelling_bits) / self.bytes,
            "tokens": self.tokens,
            "words": self.words,
            "bytes": self.bytes,
            "unknown": self.unknown,
            "bits_per_byte_excluding_oov": bits / self.bytes,
            "texts": self.texts,
            "log_prob": -self.nats,
            "vocab_size": self.vocab_size,
            "unk_token": self.unk_token,
            "unk_classes": self.unk_classes if self.unk_classes > 0 else None,
            "stream": self.stream,
            "window": self.limit.longest if windowed else None,
            "stride": self.limit.longest - self.limit.overlap if windowed else None,
        }


def check_distribution(model: Any) -> None:
    """Check that a model's scores are logarithms of probabilities.

    Raises:
        ValueError: they do not sum to one.
    """
    if not trait(model, "is_distribution"):
        raise ValueError(
            f"the scores of this {type(model).__name__} (smoothing={model.config.smoothing!r}) do not sum to one, "
            "so they give no perplexity and no bits per byte; rank sentences, or fit with another smoothing"
        )


def _added_up(total: float, values: np.ndarray) -> float:
    """Return total + values[0] + values[1] ..., in this order, which chunks of texts do not change."""
    return float(np.cumsum(np.concatenate([[total], values]))[-1])


def _exp(nats: float, count: int) -> float:
    """Return exp(nats / count): infinity above the largest float, NaN if nothing was counted."""
    if count == 0:
        return math.nan
    try:
        return math.exp(nats / count)
    except OverflowError:
        return math.inf


class Scorer(Protocol):
    """A function like `score_texts` and `score_stream`, but with another way to compute the probability of a text."""

    @property
    def stream(self) -> bool:
        """True if the texts of a call follow each other."""

    def __call__(
        self, model: Any, tokenizer: Any, texts: Sequence[str], *, batch_size: int = 64, progress: bool = False
    ) -> Sequence[TextScore]:
        """Return the score of each text, with its end."""

    def conditions(self, model: Any) -> dict[str, str]:
        """Return what is to be stated beside the measures."""


def evaluate_language_model(
    model: Any,
    tokenizer: Any,
    texts: Iterable[str],
    stream: bool = False,
    batch_size: int = 64,
    progress: bool = True,
    score: Scorer | None = None,
) -> dict[str, Any]:
    """Measure a causal language model on texts.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> texts = ["the cat sat", "the cat ran"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha")
    >>> measures = evaluate_language_model(model, tokenizer, ["the cat sat", "the dog sat"])
    >>> {key: round(measures[key], 3) for key in ("perplexity", "bits_per_byte", "tokens", "unknown")}
    {'perplexity': 3.812, 'bits_per_byte': 1.977, 'tokens': 8, 'unknown': 1}

    Args:
        model, tokenizer: any causal language model of transformers, and its tokenizer.
        texts: each item is one text that ends in `</s>`; one may be empty.
        stream: carry state and context across texts. By default each text is scored by itself. A few thousand texts
            are held at a time; all of them for a stream, unless the model is an n-gram.
        batch_size, progress: the most texts per batch, fewer if the logits would not fit; and whether to show a bar.
        score: computes the scores; by default `score_texts`, or `score_stream` with `stream`.

    Returns:
        The measures that `PerplexityAccumulator` lists, and the conditions of `score`.

    Raises:
        ValueError, TypeError: no texts, a tokenizer of another model, scores that are NaN or do not sum to one, a
            `score` for streams without `stream` or the reverse; or as `score`.
    """
    check_texts(texts)
    _check_scorer(score, stream)
    sums = PerplexityAccumulator(model, tokenizer, stream)
    chunks = _chunks(texts, whole=stream and score is not None, progress=progress)
    options: dict[str, Any] = {"batch_size": batch_size, "progress": progress}
    each = map(partial(score or score_texts, model, tokenizer, **options), chunks)
    for scores in score_stream_chunks(model, tokenizer, chunks, **options) if stream and score is None else each:
        sums.add(scores)
    return sums.measures() | ({} if score is None else score.conditions(model))


def _check_scorer(score: Scorer | None, stream: bool) -> None:
    if score is not None and score.stream != stream:
        rule = "texts that follow each other: give stream=True" if score.stream else "each text by itself: not a stream"
        raise ValueError(f"{type(score).__name__} scores {rule}")


def _chunks(texts: Iterable[str], whole: bool, progress: bool) -> Iterator[list[str]]:
    """Yield the texts in lists, or all at once if `whole`, with a report of the progress."""
    total = len(texts) if isinstance(texts, Sequence) else None
    with ProgressBar(total=total, desc="evaluating", unit=" texts", shown=progress) as bar:
        for chunk in [list(texts)] if whole else text_chunks(texts):
            yield chunk
            bar.update(len(chunk))


def check_texts(texts: Any) -> None:
    """Check that texts are several.

    Raises:
        TypeError: they are one str.
    """
    if isinstance(texts, str | bytes):
        raise TypeError("expected a list of texts, got one text; write [text]")


def text_chunks(texts: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield texts in lists of at most `CHUNK`.

    >>> list(text_chunks(iter(["a", "b"])))
    [['a', 'b']]
    """
    remaining = iter(texts)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk
