# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Statistics of texts and their labels: lengths, words, letters, equal texts."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from hf_lecture_models.tokenization.splitting import split_words

# The first words of the names of letters that are not the name of their script.
_SCRIPTS = {"CJK": "Han", "IDEOGRAPHIC": "Han", "FULLWIDTH": "Latin", "HALFWIDTH": "Katakana", "MODIFIER": "", "": ""}
_WITHOUT_BLANKS = frozenset({"Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan"})


@dataclass(frozen=True)
class Lengths:
    """The lengths of texts in words.

    Attributes:
        median: half of the texts have at most so many words.
        high: 95 % of the texts have at most so many.
        longest: the words of the longest text.
        place: the number of the longest text, from 0.
    """

    median: int
    high: int
    longest: int
    place: int


def lengths_of(lengths: Sequence[int]) -> Lengths:
    """Return the median, 95 % quantile and maximum of the lengths of texts.

    >>> lengths_of([3, 1, 2, 9])
    Lengths(median=2, high=9, longest=9, place=3)

    Raises:
        ValueError: `lengths` is empty.
    """
    if not lengths:
        raise ValueError("there is no text to measure")
    ordered = sorted(lengths)

    def at(share: float) -> int:
        return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]

    return Lengths(at(0.5), at(0.95), ordered[-1], max(range(len(lengths)), key=lengths.__getitem__))


@dataclass(frozen=True)
class Vocabulary:
    """The different words of some texts.

    Attributes:
        words: how many different words there are.
        once: how many of them occur once.
        running: the words of all texts together.
    """

    words: int
    once: int
    running: int


def vocabulary_of(texts: Iterable[str]) -> Vocabulary:
    """Return how many different words texts have, split at white space.

    >>> vocabulary_of(["a cat", "a dog"])
    Vocabulary(words=3, once=2, running=4)
    """
    counts = Counter(word for text in texts for word in split_words(text))
    return Vocabulary(len(counts), sum(count == 1 for count in counts.values()), counts.total())


def scripts_of(texts: Iterable[str]) -> dict[str, float]:
    """Return the share of each script among the letters of texts, the most frequent first.

    >>> scripts_of(["ab 漢字 1!", "Ж"])
    {'Latin': 0.4, 'Han': 0.4, 'Cyrillic': 0.2}
    """
    letters: Counter[str] = Counter()
    for text in texts:
        letters.update(text)
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():
        if letter.isalpha():
            first = unicodedata.name(letter, "").split(" ")[0].split("-")[0]
            scripts[_SCRIPTS.get(first, first.capitalize())] += count
    del scripts[""]
    return {script: count / scripts.total() for script, count in scripts.most_common()}


def is_without_blanks(scripts: Mapping[str, float]) -> bool:
    """Return whether most letters are of scripts that put no blanks between words, such as Chinese or Thai.

    >>> is_without_blanks({"Han": 0.6, "Latin": 0.4}), is_without_blanks({"Latin": 1.0})
    (True, False)
    """
    return sum(share for script, share in scripts.items() if script in _WITHOUT_BLANKS) > 0.5


def first_places(keys: Iterable[Hashable]) -> list[tuple[int, int]]:
    """Return the numbers of keys that came before, each with the number of its first occurrence.

    >>> first_places(["a", "b", "a", "a"])
    [(2, 0), (3, 0)]
    """
    first: dict[Hashable, int] = {}
    return [(place, first[key]) for place, key in enumerate(keys) if first.setdefault(key, place) != place]


def contradictions(keys: Iterable[Hashable], labels: Iterable[Hashable]) -> list[tuple[int, int]]:
    """Return the rows whose label differs from that of the first row with an equal key, each with that row's number.

    >>> contradictions(["a", "b", "a", "a"], ["good", "bad", "bad", "good"])
    [(2, 0)]
    """
    first: dict[Hashable, tuple[int, Hashable]] = {}
    found = []
    for place, (key, label) in enumerate(zip(keys, labels, strict=True)):
        before, known = first.setdefault(key, (place, label))
        if known != label:
            found.append((place, before))
    return found


def alike(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of names that differ only in blanks or capitals.

    >>> alike(["Good", "bad", "good "])
    [('Good', 'good ')]
    """
    first: dict[str, str] = {}
    keys = ((" ".join(unicodedata.normalize("NFKC", name).casefold().split()), name) for name in names)
    return [(first[key], name) for key, name in keys if first.setdefault(key, name) != name]


def examples(places: Sequence[Any], shown: Callable[[Any], str], most: int = 3) -> str:
    """Return the first of some rows in words.

    >>> examples([4, 5, 6, 9], lambda row: f"row {row}")
    'row 4; row 5; row 6; ...'
    """
    return "; ".join([*map(shown, islice(places, most)), *(["..."] if len(places) > most else [])])
