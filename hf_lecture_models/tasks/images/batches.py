# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Batches of images: with their classes, or with masked patches.

New patches are chosen each time an image is read (Dosovitskiy et al. 2020, B.1.2; Xie et al. 2021). Where the model
predicts pixels, the mask replaces all chosen patches. Where it predicts mean colors, the mask replaces 80 % of them,
another patch 10 %, and 10 % stay.

Deviations:
- The same number of patches is chosen in each image, at least one; the other patch comes from the same image.
- Xie et al. mask squares of 32 x 32 pixels; here each patch is drawn by itself.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.layers.patches import mean_colors
from hf_lecture_models.tasks.core.shuffled import ShuffledBatches, ShuffledRows
from hf_lecture_models.tasks.images.pixels import Augmentation, Normalization
from hf_lecture_models.trainer.batches import Batch

PIXELS, MEAN_COLOR = "pixels", "mean_color"

_AS_MASK, _AS_OTHER = 0.8, 0.9


class ImageCollator:
    """Collate images with their classes; each image is an item.

    Args:
        pixels: (images, channels, height, width), bytes.
        labels: (images,), class ids.
    """

    def __init__(self, pixels: Tensor, labels: Any, normalize: Normalization) -> None:
        self.pixels, self.labels, self.normalize = pixels, torch.as_tensor(labels), normalize

    def __call__(self, rows: np.ndarray) -> Batch:
        """Return a batch of these rows without empty places (-1); one uncounted image stays if all are empty."""
        return self.collate(rows, self.pixels[np.maximum(rows, 0)])

    def collate(self, rows: np.ndarray, pixels: Tensor) -> Batch:
        """Return the batch of these rows with other pixels, such as augmented ones."""
        real = rows >= 0
        labels = self.labels[rows[real]] if real.any() else torch.tensor([NOT_COUNTED])
        kept = pixels[real] if real.any() else pixels[:1]
        return Batch({"pixel_values": self.normalize(kept), "labels": labels}, int(real.sum()))


class ImageBatches(ShuffledBatches):
    """Images in a new order each epoch, each once, augmented at random; seed, epoch and step determine how.

    Every process augments the whole step, so that the images do not depend on the number of processes.
    """

    def __init__(self, collate: ImageCollator, augmentation: Augmentation, batch_size: int, seed: int) -> None:
        super().__init__(len(collate.labels), collate, batch_size, seed)
        self.collator, self.augmentation = collate, augmentation

    def _micro_batches(self, step: np.ndarray) -> list[Batch]:
        if not self.augmentation:
            return super()._micro_batches(step)
        pixels = self.augmentation(self.collator.pixels[np.maximum(step, 0)], self.step_generator())
        return [self.collator.collate(step[part], pixels[part]) for part in self.shard.micro_batches]


@dataclass(frozen=True)
class MaskedImages:
    """Images with other masked patches each time they are drawn.

    Attributes:
        pixels: (images, channels, height, width), bytes.
        target: what the model predicts of each chosen patch, "pixels" or "mean_color".
        probability: the share of an image's patches that are chosen.
    """

    pixels: Tensor
    normalize: Normalization
    patch_size: int
    target: str
    probability: float

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def num_patches(self) -> int:
        """The number of patches in one image."""
        return (self.pixels.shape[2] // self.patch_size) * (self.pixels.shape[3] // self.patch_size)

    def draw(
        self, rows: np.ndarray, generator: np.random.Generator, augmentation: Augmentation | None = None
    ) -> "DrawnImages":
        """Return the images of these numbers with masked patches; -1 gives an image that counts nothing."""
        pixels = self.pixels[np.maximum(rows, 0)]
        if augmentation:
            pixels = augmentation(pixels, generator)
        shape = (len(rows), self.num_patches)
        number = min(max(1, round(self.probability * self.num_patches)), self.num_patches)
        chosen = generator.random(shape).argsort(1).argsort(1) < number
        chosen &= (rows >= 0)[:, None]
        if self.target == PIXELS:
            return DrawnImages(self.normalize(pixels), torch.from_numpy(chosen), None)
        fate, others = generator.random(shape), self._others(shape, generator)
        labels = mean_colors(pixels, self.patch_size).masked_fill(torch.from_numpy(~chosen), NOT_COUNTED)
        replaced = np.where(chosen & (fate >= _AS_MASK) & (fate < _AS_OTHER), others, np.arange(shape[1]))
        masked = torch.from_numpy(chosen & (fate < _AS_MASK))
        return DrawnImages(self.normalize(self._moved(pixels, torch.from_numpy(replaced))), masked, labels)

    def _others(self, shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
        """Return the number of another patch for each one, or its own in an image of one patch."""
        drawn = generator.integers(0, max(1, shape[1] - 1), shape)
        return np.minimum(drawn + (drawn >= np.arange(shape[1])), shape[1] - 1)

    def _moved(self, pixels: Tensor, sources: Tensor) -> Tensor:
        """Return images whose patch t is patch `sources[:, t]` of these images."""
        number, channels, height, width = pixels.shape
        size = self.patch_size
        cut = pixels.view(number, channels, height // size, size, width // size, size)
        patches = cut.permute(0, 2, 4, 1, 3, 5).flatten(1, 2)  # (images, patches, channels, size, size)
        moved = patches[torch.arange(number)[:, None], sources].unflatten(1, (height // size, width // size))
        return moved.permute(0, 3, 1, 4, 2, 5).reshape(pixels.shape)


@dataclass(frozen=True)
class DrawnImages:
    """Images with masked patches.

    Attributes:
        pixel_values: (images, channels, height, width).
        masked: (images, patches), where the model sees the mask.
        labels: (images, patches), mean colors, -100 where none is predicted; None if the model predicts pixels.
    """

    pixel_values: Tensor
    masked: Tensor
    labels: Tensor | None

    def to_batch(self, rows: slice) -> Batch:
        """Return a batch of some of the images, which counts the patches to predict."""
        inputs = {"pixel_values": self.pixel_values[rows], "bool_masked_pos": self.masked[rows]}
        if self.labels is None:
            return Batch(inputs, int(self.masked[rows].sum()))
        inputs["labels"] = self.labels[rows]
        return Batch(inputs, int((inputs["labels"] != NOT_COUNTED).sum()))


class MaskedImageBatches(ShuffledRows):
    """Images in a new order each epoch, each once, with random masks; seed, epoch and step determine the masks.

    Every process draws the whole step, so that the masks do not depend on the number of processes.
    """

    def __init__(self, images: MaskedImages, augmentation: Augmentation, batch_size: int, seed: int) -> None:
        super().__init__(len(images), batch_size, seed)
        self.images, self.augmentation = images, augmentation

    def _micro_batches(self, step: np.ndarray) -> list[Batch]:
        drawn = self.images.draw(step, self.step_generator(), self.augmentation)
        return [drawn.to_batch(part) for part in self.shard.micro_batches]
