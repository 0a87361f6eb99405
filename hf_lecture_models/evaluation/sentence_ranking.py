# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`pipeline("sentence-ranking")` with checks of its inputs, and streams of them.

Published language models have evaluation/travelling_ranking.py instead. tasks/pipelines.py replaces `score_sentences`
by the package's own scoring.
"""

import math
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from hf_lecture_models.evaluation.travelling_ranking import ZERO, Score, score_sentences
from hf_lecture_models.evaluation.travelling_ranking import SentenceRankingPipeline as TravellingPipeline
from hf_lecture_models.io.streams import Answers, each_input

__all__ = ["PROBABILITIES", "TASK", "ZERO", "Score", "SentenceRankingPipeline", "score_sentences"]
TASK = "sentence-ranking"
PROBABILITIES = ("terminated", "prefix")


class SentenceRankingPipeline(TravellingPipeline):
    """Order sentences by the probability that a causal language model gives to them, best first.

        rank = pipeline("sentence-ranking", model=folder)
        rank(["A", "B"])             # [{"index", "sequence", "log_prob", "log_prob_per_token"}, ...]
        rank([["A", "B"], ["C"]])    # many groups: a list of rankings
        rank(KeyPairDataset(dataset, "good", "bad"))    # an iterator, which reads as many groups as it ranks

    >>> from transformers import pipeline
    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["grey tape", "great ape"])
    >>> model = NGramForCausalLM.fit(["grey tape", "great ape"], tokenizer, order=2, smoothing="add_alpha")
    >>> rank = pipeline("sentence-ranking", model=model, tokenizer=tokenizer)
    >>> [(entry["sequence"], round(entry["log_prob"], 2)) for entry in rank(["grey ape", "great ape"])]
    [('great ape', -3.89), ('grey ape', -4.58)]

    `index` is the place in the input, `log_prob` a natural logarithm; ties keep the order of the input. A sentence of
    probability 0 has two more entries, the number of tokens of probability 0, `zeros`, and the `log_prob_without_zeros`
    of the others. Among such sentences each of these tokens counts -230.3 = ln 1e-100, as in KenLM, so the ones with
    fewest unknown words are first. Options, at construction or per call:

    - `probability`: "terminated" (default; the sentence ends here) or "prefix" (it may go on);
    - `return_tokens`: add `tokens`, a list of {"token", "id", "log_prob"};
    - `batch_size`: sentences per batch, and groups of a generator or data set that are read together (64);
    - `scores` (per call), `weight`, `length_bonus` (0): for the n-best list of a recogniser, with its `scores`, nested
      as the sentences are. Sentences are ranked by `total`, score + weight * log_prob + length_bonus * words; each
      entry has its `score` and `total` too.

    Raises:
        TypeError: the input is neither some sentences (str) nor some lists of sentences, or an option is unknown.
        ValueError: an option has a wrong value, `scores` do not fit the sentences, or one of `scores` and `weight`
            comes without the other.
    """

    def __call__(  # type: ignore[override]
        self, inputs: Any, batch_size: int | None = None, scores: Any = None, **kwargs: Any
    ) -> Any:
        """Rank one group of sentences, or each of several; a generator or a data set of groups gives an iterator."""
        self._sanitize_parameters(**kwargs)
        size = self._checked(batch_size)
        each = None if isinstance(inputs, list | tuple) else each_input(inputs)
        if each is not None:
            first = list(islice(each, 1))
            each = chain(first, each)
            if first and not isinstance(first[0], str):
                numbers = None if scores is None else iter(scores)
                return Answers(inputs, each, size, lambda some: self.rank(*_as_part(some, numbers), size, **kwargs))
            inputs = list(each)
        groups = _as_groups(inputs)
        outside = None if scores is None else _as_scores(scores if _is_nested(inputs) else [scores], groups)
        rankings = self.rank(groups, outside, size, **kwargs)
        return rankings if _is_nested(inputs) else rankings[0]

    def _checked(self, batch_size: int | None) -> int:
        if batch_size is None:
            batch_size = 64 if self._batch_size is None else self._batch_size
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size is {batch_size!r}; it must be an integer of at least 1")
        return batch_size

    def _sanitize_parameters(
        self, probability: str | None = None, return_tokens: bool | None = None, **others: Any
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if unknown := others.keys() - {"weight", "length_bonus"}:
            raise TypeError(
                f"{TASK} has no option {', '.join(sorted(unknown))}; its options are probability, return_tokens, "
                "batch_size, scores, weight and length_bonus"
            )
        if probability is not None and probability not in PROBABILITIES:
            raise ValueError(f"probability is {probability!r}; it must be one of {', '.join(map(repr, PROBABILITIES))}")
        shown = {} if return_tokens is None else {"return_tokens": return_tokens}
        return super()._sanitize_parameters(probability, **others, **shown)

    def postprocess(  # type: ignore[override]
        self,
        model_outputs: Any,
        return_tokens: bool = False,
        weight: float | None = None,
        length_bonus: float | None = None,
    ) -> list[list[dict[str, Any]]]:
        """Return one ranking per group from the scores of the sentences."""
        outside = model_outputs["outside"]
        if outside is None and (weight, length_bonus) != (None, None):
            raise ValueError(f"weight and length_bonus of {TASK} need scores, one for each sentence")
        if outside is not None and weight is None:
            raise ValueError(f"scores of {TASK} need a weight, by which the model's log_prob is multiplied")
        for name, value in (("weight", weight), ("length_bonus", length_bonus)):
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} is {value}; it must be a finite number")
        return super().postprocess(model_outputs, return_tokens, weight or 0.0, length_bonus or 0.0)


def _as_scores(scores: Any, groups: list[list[str]]) -> list[list[float]]:
    try:
        numbers = [[float(score) for score in group] for group in scores]
    except TypeError:
        raise TypeError(f"scores of {TASK} must be numbers, nested as the sentences are") from None
    for score in (score for group in numbers for score in group):
        if math.isnan(score) or score == math.inf:
            raise ValueError(f"a score is {score}; it must be a number below infinity")
    if [len(group) for group in numbers] != [len(group) for group in groups]:
        raise ValueError(f"scores of {TASK} must be as many as the sentences, one for each")
    return numbers


def _as_part(some: list[Any], scores: Iterator[Any] | None) -> tuple[list[list[str]], list[list[float]] | None]:
    """Return the next groups of a stream, and their scores; a pair of transformers' `KeyPairDataset` is a group."""
    pair = {"text", "text_pair"}
    nested = [[*item.values()] if isinstance(item, dict) and item.keys() == pair else item for item in some]
    groups = _as_groups(nested)
    return groups, None if scores is None else _as_scores(islice(scores, len(groups)), groups)


def _is_nested(inputs: Any) -> bool:
    return bool(inputs) and isinstance(inputs[0], list | tuple)


def _as_groups(inputs: Any) -> list[list[str]]:
    if isinstance(inputs, str):
        raise TypeError(f"{TASK} compares sentences: give a list of them, not one str")
    if not isinstance(inputs, list | tuple):
        raise TypeError(f"{TASK} takes a list of sentences or a list of such lists, not a {type(inputs).__name__}")
    groups = inputs if _is_nested(inputs) else [inputs]
    for number, group in enumerate(groups):
        if not isinstance(group, list | tuple):
            raise TypeError(f"{TASK} got lists and single sentences mixed: item {number} is a {type(group).__name__}")
        for index, sentence in enumerate(group):
            if not isinstance(sentence, str):
                raise TypeError(
                    f"{TASK} takes a list of sentences or a list of such lists; "
                    f"sentence {index} of group {number} is a {type(sentence).__name__}"
                )
    return [list(group) for group in groups]
