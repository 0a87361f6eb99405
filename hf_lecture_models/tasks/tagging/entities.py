# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Turn the logits of tokens into tags of words, and tags into entities, for evaluation and prediction alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

OUTSIDE = "O"
LETTERS = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S", "M": "I", "W": "S"}
"""The letters before a kind, with those that mean the same in the CoNLL shared tasks."""
UNREAD = -1
"""The prediction for a word without a token, because `max_length` cuts it off."""


@dataclass(frozen=True)
class Entity:
    """Consecutive words that form one name, of one kind.

    Attributes:
        first, last: the numbers of its first and last word.
    """

    kind: str
    first: int
    last: int


def tag_words(logits: Tensor, first_tokens: Sequence[int]) -> list[tuple[int, float]]:
    """Return the most probable tag of each word's first token, with its probability.

    >>> import torch
    >>> tag_words(torch.tensor([[0.0, 9.0], [9.0, 0.0], [0.0, 0.0]]), [1, UNREAD])
    [(0, 0.9998766183853149), (-1, 0.0)]

    Args:
        logits: (tokens, classes).
        first_tokens: (words,), the place of each word's first token, or `UNREAD`.
    """
    best = logits.float().softmax(-1).max(-1)
    tags, scores = best.indices.tolist(), best.values.tolist()
    return [(UNREAD, 0.0) if place == UNREAD else (tags[place], scores[place]) for place in first_tokens]


def find_entities(tags: Sequence[str]) -> list[Entity]:
    """Return the entities of a sentence, as the CoNLL shared tasks count them.

    B and S begin an entity, E and S end it. An entity also ends before O and before another kind, where I or E begins
    the next one. L, U, M and W mean E, S, I and S. A tag X without such a letter means I-X.

    >>> find_entities(["B-PER", "I-PER", "O", "I-LOC"])
    [Entity(kind='PER', first=0, last=1), Entity(kind='LOC', first=3, last=3)]
    """
    found: list[Entity] = []
    first, before, kind = -1, OUTSIDE, ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        letter, own = _parts(tag)
        goes_on = first >= 0 and letter in "IE" and before in "BI" and own == kind
        if first >= 0 and not goes_on:
            found.append(Entity(kind, first, place - 1))
            first = -1
        if letter != OUTSIDE and first < 0:
            first, kind = place, own
        before = letter
    return found


def _parts(tag: str) -> tuple[str, str]:
    if tag == OUTSIDE:
        return OUTSIDE, ""
    return (LETTERS[tag[0]], tag[2:]) if is_entity_tag(tag) else ("I", tag)


def is_entity_tag(name: str) -> bool:
    """Return whether a tag marks a part of an entity by a letter of `LETTERS`, or is O.

    >>> [is_entity_tag(name) for name in ("O", "B-creative-work", "NOUN", "I-")]
    [True, True, False, False]
    """
    return name == OUTSIDE or (len(name) > 2 and name[1] == "-" and name[0] in LETTERS)


def locate_entities(
    text: str, words: Sequence[str], tags: Sequence[str | None], scores: Sequence[float]
) -> list[dict[str, Any]]:
    """Return the entities of a sentence with their places in its text.

    >>> locate_entities("in New York", ["in", "New", "York"], ["O", "B-LOC", "I-LOC"], [0.9, 0.5, 1.0])
    [{'label': 'LOC', 'score': 0.75, 'text': 'New York', 'start': 3, 'end': 11}]

    Args:
        words: the words of the text, in order.
        tags: (words,), None for words that the model does not read.
        scores: (words,), the probabilities of the tags; an entity's score is their mean.
    """
    ends, end = [], 0
    for word in words:
        end = text.index(word, end) + len(word)
        ends.append(end)
    found = []
    for entity in find_entities([tag or OUTSIDE for tag in tags]):
        start, end = ends[entity.first] - len(words[entity.first]), ends[entity.last]
        own = scores[entity.first : entity.last + 1]
        place = {"text": text[start:end], "start": start, "end": end}
        found.append({"label": entity.kind, "score": sum(own) / len(own), **place})
    return found
