# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Images in every form, mode and orientation are the same pixels as in transformers' `load_image` of the file."""

from __future__ import annotations

import base64
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers.image_utils import load_image

from hf_lecture_models.base.grayscale_images import GrayscaleImageProcessor
from hf_lecture_models.base.pillow_images import images_of, open_image, open_input

RGB = np.random.default_rng(0).integers(0, 256, (5, 4, 3), dtype=np.uint8)
GREY = np.random.default_rng(1).integers(0, 256, (5, 4), dtype=np.uint8)


def write(path: Path, image: Image.Image, **options: Any) -> Path:
    image.save(path, **options)
    return path


def assert_same(found: Any, expected: np.ndarray) -> None:
    assert (found.mode, found.size) == ("RGB", expected.shape[1::-1])
    assert np.array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("array", [RGB, GREY], ids=["color", "grey"])
def test_every_form_of_a_picture(tmp_path: Path, array: np.ndarray) -> None:
    path = write(tmp_path / "a.png", Image.fromarray(array))
    content, expected = path.read_bytes(), np.asarray(load_image(str(path)))
    text = base64.b64encode(content).decode()
    forms: list[Any] = [str(path), path, content, bytearray(content), {"bytes": content, "path": None}]
    forms += [{"bytes": None, "path": str(path)}, Image.open(path), f"data:image/png;base64,{text}"]
    forms += [text, f"{text[:60]}\n{text[60:]}\n", BytesIO(content), path.open("rb")]
    forms += [array, array.astype(np.int64), array.tolist(), array / 255, (array / 255).astype(np.float32)]
    forms += [torch.from_numpy(array), torch.from_numpy(array / 255).requires_grad_()]
    if array.ndim == 3:
        forms += [np.moveaxis(array, 2, 0), torch.from_numpy(array).permute(2, 0, 1)]
        forms += [np.concatenate((array, array[..., :1]), 2)]  # RGBA
    else:
        forms += [array[..., None], array[None], np.stack((array, array), 2)]  # grey and alpha
    for form in forms:
        assert_same(open_image(form), expected)
        assert_same(open_input(form), expected)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_orientation(tmp_path: Path, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = write(tmp_path / "a.png", Image.fromarray(RGB), exif=exif)
    expected = np.asarray(load_image(str(path)))
    assert (expected.shape == RGB.shape) == (orientation <= 4), "5 to 8 exchange height and width"
    for form in (path, path.read_bytes(), Image.open(path)):
        assert_same(open_image(form), expected)
    grey = GrayscaleImageProcessor(do_resize=False, do_rescale=False, do_normalize=False)
    for form in (path, path.read_bytes(), Image.open(path), str(path)):
        found = grey(form, return_tensors="np").pixel_values[0, 0]
        assert np.array_equal(found, np.asarray(Image.fromarray(expected).convert("L")))


@pytest.mark.parametrize(
    ("mode", "suffix"),
    [
        *(("1", "png"), ("L", "png"), ("LA", "png"), ("P", "png"), ("P", "gif"), ("RGB", "png"), ("RGBA", "png")),
        *(("CMYK", "tif"), ("RGB", "jpg"), ("RGB", "webp"), ("CMYK", "jpg"), ("L", "pgm"), ("RGB", "bmp")),
    ],
)
def test_every_mode(tmp_path: Path, mode: str, suffix: str) -> None:
    path = write(tmp_path / f"a.{suffix}", Image.fromarray(RGB).convert(mode))
    expected = np.asarray(load_image(str(path)))
    for form in (path, path.read_bytes(), Image.open(path)):
        assert_same(open_image(form), expected)
    grey = GrayscaleImageProcessor(do_resize=False, do_rescale=False, do_normalize=False)
    both = [grey(form, return_tensors="np").pixel_values for form in (Image.open(path), load_image(str(path)))]
    assert np.array_equal(*both), "a pipeline has the image in RGB"


@pytest.mark.parametrize("mode", ["YCbCr", "HSV", "RGBX", "RGBa"])
def test_modes_that_programs_make(mode: str) -> None:
    """Grey by way of RGB: the Y of YCbCr would be another grey."""
    image = Image.fromarray(RGB).convert("RGBA" if mode == "RGBa" else "RGB").convert(mode)
    grey = GrayscaleImageProcessor(do_resize=False, do_rescale=False, do_normalize=False)
    expected = open_image(image).convert("L")
    assert np.array_equal(grey(image, return_tensors="np").pixel_values[0, 0], np.asarray(expected))
    assert np.abs(np.asarray(expected, int) - np.asarray(Image.fromarray(RGB).convert("L"), int)).max() <= 3


@pytest.mark.filterwarnings("ignore:Palette images with Transparency")
def test_transparency_of_a_palette(tmp_path: Path) -> None:
    image = Image.fromarray(RGB).convert("P")
    path = write(tmp_path / "a.png", image, transparency=bytes(range(0, 256, 16)))
    assert_same(open_image(Image.open(path)), np.asarray(load_image(str(path))))


def test_the_axis_of_the_channels() -> None:
    """Three before one, the first where both are three, and the one that is named."""
    cases = [((1, 4, 3), None, (4, 1)), ((3, 4, 1), None, (1, 4)), ((3, 4, 3), None, (3, 4)), ((1, 4, 1), None, (1, 4))]
    cases += [((3, 4, 3), "last", (4, 3)), ((1, 4, 3), "first", (3, 4)), ((4, 4, 3), None, (4, 4))]
    for shape, channels, size in cases:
        assert open_image(np.zeros(shape, np.uint8), channels=channels).size == size


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((5, 4), np.uint16),
        np.full((5, 4), 256),
        np.full((5, 4), -1),
        np.full((5, 4), 1.5),
        np.full((5, 4), np.nan),
        np.zeros((5, 4), complex),
        np.zeros(5, np.uint8),
        np.zeros((0, 4), np.uint8),
        np.zeros((2, 5, 4, 3), np.uint8),
        np.zeros((5, 4, 5), np.uint8),
        np.array([["a"]]),
    ],
    ids=lambda wrong: f"{wrong.dtype}{wrong.shape}",
)
def test_arrays_that_are_no_images(wrong: np.ndarray) -> None:
    with pytest.raises(
        ValueError, match=r"a\.csv, row 3 is an array of shape .* which cannot be an image: give whole numbers"
    ):
        open_image(wrong, "a.csv, row 3")


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    half = write(tmp_path / "a.png", Image.fromarray(RGB)).read_bytes()[:40]
    deep = [Image.new(mode, (2, 2)) for mode in ("I", "F", "I;16")]
    cases: list[tuple[Any, type[Exception], str]] = [
        (str(tmp_path / "no.png"), FileNotFoundError, "there is no image x"),
        (half, ValueError, "x cannot be read as an image"),
        (3, TypeError, "x is of type int; give a path, bytes, a Pillow image or an array"),
        (None, TypeError, "x is of type NoneType"),
        ([[1, 2], [3]], ValueError, "x has rows of unequal lengths"),
        *((image, ValueError, "x has pixels of more than eight bits") for image in deep),
    ]
    for given, kind, message in cases:
        with pytest.raises(kind, match=message):
            open_image(given, "x")
    with pytest.raises(FileNotFoundError, match="there is no image .*no.png"):
        open_input(tmp_path / "no.png")


