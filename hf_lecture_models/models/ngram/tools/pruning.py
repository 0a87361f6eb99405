# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`NGramForCausalLM.prune`: a smaller model, without the n-grams that change it least.

Longest n-grams are judged first, each with all its neighbours still there (`pruning_criteria.py`). 1-grams stay, and so
do n-grams that others need: the context of what stays, and the end of a context (without its first word) after which
n-grams stay, whose back-off weight is in use. An n-gram's own value or that of the n-grams that need it, whichever is
the largest, therefore decides: all those below the threshold go.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.models.ngram.checks_ngram import ngram_counts
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.tools.contexts import Contexts, without
from hf_lecture_models.models.ngram.tools.model_checks import check_model
from hf_lecture_models.models.ngram.tools.pruning_checks import (
    bytes_of,
    check_choice,
    ids_in_history,
    units_of,
    warn_of_lower_orders,
)
from hf_lecture_models.models.ngram.tools.pruning_counts import Counts, counts_of
from hf_lecture_models.models.ngram.tools.pruning_criteria import (
    Siblings,
    context_probs,
    context_probs_of,
    judged,
)


def prune(
    self: NGramForCausalLM,
    threshold: float | None = None,
    *,
    ngrams: int | None = None,
    bytes: int | str | None = None,
    criterion: str = "entropy",
    history: NGramForCausalLM | None = None,
    counts: Counts | None = None,
    at_most: Sequence[int] | None = None,
    tokenizer: Any = None,
    progress: bool = True,
) -> NGramForCausalLM:
    """Return a smaller model; its back-off weights are computed again, and each context sums to one.

    >>> from hf_lecture_models import WordTokenizer
    >>> texts = ["the cat sat", "the cat ran", "the dog ran"]
    >>> model = NGramForCausalLM.fit(texts, WordTokenizer.train(texts), 3, "absolute_discounting")
    >>> model.config.ngram_counts, model.prune(0.02).config.ngram_counts, model.prune(ngrams=12).config.ngram_counts
    ([8, 8, 8], [8, 8, 0], [8, 4, 0])

    Args:
        threshold: n-grams whose removal makes the perplexity larger by a smaller part are removed, such as 1e-7; for
            the weighted difference, those of a smaller difference, in nats.
        ngrams: at most so many stay, 1-grams included, as `config.ngram_counts` has them: those of the smallest
            threshold that leaves so few.
        bytes: or the tables take at most so many, such as "10MB": 16 an n-gram, 12 where it is of the highest order, 8
            where it is a 1-gram. They are the bytes of `model.safetensors` without its header of about 1 KB.
        criterion: "entropy" or "weighted_difference" (`pruning_criteria.py`).
        history: a model for P(h), the probability of a context; None: this one. The lower orders of Kneser-Ney are not
            the distributions of words after shorter contexts, and a warning says so.
        counts: a text, given as to `fit`, or counts, or a file NAME.counts, for the N(hw) of the weighted difference.
        at_most: per order: n-grams that are in `counts` at most so often are removed, whatever their probability. It
            begins with 0, for the 1-grams, which stay; the last value holds for all higher orders.
        tokenizer: the model's, where it is not its `own_tokenizer`; `counts` and `history` need it.

    Raises:
        ValueError: not one of `threshold`, `ngrams`, `bytes` and `at_most` is given, or it is impossible; or the model
            has hashes, several models, scores of stupid back-off, or quantised tables.
        OSError: `counts` cannot be read.
    """
    pruning = Pruning(threshold, ngrams, bytes, criterion, history, counts, at_most, tokenizer, progress)
    return pruning.of(self)[0]


