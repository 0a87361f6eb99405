# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""To which words does a pronoun attend?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from hf_lecture_models.analysis.attention_maps import get_attention_maps
from hf_lecture_models.lab.claims.methods.training import train_once

_MEN, _WOMEN = ("Jack", "John", "Peter", "David", "Paul", "Tom"), ("Mary", "Anna", "Sarah", "Alice", "Emma", "Jane")
_STATES = {
    "validation": ("asleep", "late", "quiet", "angry", "silent", "alone", "nervous", "pale", "slow", "worried"),
    "test": ("awake", "early", "happy", "busy", "absent", "rich", "famous", "careful", "strong", "calm"),
}
_REASONS = {
    "validation": ("tired", "ill", "old", "sad", "hungry", "young", "weak", "cold", "bored", "afraid"),
    "test": ("clever", "brave", "free", "rested", "kind", "proud", "curious", "sick", "patient", "honest"),
}
_VERBS = {
    "validation": ("met", "called", "saw", "helped", "left", "followed", "visited", "asked", "paid", "thanked"),
    "test": ("missed", "invited", "praised", "trusted", "avoided", "hired", "joined", "heard", "warned", "taught"),
}


class PronounSentence(NamedTuple):
    """A sentence with a pronoun, the name that it stands for, and another person's name, if there is one."""

    text: str
    pronoun: str
    name: str
    other: str


def pronoun_sentences(people: int, part: str) -> list[list[PronounSentence]]:
    """Return ten lists of sentences; each list has words of its own, which no other list of any part has.

    >>> pronoun_sentences(1, "validation")[0][0].text
    'Jack is now asleep, because he is tired.'
    >>> pronoun_sentences(2, "validation")[0][1].text
    'Jack met Mary, because she was tired.'

    Args:
        people: 1, or 2 of whom one is a man and one a woman, each of whom is the pronoun's person in half of the
            sentences and stands first in half of them.
        part: "validation" or "test".
    """
    words = zip(_STATES[part], _REASONS[part], _VERBS[part], strict=True)
    return [list((_one if people == 1 else _two)(*row)) for row in words]


def _one(state: str, reason: str, verb: str) -> Iterator[PronounSentence]:
    for name in chain(*zip(_MEN, _WOMEN, strict=True)):
        pronoun = "he" if name in _MEN else "she"
        yield PronounSentence(f"{name} is now {state}, because {pronoun} is {reason}.", pronoun, name, "")


def _two(state: str, reason: str, verb: str) -> Iterator[PronounSentence]:
    for man, woman in zip(_MEN, _WOMEN, strict=True):
        for first, second in ((man, woman), (woman, man)):
            for pronoun, name, other in (("he", man, woman), ("she", woman, man)):
                text = f"{first} {verb} {second}, because {pronoun} was {reason}."
                yield PronounSentence(text, pronoun, name, other)


def pronoun_attention(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return the percentage of its attention that a pronoun gives to a word: a mean for each list of sentences.

    Each list, which shares its words, is a cluster of its own. A model that is trained is so once for all words.

    Args:
        settings: `people`, 1 or 2, in a sentence; `word`: "name", that of the pronoun's person, "other name", that of
            the other person, or "other word", the one with the largest weight among all but the name, the pronoun and
            special tokens; `heads`: "all" for their mean, or the rank of a head by what its pronouns give to the
            names in sentences of the validation part, 1 for the best; `model`, the folder of a published model, or the
            settings of `train_model` for a model that learns the sentences with one person.
    """
    model, tokenizer = _model_and_tokenizer(settings, seed, folder)
    people, word = settings["people"], settings["word"]
    head: int | None = None
    if settings["heads"] != "all":
        others = list(chain(*pronoun_sentences(people, "validation")))
        given = torch.stack([_read(model, tokenizer, one).weights_of("name") for one in others]).mean(0)
        head = int(given.argsort(descending=True)[settings["heads"] - 1])
    found = []
    for sentences in pronoun_sentences(people, part):
        read = (_read(model, tokenizer, one) for one in sentences)
        weights = torch.cat(
            [(one.mean_of_heads() if head is None else one.of_head(head)).weights_of(word) for one in read]
        )
        found.append(100 * float(weights.mean()))
    return found


class _Reading(NamedTuple):
    """What the pronoun of a sentence attends to: `rows` (heads, seq)."""

    sentence: PronounSentence
    tokens: list[str]
    special: tuple[bool, ...]
    rows: Tensor

    def mean_of_heads(self) -> _Reading:
        """Return the reading with the mean of all heads in place of the heads."""
        return self._replace(rows=self.rows.mean(0, keepdim=True))

    def of_head(self, head: int) -> _Reading:
        """Return the reading with one head, counted from 0."""
        return self._replace(rows=self.rows[head : head + 1])

    def weights_of(self, word: str) -> Tensor:
        """Return the weight of a word in each head, (heads,)."""
        if word != "other word":
            name = self.sentence.name if word == "name" else self.sentence.other
            return self.rows[:, self.tokens.index(name.lower())]
        left_out = {self.sentence.pronoun, self.sentence.name.lower()}
        words = enumerate(zip(self.tokens, self.special, strict=True))
        return self.rows[:, [place for place, (one, special) in words if not special and one not in left_out]].amax(1)


def _read(model: Any, tokenizer: Any, sentence: PronounSentence) -> _Reading:
    """Read a sentence with all heads of all layers."""
    maps = get_attention_maps(model, tokenizer, sentence.text)
    tokens = [token.lower() for token in maps.text.tokens]
    return _Reading(sentence, tokens, maps.text.special, maps.heads()[:, tokens.index(sentence.pronoun)])


def _model_and_tokenizer(settings: Mapping[str, Any], seed: int, folder: Path) -> tuple[Any, Any]:
    source = settings["model"]
    if isinstance(source, str):
        if not Path(source).is_dir():
            raise FileNotFoundError(f"there is no folder {source}; docs/fine_tuning.md shows how to make it")
        return AutoModel.from_pretrained(source).eval(), AutoTokenizer.from_pretrained(source)
    sentences = chain(*pronoun_sentences(1, "validation"), *pronoun_sentences(1, "test"))
    texts = [one.text.replace(",", " ,").replace(".", " .") for one in sentences]
    trained = train_once({**source, "train_texts": texts, "validation_texts": texts}, seed, folder)
    return trained.model.base_model, trained.processor
