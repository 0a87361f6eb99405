# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The images and classes of a recipe: folders, IDX files, tables, data sets, or scikit-learn's digits.

Rows have the columns `image`, the path of a file or the pixels themselves, and `label`. All images are decoded and
resized once, before training, and stay in memory as bytes; masks and normalized pixels are computed from these.
"""

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.base.pillow_images import open_image
from hf_lecture_models.data.files import DATA_FOLDER, find_file, is_table
from hf_lecture_models.data.fingerprint import column_values
from hf_lecture_models.data.holdout import HeldOut, SplitKeys
from hf_lecture_models.data.reading import named_documents, read_rows
from hf_lecture_models.data.recipe import SplitRecipe
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.io.runs import log_once
from hf_lecture_models.tasks.core.hold_out import hold_out_rows

DIGITS = "scikit-learn:digits"
"""The name of scikit-learn's own data: 1,797 handwritten digits of 8 x 8 pixels."""
FOLDER_SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})
"""The suffixes of the files that are read of a folder: those of torchvision's `ImageFolder`."""
SUFFIXES = FOLDER_SUFFIXES | {".gif"}
# The parts of the digits, whose order is shuffled with a fixed seed.
_DIGITS_PARTS = {"train": slice(0, 1297), "validation": slice(1297, 1497), "test": slice(1497, None)}
_IDX_IMAGES, _IDX_LABELS = 0x803, 0x801
_IDX = b"\0\0\x08"  # the first bytes of both
_LARGEST_SIDE = 2**14
_PIECE = 2**20


