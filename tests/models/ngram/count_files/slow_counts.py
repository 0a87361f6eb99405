# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""n-grams counted one by one in a dictionary: the independent side of these tests."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

from hf_lecture_models.models.ngram.count_files.word_counts import NGramWordCounts


def slow_counts(texts: Iterable[Iterable[str]], order: int) -> Counter[tuple[str, ...]]:
    """Count the n-grams of split texts, of all orders."""
    found: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        words = ["<s>", *text, "</s>"]
        for n in range(1, order + 1):
            found.update(tuple(words[first : first + n]) for first in range(len(words) - n + 1))
    return found


def as_dictionary(counts: NGramWordCounts) -> dict[tuple[str, ...], int]:
    """Return counts as `slow_counts` does, and check that rows are sorted and different."""
    found = {}
    for rows, occurrences in zip(counts.ngrams, counts.occurrences, strict=True):
        grams = [tuple(counts.words[number] for number in row) for row in rows.tolist()]
        assert grams == sorted(set(grams))
        found |= dict(zip(grams, occurrences.tolist(), strict=True))
    return found


def random_texts(number: int, seed: int = 0) -> list[str]:
    """Texts of words of Zipf's frequencies, some blank, some with white space around."""
    draw = random.Random(seed)
    words = [f"w{n}" for n in range(40)] + ["Été", "中文", "##ing", "a_NOUN", "&c.", "-1"]
    weights = [1 / (1 + n) for n in range(len(words))]
    return [
        " ".join(draw.choices(words, weights, k=draw.randrange(12))) + draw.choice(["", " ", "\t"])
        for _ in range(number)
    ]


def lines_of(counts: Counter[tuple[str, ...]]) -> list[str]:
    """Return the lines of SRILM's count file, in the order of `ngram-count -sort`."""
    ascending = sorted(counts, key=lambda gram: [word.encode() for word in gram])
    return [f"{' '.join(gram)}\t{counts[gram]}" for gram in ascending]
