# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The classification of images."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor
from transformers import AutoModelForImageClassification

from hf_lecture_models.data.holdout import HeldOut, SplitKeys
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.evaluation.by_length import predict_by_length
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.classification.baseline import MostFrequentClass
from hf_lecture_models.tasks.classification.classes import best_classes, class_scores
from hf_lecture_models.tasks.classification.errors import class_errors
from hf_lecture_models.tasks.classification.kinds import SINGLE_LABEL
from hf_lecture_models.tasks.classification.labels import class_names, label_ids
from hf_lecture_models.tasks.classification.measures import measures_by_class
from hf_lecture_models.tasks.core.errors import Errors
from hf_lecture_models.tasks.core.factories import SMALL_VIT
from hf_lecture_models.tasks.core.heads import HeadRecipe
from hf_lecture_models.tasks.core.hold_out import keys_of_classes
from hf_lecture_models.tasks.core.labels import (
    class_fields,
    classes_of,
    in_the_order_of_checkpoint,
    make_head,
    named_by_text,
)
from hf_lecture_models.tasks.core.lines import PredictionOptions
from hf_lecture_models.tasks.core.settings import Settings
from hf_lecture_models.tasks.core.task import Encoded, Measure, Task
from hf_lecture_models.tasks.images.batches import ImageBatches, ImageCollator
from hf_lecture_models.tasks.images.pixels import Augmentation, Normalization
from hf_lecture_models.tasks.images.processors import IMAGE_LINES, image_processor_for, pixels_for, refuse_tokenizer
from hf_lecture_models.tasks.images.rows import (
    ImagesRecipe,
    fingerprint_images,
    hold_out_images,
    image_checksums,
    read_images,
    where,
)
from hf_lecture_models.tasks.metrics import compute
from hf_lecture_models.trainer.batches import Batches

_EVALUATION_BATCH = 256
_HEAD = "ForImageClassification"


@dataclass(kw_only=True)
class ImageClassSettings(Settings):
    """The settings of a classifier of images."""

    problem_type: ClassVar[str] = SINGLE_LABEL

    label_names: dict[str, str] = setting({}, "names of the classes, by what the data call them: {0: shirt, 1: shoe}")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.label_names = named_by_text("label_names", self.label_names)


