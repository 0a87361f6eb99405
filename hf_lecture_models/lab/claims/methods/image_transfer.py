# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How well a Vision Transformer learns new classes after it was pre-trained on images of others."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.lab.claims.methods.training import (
    Trained,
    all_but,
    rows_at,
    sample_rows,
    task_and_recipe,
    training,
)

_OWN = ("start", "recipe", "masked_recipe", "images", "held_out", "pretraining_epochs", "pretraining_images")
NOTHING, CLASSES = "nothing", "classes"


def right_after_pretraining(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return for each image 100 if its class is found, otherwise 0; each image is a cluster of its own.

    A model is pre-trained on the images whose class has an odd number, and then learns the classes with even numbers
    from a few images, which the seed draws. All weights are trained in both phases, and the last ones are used.

    Args:
        settings: `start`, "nothing" for no pre-training, "classes" for that on classes, or what is predicted of masked
            patches, "pixels" or "mean_color"; `recipe` and `masked_recipe`, of classes and of masked patches;
            `pretraining_images` and `pretraining_epochs`; `images` to learn from; `held_out`, how many others are the
            validation data; and fields of the recipe for both phases, but for `epochs`, which are those of learning
            from a few images.
    """
    classes = {"task": "image_classification", "recipe": settings["recipe"], **all_but(settings, *_OWN)}
    task, recipe = task_and_recipe(classes, seed, folder)
    known, to_learn = (_of_half(task.read(recipe, "train"), half) for half in (1, 0))
    if settings["start"] != NOTHING:
        before = classes | {"epochs": settings["pretraining_epochs"]}
        if settings["start"] != CLASSES:
            before |= {"task": "masked_images", "recipe": settings["masked_recipe"], "target": settings["start"]}
        shown = sample_rows(known, settings["pretraining_images"], 0, seed)[0]
        pretrained = _train(before, seed, folder, shown)
        for saved in (pretrained.model.base_model, pretrained.processor):
            saved.save_pretrained(folder / "backbone")
        classes |= {"from_pretrained": str(folder / "backbone"), "model": {}}
    few, held_out = sample_rows(to_learn, settings["images"], settings["held_out"], seed)
    trained = _train(classes, seed, folder, few)
    shutil.rmtree(folder / "backbone", ignore_errors=True)
    return trained.right(held_out if part == "validation" else _of_half(task.read(recipe, "test"), 0))


def _of_half(data: Rows, half: int) -> Rows:
    """Return the rows whose class has an odd (1) or an even (0) number."""
    return rows_at(data, np.flatnonzero(np.array(list(map(int, data.columns["label"]))) % 2 == half))


def _train(settings: Mapping[str, Any], seed: int, folder: Path, data: Rows) -> Trained:
    """Train on these data; none are kept to measure the model."""
    task, recipe = task_and_recipe(settings, seed, folder)
    processor = task.processor(recipe, data)
    model = task.model(recipe, processor, data)
    with training(task, recipe, model, processor, data, None):
        return Trained(task, recipe, model.eval(), processor, None, None)
