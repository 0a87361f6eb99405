# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Masked images: a model predicts the pixels of masked patches (SimMIM), or their mean color (as the ViT paper)."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForMaskedImageModeling, AutoModelForPreTraining

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.base.traits import trait
from hf_lecture_models.data.holdout import HeldOut, SplitKeys
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.auto_classes import model_classes
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.core.factories import SMALL_VIT, load_checkpoint, log_once, make_model
from hf_lecture_models.tasks.core.hold_out import keys_of_rows
from hf_lecture_models.tasks.core.settings import Settings
from hf_lecture_models.tasks.core.task import Encoded, Measure, Task, TaskRecipe
from hf_lecture_models.tasks.images.batches import MEAN_COLOR, PIXELS, MaskedImageBatches, MaskedImages
from hf_lecture_models.tasks.images.pixels import Augmentation, Normalization
from hf_lecture_models.tasks.images.processors import image_processor_for, pixels_for, refuse_tokenizer
from hf_lecture_models.tasks.images.rows import (
    ImagesRecipe,
    fingerprint_images,
    hold_out_images,
    image_checksums,
    read_images,
)
from hf_lecture_models.tasks.language_models.texts import perplexity
from hf_lecture_models.trainer.batches import Batches

MASKING_SEED = 0
"""The seed of masks in every evaluation, so that runs with different seeds can be compared."""

# The number of images whose masks are drawn together; another number gives other masks.
_EVALUATION_IMAGES = 256


