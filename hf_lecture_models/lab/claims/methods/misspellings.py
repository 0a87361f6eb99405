# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How well a classifier of texts, or a tagger of words, reads words that are misspelt."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.lab.claims.methods.training import Trained, all_but, share_of_right, train_once
from hf_lecture_models.lab.claims.values import Values
from hf_lecture_models.tasks.tagging.task import TokenClassification

_LEAST_LETTERS = 4
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def right_when_misspelt(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return for each text 100 if its class is found although it is misspelt, otherwise 0.

    A tagger has the percentage of each sentence's tags, weighted by its words. Training and validation data are spelt
    as they are, so the settings are chosen without misspellings. A text is misspelt in the same way whatever the model
    and the seed. The model is trained once for what it finds and for what it loses.

    Args:
        settings: those of `train_model` for the classification of texts or the tagging of words; `share` of the words
            of four letters or more that are misspelt; `lost`, true for the difference to the text as it is: -100 where
            only that is classified rightly; `margin`, by how many points a model must be above the most frequent
            class, on validation data, to be compared at all.

    Raises:
        ValueError: a model that is to be compared is not above the most frequent class by `margin`.
    """
    trained = train_once(all_but(settings, "share", "lost", "margin"), seed, folder)
    validation = _right(trained, trained.part("validation"), "validation")
    if part == "validation":
        return validation
    labels = Counter(label for row in _labels(trained, trained.validation) for label in row)
    frequent = 100 * labels.most_common(1)[0][1] / labels.total()
    if validation.mean < frequent + settings.get("margin", 0):
        raise ValueError(
            f"seed {seed} is right about {validation.mean:.1f} percent of the validation data, the most "
            f"frequent class about {frequent:.1f}: too little was learned to compare; give more epochs or data"
        )
    data = trained.part("test")
    columns = data.columns | dict([_misspelt(data, settings["share"])])
    misspelt = _right(trained, data.with_columns(columns), "test")
    if not settings.get("lost"):
        return misspelt
    spelt = _right(trained, data, "test")
    lost = [after - before for after, before in zip(misspelt.values, spelt.values, strict=True)]
    return replace(misspelt, values=lost)


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


def _right(trained: Trained, data: Rows, part: str) -> Values:
    if isinstance(trained.task, TokenClassification):
        return share_of_right(trained.right_tags(data), trained.clusters(part))
    return Values(trained.right(data), clusters=trained.clusters(part))
