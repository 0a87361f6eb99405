# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Images with captions: folders with a `metadata.csv`, tables, data sets, or images with templated captions.

Rows have the columns `image`, the path of a file or the pixels themselves, and `text`, the caption.

A templated caption is written by rules from the pixels and the class, so that its truth can be computed:

    a {dark, medium, bright} {class} with more ink on the {left, right}

Brightness is the mean of all pixels, from 0 to 255, against two fixed thresholds: below the first, from the second on,
and between. Ink is the sum of the pixels of a half; a middle column belongs to neither, and equal sums say "left".
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hf_lecture_models.base.pillow_images import open_image
from hf_lecture_models.data.files import find_file
from hf_lecture_models.data.reading import read_rows
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.recipe import Recipe, setting
from hf_lecture_models.tasks.images.rows import (
    ImageFilesRecipe,
    beside,
    find_folder,
    is_image,
    read_images,
    where,
)

TEMPLATED = "templated"
METADATA = "metadata.csv"
BRIGHTNESS, HALVES = ("dark", "medium", "bright"), ("left", "right")
_TEMPLATE = "a {brightness} {name} with more ink on the {half}"
_SLOTS = re.compile(rf"a ({'|'.join(BRIGHTNESS)}) (.+) with more ink on the ({'|'.join(HALVES)})")


class Slots(NamedTuple):
    """The class, brightness and half of a templated caption.

    Attributes:
        name: the name of the class.
        brightness: "dark", "medium" or "bright".
        half: "left" or "right", where more ink is.
    """

    name: str
    brightness: str
    half: str


@dataclass(kw_only=True)
class CaptionForm(Recipe):
    """The form of captions."""

    captions: str | None = setting(
        None,
        "templated: captions are written by rules from the pixels and the class of each image (class, brightness, half "
        "with more ink); null: the data have captions",
        choices=(TEMPLATED,),
    )