def test_deep_pixels_in_base64(tmp_path: Path) -> None:
    """A pipeline clipped them; and what is not there may look like base64."""
    content = write(tmp_path / "a.png", Image.new("I;16", (99, 99), 999)).read_bytes()
    noise = np.random.default_rng(0).integers(0, 2**16, (99, 99)).astype(np.uint16)
    large = write(tmp_path / "b.png", Image.fromarray(noise)).read_bytes()
    for text in (base64.b64encode(one).decode() for one in (content, large)):
        for form in (text, f"data:image/png;base64,{text}"):
            with pytest.raises(ValueError, match="has pixels of more than eight bits") as error:
                open_input(form)
            assert len(str(error.value)) < 5000
    with pytest.raises(FileNotFoundError, match="there is no image images/train/cats/cat0001"):
        open_input("images/train/cats/cat0001")


def test_images_of_a_call() -> None:
    assert [len(images_of(each)) for each in ([], GREY, [GREY, GREY], [[GREY], [RGB, RGB]], np.stack([RGB] * 3))] == [
        0,
        1,
        2,
        3,
        3,
    ]
    assert np.array_equal(images_of(GREY.tolist())[0], GREY)
    assert len(images_of([GREY.tolist()[0:2]] * 2)) == 1, "three levels of numbers are one image"
