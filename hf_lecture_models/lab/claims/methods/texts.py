# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The texts of a claim's trial, and the article of each, since texts of one article resemble each other.

The articles of WikiText begin with their titles, those of Python's language reference are its topics. Texts in a file
without titles, such as the captions of Multi30k, are from an article of their own each.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hf_lecture_models.data.files import find_file
from hf_lecture_models.lab.claims.values import Values
from hf_lecture_models.lab.comparison.python_reference import python_reference, python_topics
from hf_lecture_models.tasks.language_models.documents import document_starts
from hf_lecture_models.tokenization.corpus import read_texts

PYTHON = "python"
"""In place of file names: the language reference that comes with Python."""


class PartTexts(NamedTuple):
    """Texts, and the article of each."""

    texts: list[str]
    articles: list[Hashable]

    def at(self, places: Sequence[int]) -> "PartTexts":
        """Return the texts at some places."""
        return PartTexts([self.texts[place] for place in places], [self.articles[place] for place in places])


def read_part(settings: Mapping[str, Any], part: str) -> PartTexts:
    """Return the texts of the "train", "validation" or "test" part, without blank ones, and their articles.

    Args:
        settings: `texts` is "python", or maps each part to a file's name; `most` limits the texts of each part to the
            first ones; with `spread`, those of the validation and the test part are from all articles, as in
            `spread_places`.

    Raises:
        FileNotFoundError: a file is neither in the current folder nor in the folder of data sets.
        ValueError: `texts` names no file for the part.
    """
    source, most = settings["texts"], settings.get("most")
    if source == PYTHON:
        found = PartTexts(list(getattr(python_reference(), part)), list(python_topics(part)))
    elif part in source:
        lines = list(read_texts(find_file(source[part])))
        read = PartTexts(lines, articles_of(lines))
        found = read.at([place for place, line in enumerate(lines) if line.strip()])
    else:
        raise ValueError(f"texts names no file for the part {part!r}; give texts.{part}")
    if most is not None and settings.get("spread") and part != "train":
        return found.at(spread_places(found.articles, most))
    return PartTexts(found.texts[:most], found.articles[:most])


def part_texts(settings: Mapping[str, Any], part: str) -> list[str]:
    """Return the texts of `read_part`, without their articles."""
    return read_part(settings, part).texts


def articles_of(lines: Sequence[str]) -> list[Hashable]:
    """Return the number of each line's article.

    An article begins with a title as WikiText writes it, between blank lines. In a file without titles each line has a
    number of its own.

    >>> articles_of(["", " = A = ", "", "a", " = = B = = ", "b", "", " = C = ", "", "c"])
    [0, 1, 1, 1, 1, 1, 1, 2, 2, 2]
    >>> articles_of(["a", "b"])
    [0, 1]
    """
    starts = document_starts(["", *lines], "titles")[1:]
    return list(starts.cumsum().tolist() if starts.any() else range(len(lines)))


def spread_places(articles: Sequence[Hashable], most: int) -> list[int]:
    """Return the places of at most `most` texts of all articles, in their order; they are the same ones at each call.

    Each article has the same share of its texts, which are spread over it, and at least one; if there are more articles
    than `most`, as many of them, spread over all, have one text.

    >>> spread_places(["a"] * 8 + ["b"] * 4 + ["c"], 6)
    [1, 4, 6, 10, 12]
    >>> spread_places(["a", "a", "b", "b", "c"], 2)
    [1, 4]
    """
    places: dict[Hashable, list[int]] = defaultdict(list)
    for place, article in enumerate(articles):
        places[article].append(place)
    own = _spread(list(places.values()), most)
    numbers = [max(1, min(len(one), len(one) * most // len(articles))) for one in own]
    while sum(numbers) > most:  # where short articles have more than their share
        numbers[int(np.argmax(numbers))] -= 1
    return sorted(place for one, number in zip(own, numbers, strict=True) for place in _spread(one, number))


def _spread(values: list[Any], number: int) -> list[Any]:
    """Return so many of the values, or all of them, at equal distances."""
    number = min(number, len(values))
    return [values[(2 * index + 1) * len(values) // (2 * number)] for index in range(number)]


def by_article(sums: Sequence[float], weights: Sequence[float], articles: Sequence[Hashable]) -> Values:
    """Return for each article the sum over its texts, divided by the sum of their weights, which is its own weight.

    >>> by_article([2, 4, 30], [1, 1, 10], ["a", "a", "b"])
    Values(values=[3.0, 3.0], weights=[2.0, 10.0], clusters=['a', 'b'])
    """
    totals: dict[Hashable, np.ndarray] = {}
    for article, total, weight in zip(articles, sums, weights, strict=True):
        totals[article] = totals.get(article, 0) + np.array([total, weight], dtype=float)
    both = np.array(list(totals.values()))
    return Values((both[:, 0] / both[:, 1]).tolist(), both[:, 1].tolist(), list(totals))