@dataclass(frozen=True)
class Pruning:
    """The arguments of `prune`, which say what is removed."""

    threshold: float | None = None
    ngrams: int | None = None
    bytes: int | str | None = None
    criterion: str = "entropy"
    history: NGramForCausalLM | None = None
    counts: Counts | None = None
    at_most: Sequence[int] | None = None
    tokenizer: Any = None
    progress: bool = True

    def of(self, model: NGramForCausalLM) -> tuple[NGramForCausalLM, float | None]:
        """Return what is left of a model, and the threshold that gives the same; None where counts decide."""
        check_choice(self, model.config.order)
        check_model(model, classes=True)
        tables = model.tables()
        contexts = Contexts(tables)
        with ProgressBar(total=2 * max(tables.order - 1, 0), desc="pruning", unit="order", shown=self.progress) as bar:
            values, left = self._values(model, contexts, bar)
            keep_what_others_need(contexts, values)
            del contexts
            threshold = self._threshold(model, values)
            kept = [of >= threshold for of in values]
            del values
            found = without(tables, kept, left)
            bar.update(max(tables.order - 1, 0))
        config = type(model.config).from_dict(model.config.to_dict())
        result = type(model).from_tables(found, config, model.word_classes())
        result.own_tokenizer = model.own_tokenizer
        return result, None if self.at_most is not None else threshold

    def _values(
        self, model: NGramForCausalLM, contexts: Contexts, bar: ProgressBar
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return what decides about each n-gram, and what is left to other words after each context; [n-2] each."""
        totals, values, left = contexts.totals(), [], []
        counts = None if self.counts is None else counts_of(model, contexts, self.counts, self.tokenizer, bar)
        history = self._history(model, contexts)
        for n in range(2, contexts.order + 1):
            here = history[contexts.first[n - 1] : contexts.first[n]]
            measure = partial(self._measure, n, here, None if counts is None else counts[n - 2])
            of_order, others = judged(contexts, n, totals, measure)
            values.append(of_order)
            left.append(others)
            bar.update()
        return values, left

    def _measure(self, n: int, history: np.ndarray, counts: np.ndarray | None, siblings: Siblings) -> np.ndarray:
        if self.at_most is not None and counts is not None:
            return (counts > self.at_most[min(n, len(self.at_most)) - 1]).astype(float)
        if self.criterion == "entropy":
            return siblings.changes(history)
        return siblings.weighted_differences(history, counts)

    def _history(self, model: NGramForCausalLM, contexts: Contexts) -> np.ndarray:
        """Return P(h) of each context, by number."""
        units = units_of(model)
        ends = units.bos_token_id, units.eos_token_id
        if self.history is not None:
            ids = ids_in_history(model, self.history, self.tokenizer)
            return context_probs_of(contexts, Contexts(self.history.tables()), ids, *ends)
        if self.counts is None:
            warn_of_lower_orders(model)
        return context_probs(contexts, *ends)

    def _threshold(self, model: NGramForCausalLM, values: list[np.ndarray]) -> float:
        if self.at_most is not None:
            return 1.0
        if self.threshold is not None:
            return self.threshold
        ones, order = ngram_counts(model.config)[0], model.config.order
        if self.ngrams is not None:
            return smallest_threshold(values, [1] * (order - 1), self.ngrams, ones, "ngrams")
        costs = [16] * (order - 2) + [12]
        used = sum(buffer.nbytes for buffer in model.buffers())
        fixed = used - sum(cost * len(kept) for cost, kept in zip(costs, values, strict=False))
        return smallest_threshold(values, costs, bytes_of(self.bytes), fixed, "bytes")


def smallest_threshold(values: Sequence[np.ndarray], costs: Sequence[int], budget: int, fixed: int, name: str) -> float:
    """Return the smallest of the values with which those that are not below it cost at most the budget.

    >>> smallest_threshold([np.array([0.1, 0.3, 0.3]), np.array([0.2])], [2, 1], 7, 2, "bytes")
    0.2

    Args:
        values: (n-grams,) of each order, as `keep_what_others_need` leaves them.
        costs: of an n-gram of each order.
        budget: for all n-grams.
        fixed: what the 1-grams cost, which stay.
        name: of the argument, for the error.

    Raises:
        ValueError: the budget is too small for what must stay.
    """

    def cost(threshold: float) -> int:
        kept = (int(np.count_nonzero(of >= threshold)) for of in values)
        return fixed + sum(price * number for price, number in zip(costs, kept, strict=False))

    if cost(np.inf) > budget:
        raise ValueError(
            f"`{name}` is {budget:,}, and {cost(np.inf):,} are the fewest: 1-grams stay, and so do n-grams without "
            "which a word would be impossible"
        )
    candidates = np.concatenate([*values, [np.inf]])
    candidates.sort()
    return float(candidates[bisect_left(candidates, True, key=lambda threshold: cost(threshold) <= budget)])


def keep_what_others_need(contexts: Contexts, values: list[np.ndarray]) -> None:
    """Raise each value to the largest one of the n-grams that need the n-gram, in place.

    An n-gram is needed as the context of longer ones, and as the end of a longer context that is needed so.

    Args:
        contexts: those of the model.
        values: [n-2], (n-grams of order n,) float64.
    """
    for n in range(contexts.order, 2, -1):
        for rows in contexts.blocks(n):
            prefixes = contexts.keys[n - 2].numpy()[rows] // contexts.vocab_size
            starts = np.flatnonzero(np.diff(prefixes, prepend=-1))
            needed, of = prefixes[starts], np.maximum.reduceat(values[n - 2][rows], starts)
            values[n - 3][needed] = np.maximum(values[n - 3][needed], of)
            if n > 3:
                ends = contexts.suffixes[contexts.first[n - 1] + needed] - contexts.first[n - 2]
                np.maximum.at(values[n - 4], ends[ends >= 0], of[ends >= 0])
