# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Images in shades of grey: what transformers' own processor of ViT does, for models with one channel."""

from typing import Any

import numpy as np

from hf_lecture_models.base.pillow_images import images_of, open_input
from hf_lecture_models.io.compat import ViTImageProcessorPil

# ITU-R 601-2, as Pillow converts: thousandths of red, green and blue.
_LUMA = np.array([299, 587, 114])


class GrayscaleImageProcessor(ViTImageProcessorPil):
    """Images of any mode as one channel, resized and normalized: `pixel_values` (batch, 1, height, width).

    All forms of images that `open_image` opens: paths, bytes, Pillow images, arrays. Red, green and blue become one
    channel by Pillow's weights, before the image is resized. With `do_rescale=False`, arrays of floats may have any
    numbers; they stay as they are. Needs Pillow, and no torchvision. Arguments are those of transformers'
    `ViTImageProcessor`; `image_mean` and `image_std` have one number.

    Raises:
        TypeError, ValueError, OSError: at a call, as `open_image`.

    >>> from PIL import Image
    >>> processor = GrayscaleImageProcessor(size={"height": 2, "width": 2})
    >>> processor(Image.new("RGB", (6, 6), "white"), return_tensors="pt").pixel_values.tolist()
    [[[[1.0, 1.0], [1.0, 1.0]]]]
    """

    image_mean = [0.5]
    image_std = [0.5]

    def _prepare_images_structure(self, images: Any, expected_ndims: int = 3) -> list[Any]:
        """All images in one list; (images, height, width, channels) are several."""
        return images_of(images)

    def process_image(
        self, image: Any, do_convert_rgb: bool | None = None, input_data_format: Any = None, **kwargs: Any
    ) -> np.ndarray:
        """One image as (1, height, width)."""
        channels = None if input_data_format is None else str(getattr(input_data_format, "value", input_data_format))
        if not kwargs.get("do_rescale") and hasattr(image, "shape") and np.asarray(image).dtype.kind == "f":
            return self._grey(super().process_image(image, False, input_data_format, **kwargs))
        grey = open_input(image, channels=channels and channels.removeprefix("channels_")).convert("L")
        return np.asarray(grey)[None]

    def _grey(self, image: np.ndarray) -> np.ndarray:
        if len(image) not in (1, 3):
            raise ValueError(f"an image of {len(image)} channels; 1 or 3 are needed")
        return image if len(image) == 1 else (np.tensordot(_LUMA, image, 1)[None] / 1000).astype(image.dtype)
