# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Open images of any form, so that pipelines, verbs and processors see the same pixels.

This file travels with exported models.
"""

import base64
import os
from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np
from transformers.image_utils import load_image

_ADDRESSES = ("http://", "https://")
_DATA = "data:image/"
# Longer ones are no paths, but images in base64.
_LONGEST_PLACE = 4096
# Modes of pixels with more than eight bits, which Pillow would clip.
_DEEP_MODES = ("I", "F")


def open_image(image: Any, place: str = "the image", channels: str | None = None) -> Any:
    """Return an image as an upright Pillow image in RGB, without its transparency, as transformers' pipelines read it.

    >>> open_image([[0, 255]]).getpixel((1, 0)), open_image(np.ones((3, 1, 2))).size
    ((255, 255, 255), (2, 1))

    Args:
        image: a path, an address (http, https, data:image/), a file's content (bytes, base64 text, an open file, the
            mapping of a data set), a Pillow image; or an array, a tensor or lists, (height, width) or with 1 or 3
            channels first or last, or 2 or 4 last (with transparency), whole numbers to 255 or floats to 1, from 0.
        place: the name of the image in messages.
        channels: which axis of an array has the channels, "first" or "last"; None: the axis of 3 numbers, else that of
            1, the first one if both have as many.

    Raises:
        TypeError: it is another object.
        ValueError: it is damaged, has pixels of more than eight bits, or an array of other shape or values.
        OSError: there is no such file.
        ImportError: Pillow is not installed.
    """
    try:
        # By name: transformers would ask for every package that a published file imports.
        Image, ImageOps = import_module("PIL.Image"), import_module("PIL.ImageOps")
    except ImportError as error:
        raise ImportError("reading images needs Pillow: pip install 'hf-lecture-models[train]'") from error
    place = place[:_LONGEST_PLACE]
    image = _of_mapping(image) if isinstance(image, Mapping) else image
    if not hasattr(image, "read") and not isinstance(image, (str, os.PathLike, bytes, bytearray, Image.Image)):
        image = Image.fromarray(_pixels(image, place, channels))
    try:
        if not isinstance(image, Image.Image):
            image = _fetched(image) or Image.open(_file(image))
        image.load()
        upright = ImageOps.exif_transpose(image)
        if not upright.mode.startswith(_DEEP_MODES):
            return upright.convert("RGB")
    except FileNotFoundError as error:
        raise FileNotFoundError(f"there is no image {place}") from error
    except Exception as error:  # a damaged file may raise anything
        reason = " ".join(str(error).split())[:120]
        raise ValueError(f"{place} cannot be read as an image ({reason}); restore it, or take it out") from error
    raise ValueError(f"{place} has pixels of more than eight bits ({upright.mode}); convert it to eight first")


def open_input(image: Any, timeout: float | None = None, channels: str | None = None) -> Any:
    """Return the input of a pipeline as `open_image` does; `timeout` is in seconds, for addresses."""
    if isinstance(image, str) and image.startswith(_ADDRESSES):
        return load_image(image, timeout=timeout)
    place = str(image) if isinstance(image, str | os.PathLike) else "the image"
    return open_image(image, place, channels)


def images_of(images: Any) -> list[Any]:
    """Return the images that a processor is called with, one or several, in one list.

    >>> [len(images_of(given)) for given in ("a.png", ["a.png", ["b.png"]], np.zeros((4, 2, 2, 3)), [[0, 255], [9, 9]])]
    [1, 2, 4, 1]
    """
    first = images
    while isinstance(first, list | tuple) and first:
        first = first[0]
    if isinstance(images, list | tuple) and not isinstance(first, int | float):
        return [one for part in images for one in images_of(part)]
    images = images if first is images else np.asarray(images)
    return list(images) if getattr(images, "ndim", 0) == 4 else [images]


def _of_mapping(image: Mapping[str, Any]) -> Any:
    """Return the image of a data set whose column is not declared as one of images."""
    content = image.get("bytes") or image.get("path")
    if content is None:
        raise TypeError(
            f"one of the images is a row of the columns {', '.join(image)}; name the column of images: "
            "KeyDataset(dataset, COLUMN)"
        )
    return content


def _fetched(image: Any) -> Any:
    return load_image(image) if isinstance(image, str) and image.startswith(_ADDRESSES) else None


def _file(image: Any) -> Any:
    if isinstance(image, str) and image.startswith(_DATA):
        image = base64.b64decode(image.partition(",")[2])
    elif isinstance(image, str) and not os.path.isfile(image):
        image = _decoded(image) or image
    return BytesIO(image) if isinstance(image, (bytes, bytearray)) else image


def _decoded(text: str) -> bytes | None:
    """Return the content of an image that is written in base64; None for another text, such as the path of no file."""
    try:
        content = base64.b64decode("".join(text.split()), validate=True)
        Image = import_module("PIL.Image")
        Image.open(BytesIO(content))
    except (ValueError, OSError):
        return None
    return content


def _pixels(image: Any, place: str, channels: str | None) -> np.ndarray:
    """Return an array or lists as bytes, (height, width) or with the channels last."""
    if hasattr(image, "detach"):
        image = image.detach().cpu()
        image = image.float() if image.is_floating_point() else image
    if not hasattr(image, "__array__") and not isinstance(image, list | tuple):
        raise TypeError(f"{place} is of type {type(image).__name__}; give a path, bytes, a Pillow image or an array")
    try:
        array = np.asarray(image)
    except ValueError:
        raise ValueError(f"{place} has rows of unequal lengths; give an array (height, width)") from None
    kind, size = array.dtype.kind, array.shape
    of_bytes = kind in "iu" and array.dtype != np.uint16 and array.size and array.min() >= 0 and array.max() <= 255
    of_floats = kind == "f" and array.size and array.min() >= 0 and array.max() <= 1
    axis = _axis_of_channels(size, channels)
    if not (kind == "b" or of_bytes or of_floats) or axis is None:
        raise ValueError(
            f"{place} is an array of shape {size} and type {array.dtype}, which cannot be an image: give "
            "whole numbers from 0 to 255 or floats from 0 to 1, (height, width) or with an axis of 1 or 3 channels"
        )
    array = array if of_bytes else np.rint(array.astype(np.float64) * 255)
    array = np.moveaxis(array.astype(np.uint8), axis, -1) if array.ndim == 3 else array.astype(np.uint8)
    return np.ascontiguousarray(array[..., 0] if size[axis] == 1 and array.ndim == 3 else array)


def _axis_of_channels(shape: tuple[int, ...], channels: str | None) -> int | None:
    """Return the axis of an array's channels, -1 if it has none, or None if it cannot be an image."""
    if len(shape) != 3:
        return -1 if len(shape) == 2 and 0 not in shape else None
    if channels is not None:
        axis = 0 if channels == "first" else 2
        return axis if shape[axis] in (1, 2, 3, 4) and 0 not in shape else None
    places = ((3, 0), (3, 2), (1, 0), (1, 2), (4, 2), (2, 2))
    return next((axis for number, axis in places if shape[axis] == number and 0 not in shape), None)