@dataclass(kw_only=True)
class MaskedImagesSettings(Settings):
    """The settings of a model that predicts masked patches."""

    target: str = setting(
        PIXELS,
        "what is predicted of masked patches: pixels, or their mean color in three bits",
        choices=(PIXELS, MEAN_COLOR),
    )
    mask_probability: float = setting(0.5, "share of the patches of an image to predict", least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.mask_probability <= 1:
            raise ValueError(f"recipe: mask_probability must be above 0 and at most 1, not {self.mask_probability}")

    def auto_class(self) -> Any:
        """Return the Auto class of models that predict pixels, or mean colors."""
        return AutoModelForMaskedImageModeling if self.target == PIXELS else AutoModelForPreTraining


@dataclass(kw_only=True)
class MaskedImagesRecipe(MaskedImagesSettings, TaskRecipe, ImagesRecipe):
    """The recipe of a model that predicts masked patches."""

    tokenizer: dict[str, Any] = setting({}, "none: images have no tokenizer")
    model: dict[str, Any] = setting(
        SMALL_VIT,
        "model_type and the fields of its config, image_size and num_channels (1 or 3) among them, to which all images "
        "are brought",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_tokenizer(self)


class MaskedImagesTask(Task[MaskedImagesRecipe]):
    """The task of predicting masked patches; its data are `Rows`, whose classes are not read.

    Models of `AutoModelForMaskedImageModeling` predict pixels, those of `AutoModelForPreTraining` mean colors.

    >>> [measure.key for measure in MaskedImagesTask().measures(MaskedImagesRecipe(target="mean_color"))]
    ['masked_perplexity', 'masked_accuracy']
    """

    name = "masked_images"
    auto_class = AutoModelForMaskedImageModeling
    pipeline_tag = ""
    items = "patches"
    script = "train_masked_images.py"
    recipe_class = MaskedImagesRecipe
    settings_class = MaskedImagesSettings

    def is_for(self, model: Any) -> bool:
        """Return whether the model predicts pixels or mean colors."""
        pretrained = type(model) in model_classes(AutoModelForPreTraining, type(model.config))
        return super().is_for(model) or (pretrained and trait(model, "color_head") is not None)

    def measures(self, settings: MaskedImagesSettings) -> tuple[Measure, ...]:
        """Return the mean absolute pixel error (black and white differ by 2), or perplexity and accuracy of colors."""
        if settings.target == PIXELS:
            return (Measure("masked_distance", "mean distance of masked pixels", lower_is_better=True),)
        return (
            Measure("masked_perplexity", "perplexity per masked patch", lower_is_better=True),
            Measure("masked_accuracy", "accuracy of masked patches", lower_is_better=False),
        )

    def read(self, recipe: MaskedImagesRecipe, part: str) -> Rows | None:
        """The images of the part."""
        return read_images(recipe, part, labels=False)

    def hold_out(self, data: Rows, recipe: MaskedImagesRecipe) -> tuple[Rows, Rows | None, HeldOut | None]:
        """Split images into those to train on and those to validate on; log how many."""
        return hold_out_images(data, recipe, self.split_keys(recipe, data))

    def split_keys(self, recipe: MaskedImagesRecipe, data: Rows) -> SplitKeys:
        """Keep equal images on one side."""
        return keys_of_rows(data, {"image": image_checksums(data)})

    def processor(self, recipe: MaskedImagesRecipe, data: Rows) -> Any:
        """The image processor."""
        return image_processor_for(recipe)

    def model(self, recipe: MaskedImagesRecipe, processor: Any, data: Rows) -> Any:
        """Return the model; a checkpoint without the head gets a new head and a new mask vector."""
        auto_class = recipe.auto_class()
        if not recipe.from_pretrained:
            model = make_model(auto_class, recipe.model, None, recipe.seed)
        else:
            model, new = load_checkpoint(auto_class, recipe.from_pretrained, recipe.seed)
            if new:
                log_once(f"weights that {recipe.from_pretrained} does not hold start anew: {', '.join(new)}")
        if recipe.target == MEAN_COLOR and trait(model, "color_head") is None:
            raise ValueError(
                f"{type(model).__name__} predicts no mean colors; set target pixels, or name another model"
            )
        return model

    def batches(self, model: Any, processor: Any, data: Rows, recipe: MaskedImagesRecipe) -> Batches:
        """Return batches of images in a new order, and with new masks, each epoch."""
        images = self.encode(model, processor, data, recipe).inputs
        augmentation = Augmentation(recipe.crop_padding, recipe.flip)
        return MaskedImageBatches(images, augmentation, recipe.batch_size, recipe.seed)

    def encode(self, model: Any, processor: Any, data: Rows, settings: MaskedImagesSettings) -> Encoded:
        """Decode and resize the images; the model determines whether pixels or mean colors are predicted."""
        return Encoded(data, _masked_images(model, processor, data, _settings_for(model, settings)))

    def measure(self, model: Any, processor: Any, encoded: Encoded, settings: MaskedImagesSettings) -> dict[str, Any]:
        """Return the measures, on masks that are always the same."""
        return measure_masked_images(model, encoded.inputs)

    def fingerprint(self, recipe: MaskedImagesRecipe, part: str, data: Any) -> str:
        """A checksum of the images."""
        return fingerprint_images(data)

    def describe(self, model: Any, settings: MaskedImagesSettings, data: Any = None) -> dict[str, Any]:
        """Describe the task; the model determines what is predicted."""
        own = _settings_for(model, settings)
        return super().describe(model, own, data) | {"auto_class": own.auto_class().__name__}


@torch.no_grad()
def measure_masked_images(model: Any, images: MaskedImages) -> dict[str, Any]:
    """Measure a model on masked images.

    Returns:
        For pixels `masked_distance`, the mean |prediction - pixel| of normalized pixels over masked patches. For mean
        colors `masked_perplexity`, exp of the mean -ln P(color), and `masked_accuracy`, the share of patches whose
        color is the most probable one. `patches` is their number; `mask_probability` and `masking_seed` determine
        the masks.
    """
    generator = np.random.default_rng(MASKING_SEED)
    with evaluation_mode(model):
        loss = right = patches = 0.0
        for start in ProgressBar(range(0, len(images), _EVALUATION_IMAGES), desc="evaluating", unit="batch"):
            rows = np.arange(start, min(start + _EVALUATION_IMAGES, len(images)))
            batch = images.draw(rows, generator).to_batch(slice(None))
            inputs = {name: tensor.to(model.device) for name, tensor in batch.inputs.items()}
            outputs = model(**inputs)
            loss += float(outputs.loss) * batch.num_items
            patches += batch.num_items
            if "labels" in inputs:
                counted = inputs["labels"] != NOT_COUNTED
                right += float((outputs.logits.argmax(-1) == inputs["labels"])[counted].sum())
    said = {"patches": int(patches), "mask_probability": images.probability, "masking_seed": MASKING_SEED}
    if images.target == PIXELS:
        return {"masked_distance": loss / patches, **said}
    return {"masked_perplexity": perplexity(loss / patches), "masked_accuracy": right / patches, **said}


def _settings_for(model: Any, settings: MaskedImagesSettings) -> MaskedImagesSettings:
    return replace(settings, target=PIXELS if trait(model, "color_head") is None else MEAN_COLOR)


def _masked_images(model: Any, processor: Any, data: Rows, settings: MaskedImagesSettings) -> MaskedImages:
    pixels = pixels_for(model, processor, data)
    return MaskedImages(
        pixels, Normalization(processor), model.config.patch_size, settings.target, settings.mask_probability
    )