@dataclass(kw_only=True)
class ImageFilesRecipe(SplitRecipe):
    """A recipe of images; tables and data sets of the Hub have the columns `image` and `label`."""

    train_files: list[str] = setting(
        [],
        "folders with a folder of images for each class, as torchvision's ImageFolder reads them; IDX files of images "
        "beside their labels (as MNIST's); or "
        "tables (.parquet, .jsonl, .csv, .tsv) with the columns image, a path or the file itself, and label; relative "
        "to the "
        f"current folder, or else to the one that the environment variable {DATA_FOLDER} names",
    )
    dataset_name: str = setting("", f"data set on the Hub, in place of files; or {DIGITS}, which needs no download")
    stratify: bool = setting(
        True,
        "hold out the same share of each class, and equal images together; false: draw any images, as in recipes from "
        "before there was a choice",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.validation_share and self._has_validation_split():
            raise ValueError("recipe: validation_share and validation data are both given; keep one of them")

    def _has_validation_split(self) -> bool:
        # The default names a split that most data sets of images lack.
        default = type(self).__dataclass_fields__["validation_split"].default
        return bool(self.dataset_name) and self.validation_split not in ("", default)


@dataclass(kw_only=True)
class ImagesRecipe(ImageFilesRecipe):
    """A recipe of images whose classes stay the same where they are shifted or mirrored."""

    crop_padding: int = setting(
        0, "augmentation: each training image is shifted by up to so many pixels in both directions", least=0
    )
    flip: bool = setting(False, "augmentation: each training image is mirrored, left and right, with probability 1/2")


def read_images(recipe: ImageFilesRecipe, part: str, labels: bool = True) -> Rows | None:
    """Read the images of a part of the recipe's data.

    Args:
        labels: whether images must have classes, except in the part "predict"; if not, all images in a folder are read.

    Returns:
        The rows; None if the recipe names no data for the part. Training data are required.

    Raises:
        ValueError: images or classes are missing, or a file is damaged; the message names it.
        OSError: a file is missing or cannot be read.
        ImportError: scikit-learn, datasets or Pillow is needed and not installed.
    """
    labels = labels and part != "predict"
    return _read_part(recipe, part, labels)


def _read_part(recipe: ImageFilesRecipe, part: str, labels: bool) -> Rows | None:
    files, split = getattr(recipe, f"{part}_files"), getattr(recipe, f"{part}_split")
    if recipe.dataset_name == DIGITS and split and not files:
        return _digits(split)
    if not files:
        required = ("label",) if labels else ()
        return read_rows(recipe, part, required=("image",), labels=required, optional=() if labels else ("label",))
    if part != "test" and recipe.dataset_name and split:
        raise ValueError("the recipe names its data twice; keep one of files and dataset_name")
    parts = [_read_file(name, recipe, part, labels) for name in files]
    names = ["image", "label"] if labels else ["image"]
    columns = {name: [value for rows in parts for value in rows.columns[name]] for name in names}
    documents = [own for rows in parts for own in rows.documents or [None] * len(rows)]
    sources = [source for rows in parts for source in rows.sources]
    return Rows(columns, sources, documents=named_documents(documents))


def _read_file(name: str, recipe: ImageFilesRecipe, part: str, labels: bool) -> Rows:
    if (folder := find_folder(name)) is not None:
        return _read_folder(name, folder, labels)
    path = find_file(name)
    if is_table(name):
        files: dict[str, Any] = {f"{part}_files": [name]}
        own = replace(recipe, dataset_name="", validation_share=0.0, **files)
        rows = read_rows(own, part, required=("image",), labels=("label",) if labels else ())
        assert rows is not None
        rows.columns["image"] = [beside(path, image) for image in rows.columns["image"]]
        return rows
    if not labels and (has_image_name(path.name) or (is_binary(path) and not _first_bytes(path).startswith(_IDX))):
        return Rows({"image": [str(path)]}, [(name, 1)])
    return _read_idx(name, path, labels)


def find_folder(name: str) -> Path | None:
    """Return the folder of this name, in the current one or in the data folder; None if there is none."""
    base = os.environ.get(DATA_FOLDER)
    places = (Path(name), *([Path(base, name)] if base else []))
    return next((path for path in places if path.is_dir()), None)


def beside(table: Path, image: Any) -> Any:
    """Return an image of a table; a path is relative to the table."""
    if isinstance(image, str) and (table.parent / image).is_file():
        return str(table.parent / image)
    return image


def _read_folder(name: str, folder: Path, labels: bool) -> Rows:
    """Read the images in the subfolders of a folder, whose names are the classes, as torchvision's `ImageFolder` does.

    Classes are in the order of their names, and so are folders and files within them, at any depth. Hidden files and
    folders, whose names begin with a dot, and files with other suffixes are left out, and a line says so. Without
    labels all images in the folder are read.
    """
    classes = [path for path in sorted(folder.iterdir()) if path.is_dir() and not path.name.startswith(".")]
    if labels and not classes:
        raise ValueError(
            f"{name} holds no folder; put the images of each class into a folder with its name, {name}/cat/1.png"
        )
    images: list[tuple[str, str]] = []
    for own in classes if labels else [folder]:
        found = [path for path in _files(own) if _is_read(path.relative_to(folder))]
        if not found:
            shown, fix = (f"{name}/{own.name}", "remove the folder, or put") if labels else (name, "put")
            raise ValueError(
                f"{shown} holds no image; {fix} files that end in {', '.join(sorted(FOLDER_SUFFIXES))} into it"
            )
        images += [(str(path), own.name) for path in found]
    read = {path for path, _ in images}
    if left_out := [path for path in _files(folder) if str(path) not in read]:
        log_once(
            f"{name}: {len(left_out):,} file(s) left out, which are hidden, in no folder of a class, or end in none of "
            f"{', '.join(sorted(FOLDER_SUFFIXES))}; the first is {left_out[0].relative_to(folder)}"
        )
    columns = {"image": [path for path, _ in images]} | ({"label": [label for _, label in images]} if labels else {})
    return Rows(columns, [(name, len(images))])


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files in a folder, links followed, in torchvision's order: by their folder's path, then by name."""
    for place, _, names in sorted(os.walk(folder, followlinks=True)):
        yield from (Path(place, name) for name in sorted(names))


def _is_read(path: Path) -> bool:
    is_hidden = any(part.startswith(".") for part in path.parts)
    return path.suffix.lower() in FOLDER_SUFFIXES and not is_hidden


def has_image_name(name: str) -> bool:
    """Return whether a file's name ends as images do.

    >>> has_image_name("cat.PNG"), has_image_name("cats.txt")
    (True, False)
    """
    return Path(name).suffix.lower() in SUFFIXES


def is_binary(path: str | Path) -> bool:
    """Return whether a file holds no text, as images and IDX files do, whatever its name: an early byte is zero."""
    return b"\0" in _first_bytes(path)


def _first_bytes(path: str | Path) -> bytes:
    """Return the first bytes of a file, in a file that ends in .gz the unpacked ones; none if it cannot be read."""
    try:
        with gzip.open(path) if str(path).endswith(".gz") else open(path, "rb") as file:
            return file.read(512)
    except (OSError, EOFError, zlib.error):
        return b""


def is_image(path: Path) -> bool:
    """Return whether a file's name ends as images do, and is not hidden."""
    return has_image_name(path.name) and path.is_file() and not path.name.startswith(".")


def _read_idx(name: str, path: Path, labels: bool) -> Rows:
    """Read an IDX file of images and, with labels, the file of labels beside it."""
    number, *sides, values = _idx_values(name, path, _IDX_IMAGES)
    images = list(np.frombuffer(values, np.uint8).reshape(number, *sides))
    if not labels:
        return Rows({"image": images}, [(name, number)])
    other = path.with_name(path.name.replace("images", "labels").replace("idx3", "idx1"))
    if other == path or not other.is_file():
        raise FileNotFoundError(f"there are no labels beside {name}; put {other.name} there")
    count, names = _idx_values(str(other), other, _IDX_LABELS)
    if count != number:
        raise ValueError(f"{other} holds {count:,} labels, but {name} {number:,} images; restore the files")
    return Rows({"image": images, "label": list(names)}, [(name, number)])


def _idx_values(name: str, path: Path, magic: int) -> tuple[Any, ...]:
    """Return the sizes in the header, and the bytes that follow it.

    Memory is taken only for bytes that the file really holds, whatever its header announces.
    """
    num_sizes, kind = magic & 0xFF, "images" if magic == _IDX_IMAGES else "labels"
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            head = file.read(4 * (1 + num_sizes))
            header = np.frombuffer(head[: len(head) // 4 * 4], ">u4").tolist()
            if len(header) != 1 + num_sizes or header[0] != magic:
                raise ValueError(f"{name} is no IDX file of {kind}, no folder, and no table; name one of these")
            number, *sides = header[1:]
            if not number or any(not 0 < side <= _LARGEST_SIDE for side in sides):
                raise ValueError(
                    f"{name} announces {number} images of {sides} pixels, which cannot be; restore the file"
                )
            values, rest = bytearray(), number * int(np.prod(sides, dtype=np.int64))
            while rest and (piece := file.read(min(_PIECE, rest))):
                values += piece
                rest -= len(piece)
            if rest or file.read(1):
                raise ValueError(f"{name} is {'cut off' if rest else 'longer than its header says'}; restore the file")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{name} is damaged ({error}); restore the file") from error
    return (number, *sides, bytes(values))


def _digits(split: str) -> Rows:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError(f"{DIGITS} needs scikit-learn: pip install 'hf-lecture-models[train]'") from error
    if split not in _DIGITS_PARTS:
        raise ValueError(f"{DIGITS} has no split {split!r}, only {', '.join(_DIGITS_PARTS)}")
    data = load_digits()
    chosen = np.random.default_rng(0).permutation(len(data.target))[_DIGITS_PARTS[split]]
    pixels = np.rint(data.images[chosen] * (255 / 16)).astype(np.uint8)  # their values are 0 to 16
    columns: dict[str, list[Any]] = {"image": list(pixels), "label": data.target[chosen].tolist()}
    return Rows(columns, [(f"split {split} of {DIGITS}", len(chosen))])


def hold_out_images(rows: Rows, recipe: ImageFilesRecipe, keys: SplitKeys) -> tuple[Rows, Rows | None, HeldOut | None]:
    """Return the images to train on, those to validate on, and the numbers of these.

    Raises:
        ValueError: the recipe names a share, and it leaves no image to train on.
    """
    if recipe.stratify or recipe.validation_share is None:
        return hold_out_rows(rows, recipe, keys)
    number = max(1, round(recipe.validation_share * len(rows)))
    if number == len(rows):
        raise ValueError(f"{rows.sources[0][0]}: of {number} image(s), `validation_share` leaves none to train on")
    order = np.random.default_rng(0).permutation(len(rows))
    total = sum(length for _, length in rows.read_sources)
    held_out = HeldOut(total, sorted(rows.numbers[index] for index in order[:number]), list(rows.read_sources))
    return _selected(rows, order[number:]), _selected(rows, order[:number]), held_out


def _selected(rows: Rows, chosen: np.ndarray) -> Rows:
    """Return the chosen rows in the order of `chosen`, on which the order of training depends."""
    columns = {name: [values[index] for index in chosen] for name, values in rows.columns.items()}
    return Rows(columns, [(", ".join(name for name, _ in rows.sources), len(chosen))])


def where(rows: Rows, index: int) -> str:
    """Return the name of an image for messages: its file, and its row if the file holds several images."""
    image = rows.columns["image"][index]
    return image if isinstance(image, str) else rows.where(index)


def fingerprint_images(rows: Rows | None) -> str:
    """Return a checksum of the images and their labels; it does not depend on the files that they are from."""
    if rows is None:
        return "none"
    labels = column_values(rows, "label") if "label" in rows.columns else None
    digest = hashlib.sha256(repr(labels).encode())
    for content in _contents(rows):
        digest.update(content)
    return digest.hexdigest()


def image_checksums(rows: Rows) -> list[bytes]:
    """Return a checksum of each image, the same for equal images."""
    return [hashlib.sha256(content).digest() for content in _contents(rows)]


def _contents(rows: Rows) -> Iterator[bytes]:
    for index, image in enumerate(rows.columns["image"]):
        if isinstance(image, str):
            yield Path(image).read_bytes() if Path(image).is_file() else image.encode()
        elif isinstance(image, np.ndarray):
            yield repr(image.shape).encode() + image.tobytes()
        else:
            opened = open_image(image, where(rows, index))
            yield repr((opened.size, opened.mode)).encode() + opened.tobytes()
