# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Texts whose right continuations are known: they ask a model for words that it has read before, or can compute.

- `associative_recall`: pairs of key and value, then each key once more (MQAR; Arora et al. 2023, "Zoology").
- `copying`: words, and the same words again.
- `induction`: different words, and the same words again from one of them on, in a circle (as Olsson et al. 2022 test
  attention heads by repeated random words).
- `list_operations`: a nested list of minima, maxima, medians and sums of digits (Nangia & Bowman 2018, ListOps; with
  the probabilities of the Long Range Arena, Tay et al. 2021).
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from hf_lecture_models.data.rows import Rows

FILLER, SEPARATOR, EQUALS, END = ".", "|", "=", "]"
OPERATORS: dict[str, Callable[[list[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda values: int(median(values)),
    "[SM": lambda values: sum(values) % 10,
}
# Of the Long Range Arena: the share of values among the arguments, and the most arguments.
_VALUES, _MOST_ARGUMENTS = 0.75, 10
# The exponent of the density of the distance between a key's two places.
_POWER = 0.01
_MOST_TRIES = 100_000

Text = tuple[list[str], list[int]]
"""The words of a text, and the places of those that a model shall predict, its answers."""


@dataclass(frozen=True)
class TextShape:
    """The size of synthetic texts.

    Attributes:
        length: words of a text; of "list_operations" the most.
        words: how many different words there are: half of them keys, half values; not used by "list_operations".
        pairs: pairs of key and value, of "associative_recall".
        depth: how many lists may be within each other, of "list_operations".
    """

    length: int
    words: int = 64
    pairs: int = 8
    depth: int = 4


def synthetic_rows(kind: str, number: int, seed: Any, shape: TextShape) -> Rows:
    """Return rows of `text`, words with blanks between them, and `answers`, the places of the words to predict.

    >>> row = synthetic_rows("copying", 1, 0, TextShape(length=7, words=9))[0]
    >>> row["text"], row["answers"]
    ('w7 w5 w4 | w7 w5 w4', [4, 5, 6])

    Args:
        kind: a name of `GENERATORS`.
        number: how many rows.
        seed: of `numpy.random.default_rng`: the rows are always the same for it.

    Raises:
        ValueError: the kind is unknown, or the text is too short for its pairs, words or lists.
    """
    if kind not in GENERATORS:
        raise ValueError(f"there are no texts of {kind!r}, only of {', '.join(GENERATORS)}")
    generator = np.random.default_rng(seed)
    texts = [GENERATORS[kind](generator, shape) for _ in range(number)]
    columns: dict[str, list[Any]] = {
        "text": [" ".join(words) for words, _ in texts],
        "answers": [answers for _, answers in texts],
    }
    return Rows(columns, [(kind, number)])


def associative_recall(generator: np.random.Generator, shape: TextShape) -> Text:
    """Pairs of different keys with different values, then each pair once more in any order, fillers between them.

    Each second value is an answer. The place of the second pair in the rest of the text, counted in pairs from 1, is x
    with a probability in proportion to x^(0.01 - 1), so most are asked for early (Zoology's generator). There the other
    places hold random words, and the value does not follow its key again; here they hold a filler, and it does.
    """
    pairs, half = shape.pairs, shape.words // 2
    if 4 * pairs > shape.length or pairs > half - 1:
        raise ValueError(
            f"{pairs} pairs need texts of at least {4 * pairs} words, and {2 * pairs + 2} different words; there are "
            f"{shape.length} and {shape.words}: take fewer pairs, longer texts or more words"
        )
    keys = 1 + generator.permutation(half - 1)[:pairs]
    values = half + generator.permutation(shape.words - half)[:pairs]
    places = np.arange(1, (shape.length - 2 * pairs) // 2 + 1)
    density = places ** (_POWER - 1)
    chosen = generator.choice(places - 1, size=pairs, replace=False, p=density / density.sum())
    text = np.full(shape.length, FILLER, dtype=object)
    text[: 2 * pairs : 2], text[1 : 2 * pairs : 2] = [f"k{key}" for key in keys], [f"v{value}" for value in values]
    asked = 2 * pairs + 2 * chosen
    text[asked], text[asked + 1] = text[: 2 * pairs : 2], text[1 : 2 * pairs : 2]
    return text.tolist(), sorted((asked + 1).tolist())


def copying(generator: np.random.Generator, shape: TextShape) -> Text:
    """Random words, a separator, and the same words, all of them answers."""
    half = (shape.length - 1) // 2
    if half < 1 or shape.words < 1:
        raise ValueError(f"copying needs a word and texts of at least 3 words, not {shape.words} and {shape.length}")
    words = [f"w{word}" for word in generator.integers(shape.words, size=half)]
    return [*words, SEPARATOR, *words], list(range(half + 1, 2 * half + 1))


def induction(generator: np.random.Generator, shape: TextShape) -> Text:
    """Different words, and all of them again from one of them on, in a circle; its second word is the first answer.

    The distance between a word's two places is another one in each text, so that only the word before can find it.
    """
    half = shape.length // 2
    if half < 2 or shape.words < half:
        raise ValueError(
            f"induction needs texts of at least 4 words, half of them different, not {shape.length} words of "
            f"{shape.words} different ones"
        )
    words, start = generator.permutation(shape.words)[:half], int(generator.integers(half))
    again = np.roll(words, -start)
    # The word after the last one is the first one only in the second half: it cannot be found.
    answers = [half + place for place in range(1, half) if (start + place) % half]
    return [f"w{word}" for word in (*words, *again)], answers


def list_operations(generator: np.random.Generator, shape: TextShape) -> Text:
    """A list such as `[MAX 2 [MIN 4 7 ] 0 ] = 4`, whose value is the answer.

    An argument is a digit with probability 0.75, and always in the deepest list, else a list of 2 to 10 arguments.
    Lists are drawn until one gives a text of at most `length` words and at least a quarter of them.

    Raises:
        ValueError: no list of that depth has this length.
    """
    for _ in range(_MOST_TRIES):
        words, value = _draw_list(generator, shape.depth - 1)
        if shape.length <= 4 * (len(words) + 2) and len(words) + 2 <= shape.length:
            return [*words, EQUALS, str(value)], [len(words) + 1]
    raise ValueError(
        f"of {_MOST_TRIES:,} lists of depth {shape.depth} none has {-(-shape.length // 4)} to {shape.length} words; "
        "deeper lists are longer, and no list has less than 6 words"
    )


def _draw_list(generator: np.random.Generator, depth: int) -> tuple[list[str], int]:
    """Return the words of a list, with at most `depth` lists within each other in it, and its value."""
    operator = str(generator.choice(list(OPERATORS)))
    words, values = [operator], []
    for _ in range(generator.integers(2, _MOST_ARGUMENTS + 1)):
        if depth < 1 or generator.random() < _VALUES:
            value = int(generator.integers(10))
            own = [str(value)]
        else:
            own, value = _draw_list(generator, depth - 1)
        words += own
        values.append(value)
    return [*words, END], OPERATORS[operator](values)


GENERATORS: dict[str, Callable[[np.random.Generator, TextShape], Text]] = {
    "associative_recall": associative_recall,
    "copying": copying,
    "induction": induction,
    "list_operations": list_operations,
}
"""What draws a text, by name."""
