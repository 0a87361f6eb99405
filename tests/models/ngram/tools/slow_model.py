# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A back-off model as dictionaries of words, in float64: the independent side of the tests of tools."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

from hf_lecture_models.models.ngram.conversion_ngram import words_by_id

NO_EVENTS = ("<s>", "<pad>")


class SlowModel:
    """log10 P and log10 back-off weights by tuples of words."""

    def __init__(self, probs: dict[tuple[str, ...], float], backoffs: dict[tuple[str, ...], float]) -> None:
        self.probs, self.backoffs = probs, backoffs
        self.words = [gram[0] for gram, p in probs.items() if len(gram) == 1 and p > -math.inf]
        self.words = [word for word in self.words if word not in NO_EVENTS]

    def log10(self, context: tuple[str, ...], word: str) -> float:
        """log10 P(word | context)."""
        if (gram := (*context, word)) in self.probs:
            return self.probs[gram]
        return self.backoffs.get(context, 0.0) + self.log10(context[1:], word) if context else -math.inf

    def sum_after(self, context: tuple[str, ...]) -> float:
        """Sum of P over the vocabulary; 1 for a model that is right."""
        return math.fsum(10 ** self.log10(context, word) for word in self.words)

    def contexts(self) -> list[tuple[str, ...]]:
        """All contexts after which n-grams are listed, and the empty one."""
        return sorted({gram[:-1] for gram in self.probs})


def slow_model(model: Any, tokenizer: Any) -> SlowModel:
    """Return the tables of an `NGramForCausalLM` as dictionaries."""
    tables, words = model.tables(), words_by_id(tokenizer, model.config)
    grams: list[tuple[str, ...]] = [(word,) for word in words]
    probs = dict(zip(grams, map(float, tables.log10_probs[0]), strict=True))
    backoffs: dict[tuple[str, ...], float] = {}
    for n in range(2, tables.order + 1):
        backoffs |= zip(grams, map(float, tables.log10_backoffs[n - 2]), strict=True)
        keys = (divmod(int(key), tables.vocab_size) for key in tables.keys[n - 2])
        grams = [(*grams[prefix], words[last]) for prefix, last in keys]
        probs |= zip(grams, map(float, tables.log10_probs[n - 1]), strict=True)
    return SlowModel(probs, backoffs)


def all_contexts(words: list[str], longest: int) -> list[tuple[str, ...]]:
    """All sequences of words up to a length, for small vocabularies; `<s>` may come first."""
    found: list[tuple[str, ...]] = []
    for n in range(longest + 1):
        found += itertools.product(["<s>", *words] if n else words, *[words] * (n - 1)) if n else [()]
    return found


def drop_ngrams(slow: SlowModel, share: float, seed: int) -> SlowModel:
    """Return the model without some of its n-grams (order 2 and up) that no longer one begins with, as pruning does."""
    draw, kept = random.Random(seed), set()
    for gram in sorted(slow.probs, key=len, reverse=True):
        if len(gram) == 1 or gram in kept or draw.random() >= share:
            kept |= {gram, gram[:-1]}
    probs = {gram: p for gram, p in slow.probs.items() if gram in kept}
    return SlowModel(probs, {gram: weight for gram, weight in slow.backoffs.items() if gram in kept})


def arpa_text(slow: SlowModel) -> str:
    """Return the model as an ARPA file."""
    order = max(map(len, slow.probs))
    sections = [[gram for gram in slow.probs if len(gram) == n and gram != ("<pad>",)] for n in range(1, order + 1)]
    text = "\\data\\\n" + "".join(f"ngram {n}={len(grams)}\n" for n, grams in enumerate(sections, 1))
    for n, grams in enumerate(sections, 1):
        text += f"\n\\{n}-grams:\n"
        for gram in grams:
            weight = f"\t{slow.backoffs[gram]:.9g}" if n < order else ""
            text += f"{max(slow.probs[gram], -99):.9g}\t{' '.join(gram)}{weight}\n"
    return text + "\n\\end\\\n"
