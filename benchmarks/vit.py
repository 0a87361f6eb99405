# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The Vision Transformer: training steps beside transformers' of equal shape, and the gain by masked pre-training.

    OMP_NUM_THREADS=1 python -m benchmarks.vit speed [--steps 8] [--hidden_size 192 ...]
    python -m benchmarks.vit speed --hidden_size 768 --layers 12 --heads 12 --image_size 224 --patch_size 16 \
        --batch 64 --steps 30                                              # ViT-B/16's own shape, on a GPU
    OMP_NUM_THREADS=1 HF_LECTURE_DATA=... python -m benchmarks.vit accuracy --folder RUNS

speed: both read the same images in turns: forward, backward, AdamW; once with labels, once with half of the
patches masked, whose pixels are to be found. A ratio is the median over steps of the peer's
seconds over ours: above 1, ours is faster. Seconds are CPU seconds of one thread, on a GPU wall seconds. "freed memory
kept": once more in a process that keeps what it frees.

accuracy: digits and Fashion-MNIST (10,000 of the 60,000 training images, a tenth of them for validation), each by its
recipe: trained on classes alone; and pre-trained on masked patches of the same images, without classes, both ways, for
as many epochs, then trained by the same recipe. Test images are looked at once, by the weights that validation chose.
What is finished in RUNS is not trained again.
"""

import argparse
import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import ViTConfig, ViTForImageClassification, ViTForMaskedImageModeling

from benchmarks.common import (
    ROOT,
    check_trained_on_committed_code,
    data_folder,
    keep_freed_memory,
    new_parser,
    refuse_stopped,
    training_record,
    write_results,
)
from benchmarks.training_steps import Run, note, ratio, read_shape, take_turns, warm_up_of
from hf_lecture_models import LectureViTConfig, LectureViTForImageClassification, LectureViTForMaskedImageModeling
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.images.classification import ImageClassification
from hf_lecture_models.tasks.images.masked import MaskedImagesRecipe, MaskedImagesTask

PEER, OURS = "transformers", "ours"
# Of the peer and of ours, with the configuration of each.
CLASSIFIERS = ((ViTForImageClassification, ViTConfig), (LectureViTForImageClassification, LectureViTConfig))
MASKED_MODELS = ((ViTForMaskedImageModeling, ViTConfig), (LectureViTForMaskedImageModeling, LectureViTConfig))
CLASSES = 10
DATA = ("digits", "fashion_mnist")
TARGETS = ("pixels", "mean_color")


def build(name: str, shape: argparse.Namespace, masked: bool) -> nn.Module:
    """Return a model in training mode, without dropout, which is both classes' default."""
    fields: dict[str, Any] = {
        "image_size": shape.image_size,
        "patch_size": shape.patch_size,
        "num_channels": 3,
        "hidden_size": shape.hidden_size,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": 4 * shape.hidden_size,
        "num_labels": CLASSES,
    }
    is_peer = name.startswith(PEER)
    model_class, config_class = (MASKED_MODELS if masked else CLASSIFIERS)[0 if is_peer else 1]
    if is_peer:
        fields["encoder_stride"] = shape.patch_size  # how many pixels its masked head makes of a patch
    model: nn.Module = model_class(config_class(**fields))
    return model.train().to(shape.device)


def measure_speed(shape: argparse.Namespace, bf16: bool, masked: bool) -> dict[str, Any]:
    names = [PEER, OURS]
    if shape.device == "cuda":
        names += [f"{PEER}, compiled", f"{OURS}, compiled"]
    torch.manual_seed(0)
    runs = {name: Run(build(name, shape, masked), bf16, compiled="compiled" in name) for name in names}
    batches = (_batch(shape, masked, seed) for seed in range(warm_up_of(shape.device) + shape.steps))
    seconds = take_turns(runs, batches)
    results: dict[str, Any] = {
        f"{name}: images per second": round(shape.batch / statistics.median(seconds[name]), 1) for name in names
    }
    for name in names[1:]:
        results[f"{PEER} / {name}"] = ratio(seconds[PEER], seconds[name])
    return results


