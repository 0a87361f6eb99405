# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How well a classifier reads texts whose words are misspelt."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.claims.methods.training import train_model
from hf_lecture_models.data.rows import Rows

_LEAST_LETTERS = 4
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def right_when_misspelt(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return for each text 100 if a trained classifier finds its class although it is misspelt, otherwise 0.

    Training and validation data are spelt as they are, so the settings are chosen without misspellings. A text is
    misspelt in the same way whatever the model and the seed.

    Args:
        settings: those of `train_model` for the classification of texts; `share` of the words of four letters or more
            that are misspelt; `lost`, true for the difference to the text as it is: -100 where only that is classified
            rightly.
    """
    own = ("share", "lost")
    trained = train_model({name: value for name, value in settings.items() if name not in own}, seed, folder)
    if part == "validation":
        return _right(trained, trained.validation)
    data = trained.validation if trained.test is None else trained.test
    chance = random.Random(0)
    texts = [misspell(text, settings["share"], chance) for text in data.columns["text"]]
    found = _right(trained, Rows(data.columns | {"text": texts}, data.sources))
    if not settings.get("lost"):
        return found
    return [after - before for after, before in zip(found, _right(trained, data), strict=True)]


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


def _right(trained: Any, data: Rows) -> list[float]:
    task, recipe = trained.task, trained.recipe
    encoded = task.encode(trained.model, trained.processor, data, recipe)
    predicted = task.predict(trained.model, trained.processor, encoded).argmax(1).numpy()
    return (100.0 * (predicted == np.array(encoded.labels))).tolist()
