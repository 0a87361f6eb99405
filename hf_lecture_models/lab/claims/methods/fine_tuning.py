# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What pre-training and fine-tuning cost, counted in the tokens that a model reads."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_lecture_models.lab.claims.methods.training import task_and_recipe


def tokens_read(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return log10 of the tokens that a model reads in training, each as often as there are epochs.

    Nothing is trained. The model is the same in both phases, so its operations are nearly proportional to the tokens.

    Args:
        settings: `phase`, "pre-training" for one value, or "fine-tuning" for one of each recipe; `pre_training`, the
            settings of `train_model` for texts, whose tokenizer both phases have; `fine_tuning`, a list of settings of
            `train_model` for the classification of texts or pairs.
    """
    task, recipe = task_and_recipe(settings["pre_training"], seed, folder)
    texts = task.read(recipe, "train")
    tokenizer = task.processor(recipe, texts)
    if settings["phase"] == "pre-training":
        return [math.log10(recipe.epochs * sum(map(len, _encoded(tokenizer, list(texts)))))]
    found = []
    for one in settings["fine_tuning"]:
        task, recipe = task_and_recipe(one, seed, folder)
        rows = task.read(recipe, "train").columns
        pairs = (rows["text"], rows["text_pair"]) if "text_pair" in rows else (rows["text"],)
        encoded = _encoded(tokenizer, *map(list, pairs))
        longest = recipe.max_length or math.inf
        found.append(math.log10(recipe.epochs * sum(min(len(ids), longest) for ids in encoded)))
    return found


def _encoded(tokenizer: Any, *texts: list[str]) -> list[list[int]]:
    return tokenizer(*texts, verbose=False)["input_ids"]
