# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Turn images into the tensors that a model reads: resized once, normalized and augmented at each step."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hf_lecture_models.base.pillow_images import open_image
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.images.rows import where

# Images that are decoded and resized together.
_TOGETHER = 256


def load_pixels(rows: Rows, processor: Any, num_channels: int) -> Tensor:
    """Return all images, resized by the image processor: (images, channels, height, width), bytes.

    Args:
        num_channels: of the model, 1 (gray) or 3 (RGB); other images are converted.

    Raises:
        ValueError: an image is damaged, or the processor and the model do not belong together.
        OSError: a file is missing.
    """
    if num_channels not in (1, 3):
        raise ValueError(f"the model reads images with num_channels={num_channels}; files have 1 or 3")
    mode, found = ("L" if num_channels == 1 else "RGB"), []
    for start in range(0, len(rows), _TOGETHER):
        places = range(start, min(start + _TOGETHER, len(rows)))
        images = [open_image(rows.columns["image"][i], where(rows, i)).convert(mode) for i in places]
        resized = processor(images, do_rescale=False, do_normalize=False, return_tensors="pt").pixel_values
        if resized.shape[1] != num_channels:
            raise ValueError(
                f"the image processor makes {resized.shape[1]} channels, but the model reads num_channels="
                f"{num_channels}; load the processor that was saved with the model"
            )
        found.append(resized.to(torch.uint8))
    return torch.cat(found)


class Normalization:
    """Rescale and normalize bytes as the image processor does.

    >>> class Processor:
    ...     do_rescale, rescale_factor, do_normalize, image_mean, image_std = True, 1 / 255, True, [0.5], [0.5]
    >>> Normalization(Processor())(torch.tensor([[[[0]], ], [[[255]]]], dtype=torch.uint8)).flatten().tolist()
    [-1.0, 1.0]
    """

    def __init__(self, processor: Any) -> None:
        self.scale = processor.rescale_factor if processor.do_rescale else 1.0
        mean, std = (processor.image_mean, processor.image_std) if processor.do_normalize else (0.0, 1.0)
        self.mean, self.std = (torch.tensor(value).view(-1, 1, 1) for value in (mean, std))

    def __call__(self, pixels: Tensor) -> Tensor:
        """Normalize (images, channels, height, width) uint8 to float32."""
        return (pixels * self.scale - self.mean) / self.std


@dataclass(frozen=True)
class Augmentation:
    """Random changes to training images: shifts by up to `crop_padding` pixels, and mirror images.

    A shifted image is black where the shift leaves a gap.
    """

    crop_padding: int = 0
    flip: bool = False

    def __bool__(self) -> bool:
        return self.crop_padding > 0 or self.flip

    def __call__(self, pixels: Tensor, generator: np.random.Generator) -> Tensor:
        """Return changed copies of the images (images, channels, height, width), in the same shape."""
        number, _, height, width = pixels.shape
        shifts = generator.integers(0, 2 * self.crop_padding + 1, (number, 2))
        mirrored = torch.from_numpy(generator.random(number) < 0.5) & self.flip
        padded = torch.nn.functional.pad(pixels, [self.crop_padding] * 4)
        cut = [image[:, y : y + height, x : x + width] for image, (y, x) in zip(padded, shifts.tolist(), strict=True)]
        return torch.where(mirrored.view(-1, 1, 1, 1), torch.stack(cut).flip(3), torch.stack(cut))
