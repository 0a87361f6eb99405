# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pruning of a model of dictionaries, word by word: a sum over the whole vocabulary for each n-gram."""

from __future__ import annotations

import math

from tests.models.ngram.tools.slow_model import SlowModel

Gram = tuple[str, ...]


def context_prob(model: SlowModel, context: Gram) -> float:
    """P(h) by the chain rule; `<s>` counts as `</s>`, and a word that the model lacks as `<unk>`."""
    known = [word if (word,) in model.probs else "<unk>" for word in context]
    log10 = 0.0
    for place, word in enumerate(known):
        log10 += model.log10(tuple(known[:place]), "</s>" if (place, word) == (0, "<s>") else word)
    return 10**log10


def new_weight(model: SlowModel, context: Gram, removed: set[str]) -> float:
    """The back-off weight of a context without some of its words, which leaves the sum over all words as it is."""
    others = [word for word in model.words if (*context, word) not in model.probs or word in removed]
    mass = math.fsum(10 ** model.log10(context, word) for word in others)
    lower = math.fsum(10 ** model.log10(context[1:], word) for word in others)
    return mass / lower if lower else 1.0


def divergence(model: SlowModel, gram: Gram, removed: set[str]) -> float:
    """sum_v p(v|h) ln p(v|h) / p'(v|h) over all words, where p lacks the `removed` words and p' `gram` too."""
    context, total = gram[:-1], 0.0
    before, after = (new_weight(model, context, words) for words in (removed, {*removed, gram[-1]}))
    for word in model.words:
        listed = (*context, word) in model.probs and word not in removed
        lower = 10 ** model.log10(context[1:], word)
        p = 10 ** model.probs[(*context, word)] if listed else before * lower
        q = p if listed and word != gram[-1] else after * lower
        total += p * math.log(p / q) if p > 0 else 0.0
    return total


def removed_first(model: SlowModel, context: Gram) -> set[str]:
    """The least probable word after a context after which all words are listed."""
    listed = [word for word in model.words if (*context, word) in model.probs]
    return {min(listed, key=lambda word: model.probs[(*context, word)])} if len(listed) == len(model.words) else set()


def changes(model: SlowModel, history: SlowModel | None = None) -> dict[Gram, float]:
    """The relative change of the perplexity by the removal of each n-gram."""
    found = {}
    for gram in model.probs:
        if len(gram) > 1:
            first = removed_first(model, gram[:-1])
            change = 0.0 if gram[-1] in first else divergence(model, gram, first)
            found[gram] = math.expm1(context_prob(history or model, gram[:-1]) * change)
    return found


def kept_of(values: dict[Gram, float], threshold: float, order: int) -> set[Gram]:
    """The n-grams that stay, longest first: those not below the threshold, and what others need."""
    kept: set[Gram] = set()
    for n in range(order, 1, -1):
        contexts = {gram[:-1] for gram in kept}
        needed = contexts | {context[1:] for context in contexts}
        kept |= {gram for gram in values if len(gram) == n and (values[gram] >= threshold or gram in needed)}
    return kept
