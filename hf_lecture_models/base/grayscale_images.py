# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Images in shades of grey: what transformers' own processor of ViT does, for models with one channel."""

from typing import Any

import numpy as np

from hf_lecture_models.io.compat import ViTImageProcessorPil

# ITU-R 601-2, as Pillow converts: thousandths of red, green and blue.
_LUMA = np.array([299, 587, 114])


class GrayscaleImageProcessor(ViTImageProcessorPil):
    """Images of any mode as one channel, resized and normalized: `pixel_values` (batch, 1, height, width).

    Pipelines hand over images in three channels, whatever was in the file; these become one by Pillow's weights of red,
    green and blue. Arrays may be (height, width), or have a first or last axis of 1 or 3 channels. Needs Pillow, and no
    torchvision. Arguments are those of transformers' `ViTImageProcessor`; `image_mean` and `image_std` have one number.

    Raises:
        ValueError: at a call, for an array with another number of channels.

    >>> from PIL import Image
    >>> processor = GrayscaleImageProcessor(size={"height": 2, "width": 2})
    >>> processor(Image.new("RGB", (6, 6), "white"), return_tensors="pt").pixel_values.tolist()
    [[[[1.0, 1.0], [1.0, 1.0]]]]
    """

    image_mean = [0.5]
    image_std = [0.5]

    def process_image(
        self, image: Any, do_convert_rgb: bool | None = None, input_data_format: Any = None, **kwargs: Any
    ) -> np.ndarray:
        """One image as (1, height, width)."""
        if hasattr(image, "convert"):
            image = image.convert("L")
        image = super().process_image(image, False, input_data_format, **kwargs)
        if len(image) == 1:
            return image
        if len(image) != 3:
            raise ValueError(f"an image of {len(image)} channels; 1 or 3 are needed: convert it (Pillow: convert('L'))")
        grey = np.tensordot(_LUMA, image.astype(np.float64), 1)[None] / 1000
        return grey.round().astype(image.dtype) if np.issubdtype(image.dtype, np.integer) else grey.astype(image.dtype)
