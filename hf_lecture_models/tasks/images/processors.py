# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The image processor, and the images as bytes, of all tasks on images."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from transformers import AutoConfig, AutoImageProcessor

from hf_lecture_models.base.traits import trait
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.compat import ViTImageProcessorPil
from hf_lecture_models.io.locations import check_location
from hf_lecture_models.tasks.core.lines import LineForm
from hf_lecture_models.tasks.images.pixels import load_pixels


class ImageLines(LineForm):
    """Lines that hold the path of an image."""

    def read(self, text: str) -> dict[str, Any]:
        """Return the path of an image as a field."""
        return {"image": text.strip()}

    def shown(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the path of an image; nothing for an image that the table itself holds."""
        return {"image": row["image"] if isinstance(row["image"], str) else ""}

    def line_of(self, fields: Mapping[str, Any], prediction: Mapping[str, Any]) -> str:
        """Return the path of the image."""
        return str(fields["image"])


IMAGE_LINES = ImageLines("paths of images", {"image": str})


def make_image_processor(image_size: int, num_channels: int) -> Any:
    """Return the processor of new models: it resizes images of 1 or 3 channels and scales pixels to -1 to 1.

    >>> list(make_image_processor(28, 1).image_mean)
    [0.5]

    Raises:
        ValueError: `num_channels` is another number.
        ImportError: Pillow is not installed.
    """
    try:
        import PIL  # noqa: F401
    except ImportError as error:
        raise ImportError("images need Pillow: pip install 'hf-lecture-models[train]'") from error
    if num_channels not in (1, 3):
        raise ValueError(f"recipe: model.num_channels must be 1 or 3, not {num_channels}")
    size = {"height": image_size, "width": image_size}
    if num_channels == 3:
        return ViTImageProcessorPil(size=size, do_convert_rgb=True)
    from hf_lecture_models.base.grayscale_images import GrayscaleImageProcessor

    return GrayscaleImageProcessor(size=size)


def image_processor_for(recipe: Any) -> Any:
    """Return the image processor of the recipe's checkpoint, or a new one for its model.

    Raises:
        OSError: the checkpoint has none.
        ValueError, ImportError: as `make_image_processor`.
    """
    name = recipe.from_pretrained
    if name:
        return AutoImageProcessor.from_pretrained(name, local_files_only=check_location(name), backend="pil")
    sizes = recipe.model
    if "model_type" in sizes:
        try:
            default = AutoConfig.for_model(sizes["model_type"])
        except ValueError:  # `make_model` raises it with a better message
            default = None
        sizes = {name: getattr(default, name, None) for name in ("image_size", "num_channels")} | sizes
    return make_image_processor(sizes.get("image_size") or 224, sizes.get("num_channels") or 3)


def pixels_for(model: Any, processor: Any, data: Rows) -> Tensor:
    """Return the images before normalization: (images, channels, height, width), bytes.

    Raises:
        ValueError: an image is damaged, or the processor's images have another size than the model's.
        OSError: a file is missing.
    """
    pixels = load_pixels(data, processor, trait(model, "num_channels"))
    size = trait(model, "image_size")
    if isinstance(size, int) and pixels.shape[2:] != (size, size):
        raise ValueError(
            f"the image processor makes images of {pixels.shape[2]} x {pixels.shape[3]} pixels, but the model reads "
            f"image_size={size}; load the processor that was saved with the model"
        )
    return pixels


def refuse_tokenizer(recipe: Any) -> None:
    """Raise a ValueError if a recipe of images describes a tokenizer."""
    if recipe.tokenizer:
        raise ValueError("recipe: images have no tokenizer; leave tokenizer out")
