# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Measure a model on texts of some numbers of words; the model is trained once for all lengths."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.lab.claims.methods.training import Trained, all_but, train_once
from hf_lecture_models.lab.claims.values import Values


def train_for_lengths(
    settings: Mapping[str, Any], seed: int, folder: Path, part: str, column: str
) -> tuple[Trained, Rows, Sequence[Hashable]]:
    """Return the trained model, and the rows of a part whose texts have the numbers of words, with their clusters.

    Args:
        settings: those of `train_model`; `least_words` and `most_words`, any number by default.
        column: that of the texts.

    Raises:
        ValueError: no text of the part has such a number of words.
    """
    least, most = settings.get("least_words", 1), settings.get("most_words", 10**6)
    trained = train_once(all_but(settings, "least_words", "most_words"), seed, folder)
    data, clusters = trained.part(part), trained.clusters(part)
    kept = [row for row, text in enumerate(data.columns[column]) if least <= len(text.split()) <= most]
    if not kept:
        raise ValueError(f"no {part} text has {least:,} to {most:,} words; change least_words or most_words")
    return trained, data.select(kept), [clusters[row] for row in kept]


def right_by_length(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return for each text 100 if its most probable class is right, otherwise 0.

    Args:
        settings: those of `train_for_lengths` for text classification.
    """
    trained, data, clusters = train_for_lengths(settings, seed, folder, part, "text")
    return Values(trained.right(data), clusters=clusters)
