# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How near a trained translator's sentences are to those of people."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_lecture_models.lab.claims.methods.training import all_but, train_once
from hf_lecture_models.lab.claims.values import Values
from hf_lecture_models.tasks.translation.bleu import bleu_and_chrf
from hf_lecture_models.tasks.translation.rows import keep_rows


def sentence_chrf(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return the chrF of each translated sentence, in percent.

    The model is trained once for all numbers of words.

    Args:
        settings: those of `train_model` for translation; `least_words` and `most_words` of the sources that are
            measured, any number by default.
    """
    least, most = settings.get("least_words", 1), settings.get("most_words", 10**6)
    trained = train_once(all_but(settings, "least_words", "most_words"), seed, folder)
    data = trained.part(part)
    clusters = trained.clusters(part)
    kept = [row for row, text in enumerate(data.columns["source"]) if least <= len(text.split()) <= most]
    data = keep_rows(data, kept, f"sources of {least} to {most} words are measured")
    task: Any = trained.task
    model, recipe = trained.model, trained.recipe
    found = task.predict(model, trained.processor, task.encode(model, trained.processor, data, recipe), recipe)
    texts = [translations[0].text for translations in found]
    targets = data.columns["target"]
    chrf = [bleu_and_chrf([text], [right])["chrf"] for text, right in zip(texts, targets, strict=True)]
    return Values(chrf, clusters=[clusters[row] for row in kept])
