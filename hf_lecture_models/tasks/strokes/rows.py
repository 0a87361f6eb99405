# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Sequences of points: JSON lines, `.npz` files, sunspots, digits by rows, or curves that are drawn.

Rows have the column `points`, an array (points, numbers), and `given`, how many of the first points a model reads but
does not predict.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.data.files import DATA_FOLDER, find_file
from hf_lecture_models.data.recipe import RowsRecipe
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tokenization.corpus import read_texts

SUNSPOTS, DIGITS = "statsmodels:sunspots", "scikit-learn:digits"
"""The names of data that other packages contain: 309 yearly numbers, and 1,797 images of 8 x 8 pixels."""
_PARTS = ("train", "validation", "test")
_ARRAYS = {"train": "train", "validation": "valid", "test": "test", "predict": "test"}
# Years that are given, and the year after the last one to predict; "start" and "rest" cut "train" in two.
_YEARS = {"train": (0, 240), "start": (0, 200), "rest": (200, 240), "test": (240, 309)}
# The parts of the digits, whose order is shuffled with a fixed seed, as for the classification of images.
_DIGITS = {"train": slice(0, 1297), "validation": slice(1297, 1497), "test": slice(1497, None)}


@dataclass(kw_only=True)
class PointRowsRecipe(RowsRecipe):
    """A recipe of sequences of points, which are drawn curves if it names no data to train on."""

    train_files: list[str] = setting(
        [],
        ".jsonl files, each line a list of points [[3, 1, 0], [4, 1, 1]], all of the same width; or .npz files with "
        "the points of all sequences as train, valid and test, and the lengths as train_len, valid_len and test_len; "
        f"relative to the current folder, or else to the one that the environment variable {DATA_FOLDER} names",
    )
    dataset_name: str = setting(
        "", f"in place of files: {DIGITS}, images row by row, or {SUNSPOTS}, ln(1 + number), which needs statsmodels"
    )
    train_size: int = setting(2_000, "drawn curves to train on", least=1)
    validation_size: int = setting(200, "drawn curves for validation; 0: none", least=0)
    test_size: int = setting(0, "drawn curves for the results on the model's card; 0: none", least=0, free=True)
    data_seed: int = setting(0, "from which curves are drawn, others for each part", least=0)

    @property
    def is_drawn(self) -> bool:
        """True if curves are drawn, because the recipe names no data to train on."""
        return not (self.train_files or self.train_rows or self.dataset_name)


def read_points(recipe: PointRowsRecipe, part: str) -> Rows | None:
    """Read or draw the sequences of a part; None if the recipe names none for it.

    Raises:
        ValueError: a sequence is empty, has points of unequal widths, or a number that is NaN or infinite; the message
            names file and line.
        OSError: a file is missing or cannot be read.
        ImportError: statsmodels or scikit-learn is needed and not installed.
    """
    files, rows = getattr(recipe, f"{part}_files"), recipe.inline_rows(part)
    split = getattr(recipe, f"{part}_split")
    if files or rows:
        own = [("the recipe's rows", [row.get("points") for row in rows])] if rows else []
        parts = [*own, *((name, _read_file(name, part)) for name in files)]
    elif recipe.dataset_name and split:
        return _of_package(recipe.dataset_name, split)
    elif recipe.is_drawn and part in _PARTS and (number := getattr(recipe, f"{part}_size")):
        parts = [(f"drawn curves, {part}", _draw(number, (recipe.data_seed, _PARTS.index(part))))]
    else:
        return None
    sources = [(name, len(sequences)) for name, sequences in parts]
    empty = next((name for name, sequences in parts if not len(sequences)), None)
    if empty is not None:
        raise ValueError(f"{empty} holds no sequence of points")
    found = Rows({"points": [sequence for _, sequences in parts for sequence in sequences]}, sources)
    return checked(found)


def checked(rows: Rows) -> Rows:
    """Return the rows with their points as arrays (points, numbers), float32, all of one width.

    >>> checked(Rows({"points": [[[1, 2], [3, 4]]]}, [("a.jsonl", 1)]))[0]
    {'points': array([[1., 2.],
           [3., 4.]], dtype=float32), 'given': 0}

    Raises:
        ValueError: as `read_points`.
    """
    points = []
    for index, given in enumerate(rows.columns["points"]):
        try:
            points.append(as_points(given))
        except ValueError as error:
            raise ValueError(f"{rows.where(index)}: {error}") from None
        if points[-1].shape[1] != points[0].shape[1]:
            raise ValueError(
                f"{rows.where(index)} has points of {points[-1].shape[1]} numbers, and {rows.where(0)} of "
                f"{points[0].shape[1]}: give all of them the same"
            )
    rows.columns["points"] = points
    rows.columns.setdefault("given", [0] * len(points))
    return rows


