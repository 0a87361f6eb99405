# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How well a classifier of texts, or a tagger of words, reads words that are misspelt."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.lab.claims.methods.training import Trained, all_but, train_model
from hf_lecture_models.tasks.tagging.task import TokenClassification

_LEAST_LETTERS = 4
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class _Found(NamedTuple):
    """Percentages that are right, for each row: of the validation data, of the test data, of these with mistakes."""

    validation: list[float]
    spelt: list[float]
    misspelt: list[float]


def right_when_misspelt(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return for each text 100 if its class is found although it is misspelt, otherwise 0.

    A tagger has the percentage of each sentence's tags. Training and validation data are spelt as they are, so the
    settings are chosen without misspellings. A text is misspelt in the same way whatever the model and the seed.

    Args:
        settings: those of `train_model` for the classification of texts or the tagging of words; `share` of the words
            of four letters or more that are misspelt; `lost`, true for the difference to the text as it is: -100 where
            only that is classified rightly; `margin`, by how many points a model must be above the most frequent
            class, on validation data, to be compared at all.

    Raises:
        ValueError: a model that is to be compared is not above the most frequent class by `margin`.
    """
    found, frequent = _measured(json.dumps(all_but(settings, "lost", "margin"), sort_keys=True), seed)
    if part == "validation":
        return found.validation
    if np.mean(found.validation) < frequent + settings.get("margin", 0):
        raise ValueError(
            f"seed {seed} is right about {np.mean(found.validation):.1f} percent of the validation data, the most "
            f"frequent class about {frequent:.1f}: too little was learned to compare; give more epochs or data"
        )
    if not settings.get("lost"):
        return found.misspelt
    return [after - before for after, before in zip(found.misspelt, found.spelt, strict=True)]


# Two cases measure the same model, with mistakes and by what it loses, each in a folder of its own.
@lru_cache(maxsize=32)
def _measured(settings: str, seed: int) -> tuple[_Found, float]:
    """Train a model, and return what it finds, and the percentage of the most frequent class."""
    own = json.loads(settings)
    share = own.pop("share")
    with TemporaryDirectory() as folder:
        trained = train_model(own, seed, Path(folder))
    data = trained.part("test")
    misspelt = Rows(data.columns | dict([_misspelt(data, share)]), data.sources)
    rows = (trained.validation, data, misspelt)
    labels = Counter(label for row in _labels(trained, trained.validation) for label in row)
    return _Found(*(_right(trained, one) for one in rows)), 100 * labels.most_common(1)[0][1] / labels.total()


def _misspelt(data: Rows, share: float) -> tuple[str, list[Any]]:
    """Return the name of the column of texts or words, and the column with mistakes."""
    chance = random.Random(0)
    if "tokens" not in data.columns:
        return "text", [misspell(text, share, chance) for text in data.columns["text"]]
    return "tokens", [[misspell(word, share, chance) for word in words] for words in data.columns["tokens"]]


def misspell(text: str, share: float, chance: random.Random) -> str:
    """Return a text with mistakes in its words: a letter left out, doubled or replaced, or two letters changed over.

    The first letter stays. Words with other characters than letters, such as numbers, stay as they are.

    >>> misspell("a teacher is learning", 1.0, random.Random(0))
    'a teacer is learnnig'
    """
    return " ".join(
        _misspell_word(word, chance)
        if len(word) >= _LEAST_LETTERS and word.isalpha() and chance.random() < share
        else word
        for word in text.split(" ")
    )


def _misspell_word(word: str, chance: random.Random) -> str:
    place = chance.randrange(1, len(word) - 1)
    before, letter, after = word[:place], word[place], word[place + 1 :]
    kind = chance.choice(("left out", "doubled", "replaced", "changed over"))
    if kind == "left out":
        return before + after
    if kind == "doubled":
        return before + letter * 2 + after
    if kind == "replaced":
        return before + chance.choice(_LETTERS.replace(letter, "")) + after
    return before + after[0] + letter + after[1:]


def _labels(trained: Trained, data: Rows) -> Iterator[list[Any]]:
    """Yield the right class of each text, as a list, or the tags of each sentence."""
    labels = trained.task.encode(trained.model, trained.processor, data, trained.recipe).labels
    is_tagger = isinstance(trained.task, TokenClassification)
    return (list(row) if is_tagger else [row] for row in labels)


def _right(trained: Trained, data: Rows) -> list[float]:
    task, model, processor = trained.task, trained.model, trained.processor
    if not isinstance(task, TokenClassification):
        return trained.right(data)
    encoded = task.encode(model, processor, data, trained.recipe)
    names = model.config.id2label
    found = ([names.get(tag) for tag, _ in row] for row in task.predict(model, processor, encoded))
    return [
        100.0 * float(np.mean([one == other for one, other in zip(right, tags, strict=True)]))
        for right, tags in zip(encoded.labels, found, strict=True)
    ]
