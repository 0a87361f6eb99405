# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Supervised pre-training of a Vision Transformer beside masked patches (slide R:1005), on Fashion-MNIST.

    OMP_NUM_THREADS=1 HF_LECTURE_DATA=... python -m benchmarks.vit_transfer [--images 1000] [--output FOLDER]

The five odd classes are for pre-training, the five even ones are to be learned. A model is pre-trained on the images of
the odd classes: on their classes, on pixels of masked patches, or on mean colors of masked patches; or it is not. Then
it learns the even classes from a few images, by the same recipe, `vit_fashion_mnist.yaml`, with three seeds that draw
other images too. The weights after the last step are measured on the test images of the even classes.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import (
    ROOT,
    add_output,
    data_folder,
    mean_and_error,
    new_parser,
    read_options,
    refuse_stopped,
    training_record,
    write_results,
)
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.loading import be_quiet
from hf_lecture_models.tasks.images.classification import ImageClassification
from hf_lecture_models.tasks.images.masked import MaskedImagesRecipe, MaskedImagesTask

NOTHING, CLASSES = "nothing", "classes"
STARTS = (NOTHING, CLASSES, "pixels", "mean_color")
SEEDS = (0, 1, 2)
ODD, EVEN = 1, 0
BACKBONE = "backbone"
PASSES = 30
"""Epochs over the few images of the even classes."""


def of_half(rows: Rows, half: int) -> Rows:
    """Return the rows whose class is odd (1) or even (0)."""
    chosen = [index for index, label in enumerate(rows.columns["label"]) if label % 2 == half]
    return _chosen(rows, chosen)


def _chosen(rows: Rows, chosen: list[int]) -> Rows:
    columns = {name: [values[index] for index in chosen] for name, values in rows.columns.items()}
    return Rows(columns, [(rows.sources[0][0], len(chosen))])


def pretrain(start: str, recipe: Any, data: Rows, folder: Path) -> float:
    """Pre-train a model on the images, and save it without its head; return the CPU seconds."""
    task: Any = ImageClassification()
    if start != CLASSES:
        task = MaskedImagesTask()
        known = MaskedImagesRecipe.__dataclass_fields__.keys() & recipe.to_dict().keys()
        recipe = MaskedImagesRecipe(**{name: getattr(recipe, name) for name in known} | {"target": start})
    (model, processor), seconds = _train(task, recipe, data, folder)
    for part in (model.base_model, processor):
        part.save_pretrained(folder / BACKBONE)
    return seconds


def _train(task: Any, recipe: Any, data: Rows, folder: Path) -> tuple[Any, float]:
    processor = task.processor(recipe, data)
    model = task.model(recipe, processor, data)
    refuse_stopped(task.train(model, processor, data, None, recipe, output_dir=folder, quiet=True))
    return (model, processor), training_record(folder)["step_cpu_seconds"]


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--images", type=int, default=1000, help="images of the even classes to learn from")
    parser.add_argument("--max_steps", type=int, default=0, help="steps of each training, to try it")
    add_output(parser, "runs/vit_transfer", "the models")
    options = read_options(parser)
    data_folder()
    be_quiet()
    task = ImageClassification()
    recipe = load_recipe(ROOT / "training/recipes/vit_fashion_mnist.yaml", recipe_class=task.recipe_class)
    recipe = replace(recipe, validation_share=0.0, evaluate_every=0, max_steps=options.max_steps)
    train, test = task.read(recipe, "train"), task.read(recipe, "test")
    if train is None or test is None:
        raise FileNotFoundError(f"{recipe.train_files} or {recipe.test_files} is missing")
    known, to_learn, test = of_half(train, ODD), of_half(train, EVEN), of_half(test, EVEN)
    results: dict[str, Any] = {
        "images of pre-training": len(known),
        "images to learn from": options.images,
        "epochs": PASSES,
        "test images": len(test),
    }
    for start in STARTS:
        found: dict[str, Any] = {"accuracy": []}
        own = replace(recipe, epochs=PASSES)
        if start != NOTHING:
            folder = options.output / start
            found["pre-training: CPU seconds"] = round(pretrain(start, recipe, known, folder))
            own = replace(own, from_pretrained=str(folder / BACKBONE))
        for seed in SEEDS:
            few = np.random.default_rng(seed).permutation(len(to_learn))[: options.images].tolist()
            run = options.output / f"{start}_{seed}"
            (model, processor), seconds = _train(task, replace(own, seed=seed), _chosen(to_learn, few), run)
            found["accuracy"].append(task.evaluate(model, processor, test, own)["accuracy"])
            found["CPU seconds"] = round(seconds)
        results[start] = found | mean_and_error(found["accuracy"])
        print(start, results[start], flush=True)
    write_results("vit_transfer", results, options.kept)


if __name__ == "__main__":
    main()
