# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How near a trained translator's sentences are to those of people."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_lecture_models.lab.claims.methods.lengths import train_for_lengths
from hf_lecture_models.lab.claims.methods.training import all_but
from hf_lecture_models.lab.claims.values import Values
from hf_lecture_models.tasks.translation.bleu import bleu_and_chrf


def sentence_chrf(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return the chrF of each translated sentence, in percent.

    Args:
        settings: those of `train_for_lengths` for translation; the numbers of words are those of the sources.
            `other_sources`, whether each sentence is compared with the translation of the source before it, which shows
            what a translator has without reading the source.
    """
    trained, data, clusters = train_for_lengths(all_but(settings, "other_sources"), seed, folder, part, "source")
    task: Any = trained.task
    model, recipe = trained.model, trained.recipe
    found = task.predict(model, trained.processor, task.encode(model, trained.processor, data, recipe), recipe)
    texts = [translations[0].text for translations in found]
    if settings.get("other_sources"):
        texts = texts[-1:] + texts[:-1]
    targets = data.columns["target"]
    chrf = [bleu_and_chrf([text], [right])["chrf"] for text, right in zip(texts, targets, strict=True)]
    return Values(chrf, clusters=clusters)