@dataclass(kw_only=True)
class CaptionsRecipe(CaptionForm, ImageFilesRecipe):
    """A recipe of images with captions; tables and data sets of the Hub have the columns `image` and `text`."""

    train_files: list[str] = setting(
        [],
        f"folders of images with a {METADATA} (columns file_name and text), or tables with the columns image and text; "
        "with captions templated, what a classifier of images reads",
    )
    brightness_thresholds: list[float] = setting(
        [55.0, 87.0], "of templated captions: means of the pixels, from 0 to 255, where medium begins and where it ends"
    )
    label_names: dict[str, str] = setting(
        {}, "of templated captions: names of the classes, by what the data call them: {0: shirt, 1: shoe}"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        low_high = self.brightness_thresholds
        if len(low_high) != 2 or not 0 <= low_high[0] <= low_high[1] <= 255:
            raise ValueError(f"recipe: brightness_thresholds must be two rising numbers up to 255, not {low_high}")
        self.label_names = {str(name): text for name, text in self.label_names.items()}


def slots_of(pixels: np.ndarray, name: str, thresholds: tuple[float, float] = (55.0, 87.0)) -> Slots:
    """Return the truth of an image that its templated caption states.

    >>> slots_of(np.array([[0, 9, 200], [0, 0, 180]], dtype=np.uint8), "shoe")
    Slots(name='shoe', brightness='medium', half='right')

    Args:
        pixels: (height, width), bytes.
    """
    half = pixels.shape[1] // 2
    ink = pixels.astype(np.int64)
    left, right = ink[:, :half].sum(), ink[:, pixels.shape[1] - half :].sum()
    level = sum(ink.mean() >= threshold for threshold in thresholds)
    return Slots(name, BRIGHTNESS[level], HALVES[int(right > left)])


def write_caption(slots: Slots) -> str:
    """Return the templated caption.

    >>> write_caption(Slots("shoe", "medium", "right"))
    'a medium shoe with more ink on the right'
    """
    return _TEMPLATE.format(**slots._asdict())


def read_slots(caption: str) -> Slots | None:
    """Return what a caption says; None if it does not follow the template.

    >>> read_slots("a medium shoe with more ink on the right")
    Slots(name='shoe', brightness='medium', half='right')
    """
    found = _SLOTS.fullmatch(" ".join(caption.split()))
    return Slots(found[2], found[1], found[3]) if found else None


def read_captions(recipe: CaptionsRecipe, part: str) -> Rows | None:
    """Read the images and captions of a part of the recipe's data; of the part "predict", the images.

    Raises:
        ValueError: captions or images are missing, or a file is damaged; the message names it.
        OSError: a file is missing or cannot be read.
    """
    if part == "predict":
        return read_images(recipe, part, labels=False)
    if recipe.captions == TEMPLATED:
        return _templated(read_images(recipe, part), recipe)
    rows = _read_part(recipe, part)
    if rows is None:
        return None
    rows.columns["text"] = rows.plain_texts("text")
    for index, text in enumerate(rows.columns["text"]):
        if not text.strip():
            raise ValueError(f"{where(rows, index)} has an empty caption; write one, or leave the image out")
    return rows


def _templated(rows: Rows | None, recipe: CaptionsRecipe) -> Rows | None:
    if rows is None:
        return None
    low, high = recipe.brightness_thresholds
    texts = []
    for index, (image, label) in enumerate(zip(rows.columns["image"], rows.columns["label"], strict=True)):
        pixels = np.asarray(open_image(image, where(rows, index)).convert("L"))
        texts.append(write_caption(slots_of(pixels, recipe.label_names.get(str(label), str(label)), (low, high))))
    return rows.with_columns({"image": rows.columns["image"], "text": texts})


def _read_part(recipe: CaptionsRecipe, part: str) -> Rows | None:
    files = getattr(recipe, f"{part}_files")
    folders = [find_folder(name) for name in files]
    if not any(folders):
        rows = read_rows(recipe, part, required=("image",), labels=("text",))
        if rows is not None and len(files) == 1:
            rows.columns["image"] = [beside(find_file(files[0]), image) for image in rows.columns["image"]]
        return rows
    if not all(folders):
        raise ValueError(f"recipe: {part}_files has folders and tables; keep one kind of them")
    parts = [_read_folder(name, folder) for name, folder in zip(files, folders, strict=True) if folder]
    columns = {name: [value for rows in parts for value in rows.columns[name]] for name in ("image", "text")}
    return Rows(columns, [source for rows in parts for source in rows.sources])


def _read_folder(name: str, folder: Path) -> Rows:
    """Read the captions of a folder's images from its `metadata.csv`."""
    path = folder / METADATA
    if not path.is_file():
        raise FileNotFoundError(f"{name} has no {METADATA}; write one with the columns file_name and text")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.DictReader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{name}/{METADATA} cannot be read ({error}); write it as CSV in UTF-8") from error
    for number, line in enumerate(lines, 2):
        _check_line(f"{name}/{METADATA}, line {number}", line, folder)
    named = [str(Path(line["file_name"])) for line in lines]
    images = {str(path.relative_to(folder)) for path in folder.rglob("*") if is_image(path)}
    if len(set(named)) < len(named) or images != set(named):
        twice = next((one for place, one in enumerate(named) if one in named[:place]), None)
        found = (
            f"names {twice} twice" if twice else f"has no caption of {min(images - set(named), default='any image')}"
        )
        raise ValueError(
            f"{name} holds {len(images)} image(s), and its {METADATA} {len(named)} row(s): it {found}; give each image "
            "one caption"
        )
    if not named:
        raise ValueError(f"{name} holds no image with a caption")
    columns = {"image": [str(folder / one) for one in named], "text": [line["text"] for line in lines]}
    return Rows(columns, [(name, len(named))])


def _check_line(place: str, line: Mapping[Any, Any], folder: Path) -> None:
    for column in ("file_name", "text"):
        if line.get(column) is None:
            raise ValueError(f"{place} has no {column}; the columns are file_name and text, with a comma between them")
    if None in line:
        raise ValueError(f"{place} has more than two values; put a caption with commas into quotes")
    if not (folder / line["file_name"]).is_file():
        raise FileNotFoundError(f"{place}: there is no image {line['file_name']}")