def _batch(shape: argparse.Namespace, masked: bool, seed: int) -> dict[str, torch.Tensor]:
    """Return random images with labels, or with a random mask of about half of the patches."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn(shape.batch, 3, shape.image_size, shape.image_size, generator=generator)
    if masked:
        patches = (shape.image_size // shape.patch_size) ** 2
        targets = {"bool_masked_pos": torch.rand(shape.batch, patches, generator=generator) < 0.5}
    else:
        targets = {"labels": torch.randint(CLASSES, (shape.batch,), generator=generator)}
    return {name: tensor.to(shape.device) for name, tensor in {"pixel_values": images, **targets}.items()}


def speed(shape: argparse.Namespace, results: dict[str, Any]) -> None:
    for kept in (False, True) if shape.device == "cpu" else (False,):
        if kept:
            keep_freed_memory()
        for precision, masked in [(precision, masked) for masked in (False, True) for precision in shape.precision]:
            key = "masked images, " * masked + precision + (", freed memory kept" if kept else "")
            note(results, key, measure_speed(shape, precision != "float32", masked))
    write_results("vit_speed", results)


def accuracy(options: argparse.Namespace) -> None:
    data_folder()
    torch.set_num_threads(1)
    results = {}
    for data in DATA:
        for start in ("classes alone", *TARGETS):
            results[f"{data}, {start}"] = _accuracy_of(data, start, options)
            print(f"{data}, {start}: {results[f'{data}, {start}']}", flush=True)
    write_results("vit_accuracy", results)


def _accuracy_of(data: str, start: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return test accuracy and cost of a classifier that starts from random weights, or from masked images."""
    recipe_file = ROOT / "training" / "recipes" / f"vit_{data}.yaml"
    recipe = load_recipe(recipe_file, recipe_class=ImageClassification.recipe_class)
    if options.max_steps:
        recipe = replace(recipe, max_steps=options.max_steps)
    folder = Path(options.folder) / f"{data}-{start.replace(' ', '_')}"
    found: dict[str, Any] = {}
    if start in TARGETS:
        masked = Path(options.folder) / f"{data}-{start}-masked"
        known = MaskedImagesRecipe.__dataclass_fields__.keys() & recipe.to_dict().keys()
        fields = {name: getattr(recipe, name) for name in known}
        fields |= {"output_dir": str(masked), "test_files": [], "test_split": "", "target": start}
        found |= _trained(MaskedImagesTask(), MaskedImagesRecipe(**fields), masked, "pre-training: ", options.dirty)
        recipe = replace(recipe, from_pretrained=str(masked))
    found |= _trained(ImageClassification(), replace(recipe, output_dir=str(folder)), folder, "", options.dirty)
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    return {"test accuracy": round(facts["results"]["accuracy"], 4), "images": facts["results"]["images"]} | found


def _trained(task: Any, recipe: Any, folder: Path, prefix: str, dirty: bool) -> dict[str, Any]:
    is_done = (folder / ("facts.json" if recipe.test_files or recipe.test_split else "training.json")).is_file()
    if not is_done:
        refuse_stopped(train_and_test(task, recipe, resume=folder.is_dir()).training)
    if not dirty:
        check_trained_on_committed_code(folder)
    record = training_record(folder)
    return {
        f"{prefix}validation {record['metric']}": round(record["best_metric"], 4),
        f"{prefix}steps": record["step"],
        f"{prefix}CPU seconds of learning": round(record["step_cpu_seconds"]),
    }


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("part", choices=("speed", "accuracy"))
    sizes = {"image_size": 32, "patch_size": 4, "hidden_size": 192, "layers": 6, "heads": 6, "batch": 32, "steps": 8}
    parser.add_argument("--precision", nargs="*", default=["float32", "bf16 autocast"])
    parser.add_argument("--folder", default="runs/vit", help="accuracy: where the trained models go")
    parser.add_argument("--max_steps", type=int, default=0, help="accuracy: steps of each training, to try it")
    options, results = read_shape(parser, sizes)
    if options.part == "speed":
        speed(options, results)
    else:
        accuracy(options)


if __name__ == "__main__":
    main()
