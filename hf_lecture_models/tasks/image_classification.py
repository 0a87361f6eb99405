# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
# ruff: noqa: RUF009  (setting() makes fields of a dataclass)
"""Images to one of several classes."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor
from transformers import AutoModelForImageClassification

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.batches.images import ImageBatches, ImageCollator
from hf_lecture_models.batches.pixels import Augmentation, Normalization
from hf_lecture_models.data.images import ImagesRecipe, fingerprint_images, read_images, where
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.files import staged_file
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.factories import SMALL_VIT
from hf_lecture_models.tasks.images import image_processor_for, pixels_for, refuse_tokenizer
from hf_lecture_models.tasks.labels import class_fields, classes_of, in_the_order_of_checkpoint, make_head
from hf_lecture_models.tasks.metrics import compute
from hf_lecture_models.tasks.task import HeadRecipe, Measure, Task
from hf_lecture_models.tasks.text_classification import SINGLE_LABEL, class_names, label_ids
from hf_lecture_models.trainer.batches import Batches

if TYPE_CHECKING:
    from hf_lecture_models.trainer.loop import Evaluation

_EVALUATION_BATCH = 256
_HEAD = "ForImageClassification"


@dataclass(kw_only=True)
class ImageClassificationRecipe(HeadRecipe, ImagesRecipe):
    """The recipe of a classifier of images."""

    problem_type: ClassVar[str] = SINGLE_LABEL

    label_names: dict[str, str] = setting({}, "names of the classes, by what the data call them: {0: shirt, 1: shoe}")
    tokenizer: dict[str, Any] = setting({}, "none: images have no tokenizer")
    model: dict[str, Any] = setting(
        SMALL_VIT,
        "model_type and the fields of its config, image_size and num_channels (1 or 3) among them, to which all images "
        "are brought; with from_pretrained, fields to change: {hidden_dropout_prob: 0.1}",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_tokenizer(self)
        # YAML reads a name that looks like a number as one.
        self.label_names = {str(label): str(name) for label, name in self.label_names.items()}
        if self.freeze_backbone and (self.crop_padding or self.flip):
            raise ValueError("recipe: freeze_backbone reads each image once; leave out crop_padding and flip")


class ImageClassification(Task[ImageClassificationRecipe]):
    """The task of classifying images; its data are `Rows`."""

    name = "image_classification"
    auto_class = AutoModelForImageClassification
    pipeline_tag = "image-classification"
    items = "images"
    script = "train_image_classifier.py"
    recipe_class = ImageClassificationRecipe

    def measures(self, recipe: ImageClassificationRecipe) -> tuple[Measure, ...]:
        """The share of right classes."""
        return (Measure("accuracy", "accuracy", lower_is_better=False),)

    def read(self, recipe: ImageClassificationRecipe, part: str) -> Rows | None:
        """The images of the part."""
        return read_images(recipe, part)

    def processor(self, recipe: ImageClassificationRecipe, data: Rows) -> Any:
        """The image processor."""
        return image_processor_for(recipe)

    def model(self, recipe: ImageClassificationRecipe, processor: Any, data: Rows) -> Any:
        """The classifier, with the classes of the data.

        A checkpoint that is a classifier of these classes already keeps its order of them; where it has as many others,
        it is refused, since nothing says which one becomes which.
        """
        names = in_the_order_of_checkpoint(class_names(data, recipe), recipe, _HEAD)  # type: ignore[arg-type]
        return make_head(self.auto_class, recipe, processor, class_fields(names) | {"problem_type": SINGLE_LABEL})

    def batches(self, model: Any, processor: Any, data: Rows, recipe: ImageClassificationRecipe) -> Batches:
        """Images in a new order each epoch."""
        labels = [int(label) for label in label_ids(model.config, data, recipe)]  # type: ignore[arg-type]
        collate = ImageCollator(pixels_for(model, processor, data), labels, Normalization(processor))
        return ImageBatches(collate, Augmentation(recipe.crop_padding, recipe.flip), recipe.batch_size, recipe.seed)

    def evaluate(self, model: Any, processor: Any, data: Rows, recipe: ImageClassificationRecipe) -> dict[str, Any]:
        """The measures, and the number of images."""
        labels = label_ids(model.config, data, recipe)  # type: ignore[arg-type]
        return _measured(model, Normalization(processor), pixels_for(model, processor, data), labels)

    def evaluation(
        self, model: Any, processor: Any, data: Rows | None, recipe: ImageClassificationRecipe
    ) -> "Evaluation | None":
        """As of any task; the images are decoded once."""
        evaluation = super().evaluation(model, processor, data, recipe)
        if data is None or evaluation is None:
            return None
        labels = label_ids(model.config, data, recipe)  # type: ignore[arg-type]
        normalize, pixels = Normalization(processor), pixels_for(model, processor, data)
        return replace(evaluation, measure=partial(_measured, normalize=normalize, pixels=pixels, labels=labels))

    def check_predict_data(self, model: Any, processor: Any, data: Rows, recipe: ImageClassificationRecipe) -> None:
        """Raise ValueError where an image cannot be read."""
        pixels_for(model, processor, data)

    def write_predictions(
        self, model: Any, processor: Any, data: Rows, recipe: ImageClassificationRecipe, folder: Path
    ) -> Path:
        """Write `predictions.tsv` with the columns `image`, its file, or file and row, and `prediction`."""
        logits = predict(model, Normalization(processor), pixels_for(model, processor, data))
        names = classes_of(model.config)
        found = (f"{where(data, row)}\t{names[index]}" for row, index in enumerate(logits.argmax(1).tolist()))
        with staged_file(folder / "predictions.tsv") as path:
            path.write_text("\n".join(["image\tprediction", *found]) + "\n", encoding="utf-8")
        return folder / "predictions.tsv"

    def fingerprint(self, recipe: ImageClassificationRecipe, part: str, data: Any) -> str:
        """A checksum of the images and labels."""
        return fingerprint_images(data)

    def describe(self, model: Any, recipe: ImageClassificationRecipe, data: Rows | None = None) -> dict[str, Any]:
        """As of any task, and the classes."""
        return super().describe(model, recipe, data) | {"classes": classes_of(model.config)}


@torch.no_grad()
def predict(model: Any, normalize: Normalization, pixels: Tensor, batch_size: int = _EVALUATION_BATCH) -> Tensor:
    """The logits of images, (images, num_labels), float32 on the CPU.

    Args:
        pixels: (images, channels, height, width), bytes.
    """
    with evaluation_mode(model):
        parts = [model(pixel_values=normalize(part).to(model.device)).logits for part in pixels.split(batch_size)]
    return torch.cat([part.float().cpu() for part in parts])


def _measured(model: Any, normalize: Normalization, pixels: Tensor, labels: list[float]) -> dict[str, Any]:
    predictions = predict(model, normalize, pixels).argmax(1).tolist()
    return {"accuracy": compute("accuracy", predictions, labels), "images": len(labels)}
