# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The baseline of language models: a unigram, the share of each token in the training texts with one added.

P(token) = (count + 1) / (all counts + size of the vocabulary), at every place, of the tokens that the model predicts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.evaluation.score_sums import ScoreSums
from hf_lecture_models.evaluation.scoring import TextScore, encode_stream, score_stream, score_texts, split_stream
from hf_lecture_models.tasks.core.baselines import Baseline
from hf_lecture_models.tasks.metrics import sums
from hf_lecture_models.tasks.metrics.sums import Sums

MOST_CHARACTERS = 2_000_000
"""About as many characters of the training texts are counted at most, of texts from everywhere among them."""


@dataclass(frozen=True)
class TextSums:
    """The measures of a language model, and the sums of each text.

    Attributes:
        rows: (texts, 8): nats, tokens, words, bits that spell unknown words, bytes; nats, tokens and words without the
            unknown ones.
    """

    measures: dict[str, Any]
    rows: np.ndarray


class Unigram(Baseline):
    """The probabilities of tokens by their counts in the training texts."""

    def learn(self, processor: Any, data: Any, settings: Any) -> dict[str, Any] | None:
        """Return the counts of tokens by their ids; None for streamed texts."""
        if not isinstance(data, Sequence):
            return None
        texts = list(some_texts(data))
        _, stream, predicted = encode_stream(processor, texts)
        ids, counts = np.unique(stream[predicted], return_counts=True)
        return {"name": "unigram", "counts": dict(zip(map(str, ids.tolist()), counts.tolist(), strict=True))}

    def answers(
        self, facts: Mapping[str, Any], model: Any, processor: Any, encoded: Any, settings: Any
    ) -> TextSums | None:
        """Return the sums of each text, on the same tokens as the model's."""
        log_probs = log_probabilities(facts, model.config.vocab_size)
        return None if log_probs is None else measure_texts(model, processor, encoded.inputs, settings, log_probs)

    def sums(self, model: Any, processor: Any, encoded: Any, answers: TextSums, settings: Any) -> dict[str, Sums]:
        """Return the perplexities and the bits per byte."""
        nats, tokens, words, spelling, size, known_nats, known_tokens, known_words = answers.rows.T
        bits = nats / np.log(2)
        return {
            "perplexity": sums.exp_ratio(nats, tokens),
            "perplexity_without_unk": sums.exp_ratio(known_nats, known_tokens),
            "word_perplexity": sums.exp_ratio(nats, words),
            "word_perplexity_without_unk": sums.exp_ratio(known_nats, known_words),
            "bits_per_byte": sums.ratio(bits + spelling, size),
            "bits_per_byte_excluding_oov": sums.ratio(bits, size),
        }


class TokenUnigram(Baseline):
    """A baseline whose facts are the counts of the tokens of texts, without special tokens."""

    def learn(self, processor: Any, data: Any, settings: Any) -> dict[str, Any] | None:
        """Return the counts of tokens by their ids."""
        options = {"add_special_tokens": False, "return_attention_mask": False, "verbose": False}
        counts: Counter[int] = Counter()
        for text in some_texts(data):
            counts.update(processor(text, **options)["input_ids"])
        return {"name": "unigram", "counts": {str(token): counts[token] for token in sorted(counts)}}


def some_texts(texts: Sequence[str]) -> Iterable[str]:
    """Yield texts from everywhere, in steps of one size, that have about `MOST_CHARACTERS` together at most.

    >>> list(some_texts(["a", "b"]))
    ['a', 'b']
    """
    looked_at = range(0, len(texts), max(1, len(texts) // 1000))
    characters = sum(len(texts[index]) for index in looked_at) * len(texts) / max(1, len(looked_at))
    step = max(1, round(characters / MOST_CHARACTERS))
    return (texts[index] for index in range(0, len(texts), step))


def log_probabilities(facts: Mapping[str, Any], size: int) -> np.ndarray | None:
    """Return ln P of each of `size` tokens; None if the counts are of another vocabulary.

    >>> np.exp(log_probabilities({"counts": {"0": 2, "2": 1}}, 3)).round(4).tolist()
    [0.5, 0.1667, 0.3333]
    """
    counts = {int(token): count for token, count in (facts.get("counts") or {}).items()}
    if not counts or max(counts) >= size:
        return None
    numbers = np.ones(size)
    numbers[list(counts)] += list(counts.values())
    return np.log(numbers / numbers.sum())


def measure_texts(
    model: Any, tokenizer: Any, texts: Any, settings: Any, log_probs: np.ndarray | None = None
) -> TextSums:
    """Measure a causal language model by `evaluate_language_model`, and keep the sums of each text.

    Args:
        log_probs: (vocab,) ln P of each token, in the place of the model's.
    """
    scorer = _Scorer(settings.layout != "texts", log_probs)
    shown = log_probs is None
    measures = evaluate_language_model(model, tokenizer, texts, scorer.stream, progress=shown, score=scorer)
    return TextSums(measures, np.concatenate(scorer.rows))


@dataclass
class _Scorer:
    """A `Scorer` that keeps the sums of each text."""

    stream: bool
    log_probs: np.ndarray | None
    rows: list[np.ndarray] = field(default_factory=list)

    def __call__(
        self, model: Any, tokenizer: Any, texts: Sequence[str], *, batch_size: int = 64, progress: bool = False
    ) -> Sequence[TextScore]:
        """Return the scores of the model, or those by the given probabilities."""
        if self.log_probs is not None:
            encoded, stream, predicted = encode_stream(tokenizer, texts)
            scores = split_stream(encoded, stream, predicted, self.log_probs[stream])
        else:
            score = score_stream if self.stream else score_texts
            scores = score(model, tokenizer, texts, batch_size=batch_size, progress=progress)
        found = ScoreSums.of(scores)
        rows = (found.nats, found.tokens, found.words, found.spelling_bits, found.bytes)
        self.rows.append(np.stack([*rows, found.known_nats, found.known_tokens, found.known_words], axis=1))
        return scores

    def conditions(self, model: Any) -> dict[str, str]:
        """Return nothing: the scores are the usual ones."""
        return {}
