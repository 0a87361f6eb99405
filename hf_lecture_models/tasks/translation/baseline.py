# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The baseline of translation, a copy of the source; and BLEU and chrF as functions of sums over sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.core.baselines import Baseline
from hf_lecture_models.tasks.metrics.sums import Sums, divide
from hf_lecture_models.tasks.translation.bleu import is_bleu_defined, sentence_statistics


class CopyOfSource(Baseline):
    """A copy of the source as its translation; nothing is learned."""

    def learn(self, processor: Any, data: Rows, settings: Any) -> dict[str, Any]:
        """Return the name alone."""
        return {"name": "copy of the source"}

    def answers(
        self, facts: Mapping[str, Any], model: Any, processor: Any, encoded: Any, settings: Any
    ) -> list[str] | None:
        """Return the sources."""
        return encoded.data.texts("source")

    def sums(self, model: Any, processor: Any, encoded: Any, answers: Any, settings: Any) -> dict[str, Sums]:
        """Return BLEU, where it is defined, and chrF."""
        return bleu_and_chrf_sums(answers, encoded.labels)

    def only_answer(self, model: Any, encoded: Any, answers: Sequence[str]) -> str:
        """Return the only text that is written, though there are other right ones."""
        return only_text(answers, encoded.labels)


def only_text(answers: Sequence[str], references: Sequence[str]) -> str:
    """Return the text that all answers are, as messages show it; "" if answers differ, or right ones do not.

    >>> only_text(["a cat", "a cat"], ["a cat", "a dog"])
    "the text 'a cat'"
    """
    if len(set(references)) < 2 or len(set(answers)) > 1:
        return ""
    text = answers[0] if len(answers[0]) <= 60 else f"{answers[0][:57]}..."
    return f"the text {text!r}"


def bleu_and_chrf_sums(translations: Sequence[str], references: Sequence[str]) -> dict[str, Sums]:
    """Return `bleu_and_chrf` as sums over sentences.

    >>> round(bleu_and_chrf_sums(["the cat sat on the mat"], ["the cat sat on the mat"])["bleu"].measure(), 6)
    100.0
    """
    statistics, value = sentence_statistics(translations, references), {"bleu": _bleu, "chrf": _chrf}
    keys = ("bleu", "chrf") if is_bleu_defined(references) else ("chrf",)
    return {key: Sums(statistics[key], value[key]) for key in keys}


def _bleu(sums: np.ndarray) -> np.ndarray:
    """Return BLEU of (..., 10) sums: both lengths, then the right and all sequences of one to four words.

    The k-th order without a right sequence has the precision 1 / (2^k · all), sacrebleu's smoothing "exp".
    """
    ours, theirs, right, total = sums[..., 0], sums[..., 1], sums[..., 2:6], sums[..., 6:10]
    smoothed = 2.0 ** -np.cumsum(right == 0, axis=-1)
    precisions = divide(np.where(right == 0, smoothed, right), total)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.exp(np.log(precisions).mean(-1))
        brevity = np.where(ours < theirs, np.exp(1 - theirs / ours), 1.0)
    return np.where(right.any(-1), 100 * brevity * mean, 0.0)


def _chrf(sums: np.ndarray) -> np.ndarray:
    """Return chrF (β = 2) of (..., 18) sums: the sequences of ours, of the reference and of both, for six lengths."""
    ours, theirs, both = (sums[..., place::3] for place in range(3))
    counted = (ours > 0) & (theirs > 0)
    orders = counted.sum(-1)
    precision, recall = (divide((divide(both, side) * counted).sum(-1), orders) for side in (ours, theirs))
    return 100 * divide(5 * precision * recall, 4 * precision + recall)
