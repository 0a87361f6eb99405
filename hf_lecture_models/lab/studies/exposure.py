# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Exposure: how much a language model has learnt a secret of its training text by heart (slide Y:652).

Carlini, Liu, Erlingsson, Kos and Song, "The Secret Sharer", USENIX Security 2019. A secret is one of N candidates that
are equally likely before training. All candidates are ranked by their probability:

    exposure = log2 N - log2 rank

It is log2 N for the most probable candidate, and on average about 1.44 bits, log2 e, for a secret that the model has
not seen.

Deviation: of equally probable candidates half count as more probable.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hf_lecture_models.evaluation.scoring import score_texts


@dataclass(frozen=True)
class Exposure:
    """The rank of a secret among the candidates, 1 for the most probable one, and its exposure in bits."""

    rank: float
    bits: float


def exposure_of(log_probs: np.ndarray, place: int) -> Exposure:
    """Return the exposure of the candidate at `place`.

    >>> exposure_of(np.array([-4.0, -2.0, -3.0, -5.0]), 1)
    Exposure(rank=1.0, bits=2.0)
    >>> exposure_of(np.full(3, -np.inf), 0).rank
    2.0

    Args:
        log_probs: (candidates,), one per candidate, the secret among them.

    Raises:
        ValueError: `log_probs` is empty or has NaN.
    """
    if not len(log_probs) or np.isnan(log_probs).any():
        raise ValueError("every candidate needs a log-probability, and there must be one candidate at least")
    mine = log_probs[place]
    rank = 1 + int((log_probs > mine).sum()) + (int((log_probs == mine).sum()) - 1) / 2
    return Exposure(rank, math.log2(len(log_probs)) - math.log2(rank))


def measure_exposure(
    model: Any, tokenizer: Any, prefix: str, secret: str, candidates: Sequence[str], batch_size: int = 512
) -> Exposure:
    """Return the exposure of a secret that stands after a prefix; each candidate is scored in its place.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> texts = ["the number is 4 2", "he saw 1 2 3 4"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=3, smoothing="add_alpha")
    >>> candidates = [f"{first} {second}" for first in range(1, 5) for second in range(1, 5)]
    >>> measure_exposure(model, tokenizer, "the number is", "4 2", candidates)
    Exposure(rank=1.0, bits=4.0)

    Args:
        model, tokenizer: any causal language model of transformers, and its tokenizer.
        prefix: the words before the secret; a blank is put between them.
        secret: one of `candidates`.
        candidates: all texts that are possible in its place, each once.
        batch_size: the most candidates that the model reads at once.

    Raises:
        ValueError: the secret is not a candidate, a candidate occurs twice, or the tokenizer does not know its words,
            so that candidates cannot be told apart; or as `score_texts`.
    """
    if secret not in candidates:
        raise ValueError(f"the secret {secret!r} is not among the candidates")
    if len(set(candidates)) < len(candidates):
        raise ValueError("a candidate occurs twice; give each once")
    texts = [f"{prefix} {candidate}" for candidate in candidates]
    scores = score_texts(model, tokenizer, texts, probability="prefix", batch_size=batch_size)
    for candidate, score in zip(candidates, scores, strict=True):
        if score.encoded.unknown_words:
            raise ValueError(
                f"the tokenizer does not know {', '.join(score.encoded.unknown_words)} of {prefix} {candidate}, so it "
                "cannot tell candidates apart; use words of its vocabulary"
            )
    return exposure_of(np.array([score.log_prob for score in scores]), candidates.index(secret))