def as_points(given: Any) -> np.ndarray:
    """Return one sequence as an array (points, numbers), float32.

    Raises:
        ValueError: it is empty, no list of points, or has a number that is not real, or not finite in float32.
    """
    if hasattr(given, "__array__"):
        array = np.asarray(given)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"points are an array of {array.dtype}; they must be real numbers")
    else:
        if not isinstance(given, list) or not given or not all(isinstance(point, list) for point in given):
            raise ValueError(f"points are {_shown(given)}; give a list of points, [[3, 1, 0], [4, 1, 1]]")
        if len({len(point) for point in given}) > 1 or not given[0]:
            raise ValueError(f"points have {sorted({len(point) for point in given})} numbers; give all the same")
        if not all(isinstance(n, Real) and not isinstance(n, bool) for point in given for n in point):
            raise ValueError(f"points are {_shown(given)}; they must be numbers")
        array = _as_floats(given)
    with np.errstate(over="ignore"):
        array = array.astype(np.float32)
    if not np.isfinite(array).all():
        raise ValueError(
            "a number is NaN or infinite in float32, which ends at 3.4e38: correct it, or leave the sequence out"
        )
    if array.ndim != 2 or not array.size:
        raise ValueError(
            f"points are an array of shape {array.shape}; give (points, numbers)"
            if array.size
            else "the sequence is empty"
        )
    return array


def _as_floats(points: list[list[Any]]) -> np.ndarray:
    """Return the points in float64; integers above its range are infinite."""
    try:
        return np.asarray(points, dtype=np.float64)
    except OverflowError:
        return np.full((1, 1), np.inf)


def _shown(given: Any) -> str:
    """Return the beginning of a value for messages; a list may be nested too deeply to be written."""
    try:
        return f"{given!r:.60}"
    except (RecursionError, ValueError):
        return "nested too deeply, or a number of thousands of digits"


def fingerprint_points(rows: Rows | None) -> str:
    """Return a checksum of sequences; it does not depend on the files that they are from."""
    digest = hashlib.sha256(b"none" if rows is None else repr(rows.columns["given"]).encode())
    for points in [] if rows is None else rows.columns["points"]:
        digest.update(repr(points.shape).encode() + points.tobytes())
    return digest.hexdigest()


def _read_file(name: str, part: str) -> Sequence[Any]:
    path = find_file(name)
    if path.suffix == ".npz":
        return _read_arrays(name, path, _ARRAYS[part])
    if not name.endswith((".jsonl", ".jsonl.gz")):
        raise ValueError(f"{name} ends in none of .jsonl, .jsonl.gz and .npz")
    return list(_read_lines(name, path))


def _read_lines(name: str, path: Path) -> Iterator[Any]:
    for number, line in enumerate(read_texts(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name}, line {number} is no JSON: {error}") from None
        yield row.get("points") if isinstance(row, dict) else row


def _read_arrays(name: str, path: Path, key: str) -> list[np.ndarray]:
    """Return the sequences of an .npz file without pickled objects, in which numpy would run code."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            missing = {key, f"{key}_len"} - set(arrays)
            points, lengths = (arrays[key], arrays[f"{key}_len"]) if not missing else (None, None)
    except Exception as error:  # a damaged file may raise anything
        reason = " ".join(str(error).split())[:120]
        raise ValueError(f"{name} is damaged, or holds pickled objects ({reason}); make it anew") from error
    if points is None or lengths is None:
        raise ValueError(f"{name} has no arrays {key} and {key}_len")
    if points.ndim != 2 or lengths.ndim != 1 or not np.issubdtype(lengths.dtype, np.integer):
        raise ValueError(f"{name}: {key} must be (points, numbers), and {key}_len whole numbers")
    if (lengths < 1).any() or sum(lengths.tolist()) != len(points):
        raise ValueError(f"{name}: {key}_len must be at least 1 each, {len(points):,} in all, as {key} has points")
    return np.split(points, lengths.cumsum(dtype=np.int64)[:-1])


def _of_package(name: str, split: str) -> Rows:
    if name not in (SUNSPOTS, DIGITS):
        raise ValueError(f"dataset_name must be one of {DIGITS}, {SUNSPOTS}, not {name!r}; other data are train_files")
    parts: Any = _YEARS if name == SUNSPOTS else _DIGITS
    if split not in parts:
        raise ValueError(f"{name} has no split {split!r}, only {', '.join(parts)}")
    columns = _sunspots(split) if name == SUNSPOTS else _digits(split)
    return checked(Rows(columns, [(f"split {split} of {name}", len(columns["points"]))]))


def _sunspots(split: str) -> dict[str, list[Any]]:
    try:
        from statsmodels.datasets import sunspots
    except ImportError as error:
        raise ImportError(f"{SUNSPOTS} needs statsmodels: pip install statsmodels") from error
    given, end = _YEARS[split]
    numbers = sunspots.load_pandas().data["SUNACTIVITY"].to_numpy()[:end]
    return {"points": [np.log1p(numbers)[:, None]], "given": [given]}


def _digits(split: str) -> dict[str, list[Any]]:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError(f"{DIGITS} needs scikit-learn: pip install 'hf-lecture-models[train]'") from error
    images = load_digits().images
    chosen = np.random.default_rng(0).permutation(len(images))[_DIGITS[split]]
    return {"points": list(images[chosen])}


def _draw(number: int, seed: Any) -> Sequence[Any]:
    from hf_lecture_models.tasks.strokes.synthetic import draw_curves

    return draw_curves(number, seed)
