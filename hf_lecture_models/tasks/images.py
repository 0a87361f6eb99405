# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the tasks on images share: their image processor, and their images as bytes."""

from typing import Any

from torch import Tensor
from transformers import AutoConfig, AutoImageProcessor

from hf_lecture_models.batches.pixels import load_pixels
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.compat import ViTImageProcessorPil
from hf_lecture_models.io.locations import check_location


def make_image_processor(image_size: int, num_channels: int) -> Any:
    """The processor of new models: images of 1 or 3 channels, resized and brought to between -1 and 1.

    >>> list(make_image_processor(28, 1).image_mean)
    [0.5]

    Raises:
        ValueError: another number of channels.
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
    from hf_lecture_models.models.vit.image_processing_vit import GrayscaleImageProcessor

    return GrayscaleImageProcessor(size=size)


def image_processor_for(recipe: Any) -> Any:
    """That of the checkpoint which the recipe starts from, or a new one for its model.

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
        except ValueError:  # of which `make_model` says more
            default = None
        sizes = {name: getattr(default, name, None) for name in ("image_size", "num_channels")} | sizes
    return make_image_processor(sizes.get("image_size") or 224, sizes.get("num_channels") or 3)


def pixels_for(model: Any, processor: Any, data: Rows) -> Tensor:
    """The images as the model reads them, before they are normalized: (images, channels, height, width), bytes.

    Raises:
        ValueError: an image is damaged, or the processor makes images of another size than the model reads.
        OSError: a file is missing.
    """
    pixels = load_pixels(data, processor, getattr(model.config, "num_channels", 3))
    size = getattr(model.config, "image_size", None)
    if isinstance(size, int) and pixels.shape[2:] != (size, size):
        raise ValueError(
            f"the image processor makes images of {pixels.shape[2]} x {pixels.shape[3]} pixels, but the model reads "
            f"image_size={size}; load the processor that was saved with the model"
        )
    return pixels


def refuse_tokenizer(recipe: Any) -> None:
    """Raise a ValueError where a recipe of images describes a tokenizer."""
    if recipe.tokenizer:
        raise ValueError("recipe: images have no tokenizer; leave tokenizer out")