@dataclass(kw_only=True)
class ImageClassificationRecipe(ImageClassSettings, HeadRecipe, ImagesRecipe):
    """The recipe of a classifier of images."""

    tokenizer: dict[str, Any] = setting({}, "none: images have no tokenizer")
    model: dict[str, Any] = setting(
        SMALL_VIT,
        "model_type and the fields of its config, image_size and num_channels (1 or 3) among them, to which all images "
        "are brought; with from_pretrained, fields to change: {hidden_dropout_prob: 0.1}",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_tokenizer(self)
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
    settings_class = ImageClassSettings
    line_form = IMAGE_LINES
    next_command = "hf-lecture predict {} photo.png"
    baseline = MostFrequentClass()

    def measures(self, settings: ImageClassSettings) -> tuple[Measure, ...]:
        """Return the accuracy."""
        return (Measure("accuracy", "accuracy", lower_is_better=False),)

    def read(self, recipe: ImageClassificationRecipe, part: str) -> Rows | None:
        """The images of the part."""
        return read_images(recipe, part)

    def hold_out(self, data: Rows, recipe: ImageClassificationRecipe) -> tuple[Rows, Rows | None, HeldOut | None]:
        """Split images into those to train on and those to validate on; log how many."""
        return hold_out_images(data, recipe, self.split_keys(recipe, data))

    def split_keys(self, recipe: ImageClassificationRecipe, data: Rows) -> SplitKeys:
        """Keep equal images on one side, and the share of each class on both."""
        return keys_of_classes(data, {"image": image_checksums(data)}, recipe.label_names)

    def processor(self, recipe: ImageClassificationRecipe, data: Rows) -> Any:
        """The image processor."""
        return image_processor_for(recipe)

    def model(self, recipe: ImageClassificationRecipe, processor: Any, data: Rows) -> Any:
        """Return the classifier, with the classes of the data.

        A checkpoint that already classifies these classes keeps its order of them. A checkpoint with as many other
        classes is refused, because they cannot be matched.
        """
        names = in_the_order_of_checkpoint(class_names(data, recipe.label_names), recipe, _HEAD)
        return make_head(self.auto_class, recipe, processor, class_fields(names) | {"problem_type": SINGLE_LABEL})

    def batches(self, model: Any, processor: Any, data: Rows, recipe: ImageClassificationRecipe) -> Batches:
        """Images in a new order each epoch."""
        encoded = self.encode(model, processor, data, recipe)
        collate = ImageCollator(encoded.inputs, encoded.labels, Normalization(processor))
        return ImageBatches(collate, Augmentation(recipe.crop_padding, recipe.flip), recipe.batch_size, recipe.seed)

    def encode(self, model: Any, processor: Any, data: Rows, settings: ImageClassSettings) -> Encoded:
        """Decode and resize the images to (images, channels, height, width) bytes; convert labels to the model's ids.

        Raises:
            ValueError: an image cannot be read, or a label is not one of the model's classes.
        """
        pixels = pixels_for(model, processor, data)
        labels = label_ids(model.config, data, settings) if "label" in data.columns else None
        return Encoded(data, pixels, labels if labels is None else [int(label) for label in labels])

    def predict(self, model: Any, processor: Any, encoded: Encoded, batch_size: int = _EVALUATION_BATCH) -> Tensor:
        """Return the logits of encoded images, (images, classes), float32 on the CPU."""
        normalize = Normalization(processor)

        def predict_batch(images: list[Tensor]) -> Tensor:
            return model(pixel_values=normalize(torch.stack(images)).to(model.device)).logits.float().cpu()

        return torch.stack(predict_by_length(model, encoded.inputs, predict_batch, batch_size))

    def answers(self, model: Any, processor: Any, encoded: Encoded, settings: ImageClassSettings) -> list[int]:
        """Return the id of each image's most probable class."""
        return self.predict(model, processor, encoded).argmax(1).tolist()

    def measure_answers(
        self, model: Any, processor: Any, encoded: Encoded, answers: Sequence[int], settings: ImageClassSettings
    ) -> dict[str, Any]:
        """Return the measures, also those of each class, and the number of images."""
        by_class = measures_by_class(answers, encoded.labels, classes_of(model.config))
        return {
            "accuracy": compute("accuracy", answers, encoded.labels),
            **by_class,
            "images": len(encoded.inputs),
        }

    def predictions(
        self, model: Any, processor: Any, data: Rows, settings: ImageClassSettings, options: PredictionOptions
    ) -> list[list[dict[str, Any]]]:
        """The most probable classes of each image."""
        logits = self.predict(model, processor, self.encode(model, processor, data, settings), options.batch_size)
        names = classes_of(model.config)
        return [best_classes(scores, names, options.top_k or 1) for scores in class_scores(logits, model.config)]

    def errors(self, model: Any, processor: Any, data: Rows, settings: ImageClassSettings) -> Errors:
        """The images with a wrong class, each by its file, or file and row."""
        encoded = self.encode(model, processor, data, settings)
        images = {"image": [where(data, row) for row in range(len(data))]}
        return class_errors(model.config, images, self.predict(model, processor, encoded), encoded.labels)

    def write_predictions(
        self, model: Any, processor: Any, data: Rows, settings: ImageClassSettings, folder: Path
    ) -> Path:
        """Write `predictions.tsv` with the columns `image`, its file, or file and row, and `prediction`."""
        logits = self.predict(model, processor, self.encode(model, processor, data, settings))
        names = classes_of(model.config)
        found = (f"{where(data, row)}\t{names[index]}" for row, index in enumerate(logits.argmax(1).tolist()))
        return write_file(folder / "predictions.tsv", "\n".join(["image\tprediction", *found]) + "\n")

    def fingerprint(self, recipe: ImageClassificationRecipe, part: str, data: Any) -> str:
        """A checksum of the images and labels."""
        return fingerprint_images(data)

    def describe(self, model: Any, settings: ImageClassSettings, data: Rows | None = None) -> dict[str, Any]:
        """Add the classes."""
        return super().describe(model, settings, data) | {"classes": classes_of(model.config)}
