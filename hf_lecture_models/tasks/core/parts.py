# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The parts of a run's data: read them, limit them, and hold training rows out if the recipe names no validation data.

Warnings tell which rows are in two parts, and which classes have few rows."""

import os
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from hf_lecture_models.data.holdout import SPLIT_FILE, HeldOut, SplitKeys, draw_rows, read_split, shared_values
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.runs import log_once
from hf_lecture_models.tasks.core.task import Task

_FEW_ROWS = 5
_LISTED = 8
# Shorter lines of running text, such as headings, are the same in many texts.
_WORDS_OF_SHARED_LINE = 8


class Parts(NamedTuple):
    """The data of a run; None: the recipe names none.

    Attributes:
        held_out: the training rows that became the validation data; None: nothing was held out.
    """

    train: Any
    validation: Any
    test: Any
    predict: Any
    held_out: HeldOut | None = None


def read_parts(task: Task[Any], recipe: Any) -> Parts:
    """Read all parts of a recipe's data, and hold training rows out if no validation data are named.

    Raises:
        ValueError, OSError: as `Task.read` and `Task.hold_out`.
    """
    train = task.read(recipe, "train")
    validation = None if recipe.validation_share else task.read(recipe, "validation")
    parts = Parts(train, validation, task.read(recipe, "test"), task.read(recipe, "predict"))
    if recipe.limit:
        parts = _limited(task, recipe, parts)
    if parts.validation is None and recipe.validation_share != 0:
        train, validation, held_out = task.hold_out(parts.train, recipe)
        parts = parts._replace(train=train, validation=validation, held_out=held_out)
    warn_of_rows(task, recipe, parts)
    return parts


def _limited(task: Task[Any], recipe: Any, parts: Parts) -> Parts:
    """Return at most `recipe.limit` rows of each part, and log how many they are."""
    kept: dict[str, Any] = {}
    said = []
    for name in ("train", "validation", "test", "predict"):
        data = getattr(parts, name)
        kept[name] = None if data is None else _first_rows(task, recipe, data, name)
        if kept[name] is not data:
            numbers = f"{len(kept[name]):,} of {len(data):,}" if hasattr(data, "__len__") else f"{recipe.limit:,}"
            said.append(f"{numbers} {'training' if name == 'train' else name} rows")
    if said:
        log_once(f"limit {recipe.limit}: {', '.join(said)} are used")
    return parts._replace(**kept)


def _first_rows(task: Task[Any], recipe: Any, data: Any, part: str) -> Any:
    """Return a sample of rows, of training data one with all labels, or the first texts."""
    if hasattr(data, "__len__") and len(data) <= recipe.limit:
        return data
    if not isinstance(data, Rows):
        return data.take(recipe.limit) if hasattr(data, "take") else data[: recipe.limit]
    if part == "predict":
        return data.select(range(recipe.limit))
    keys = task.split_keys(recipe, data) if part == "train" else SplitKeys()
    keys = SplitKeys(strata=keys.strata, labels=keys.labels)
    return data.select(sorted({*range(len(data))} - {*draw_rows(len(data) - recipe.limit, len(data), keys)}))


def read_held_out(task: Task[Any], recipe: Any, folder: str | os.PathLike[str]) -> Any:
    """Read those training rows of a recipe that a run has held out.

    Args:
        recipe: it names all training files of the run, in their order, or some of them.
        folder: the run's folder, in which `split.json` names the rows.

    Raises:
        ValueError, OSError: as `read_split` and `Task.read`; or the files are not those of the run, or no row of them
            was held out.
    """
    split, data = read_split(folder), task.read(recipe, "train")
    found: Any
    chosen = {*split.validation}
    if isinstance(data, Rows):
        first = _first_numbers(data, split, folder)
        starts = [0, *accumulate(length for _, length in data.read_sources)]
        sources = [bisect(starts, number) - 1 for number in data.numbers]
        numbers = [first[at] + number - starts[at] for at, number in zip(sources, data.numbers, strict=True)]
        found = data.select([row for row, number in enumerate(numbers) if number in chosen])
    else:
        if len(data) < split.rows:
            raise ValueError(f"{folder}/{SPLIT_FILE} counts {split.rows:,} texts, and there are {len(data):,} here")
        found = [text for number, text in enumerate(data) if number in chosen]
    if not len(found):
        raise ValueError(f"the run of {folder} held out no row of these files; name its other training files")
    return found


def _first_numbers(rows: Rows, split: HeldOut, folder: Any) -> list[int]:
    """Return the number of the first row of each source in the run, whose files may have been moved since."""
    starts = [0, *accumulate(length for _, length in split.sources)]
    left = [(name, length, start) for (name, length), start in zip(split.sources, starts, strict=False)]
    are_all = len(rows.read_sources) == len(split.sources)
    found = []
    for name, length in rows.read_sources:
        alike = [own for own in left if (Path(own[0]).name, own[1]) == (Path(name).name, length)]
        own = next((own for own in alike if own[0] == name), alike[0] if are_all or len(alike) == 1 else None)
        if own is None:
            there = ", ".join(f"{name} ({length:,})" for name, length in split.sources)
            which = f"may be any of {len(alike)}" if alike else "is none"
            raise ValueError(
                f"{name} ({length:,} rows) {which} of the training files that {folder}/{SPLIT_FILE} names: {there}"
            )
        left.remove(own)
        found.append(own[2])
    return found


def warn_of_rows(task: Task[Any], recipe: Any, parts: Parts) -> None:
    """Log in one line each which classes have few rows, and how many rows to measure on are also trained on."""
    if isinstance(parts.train, Rows):
        keys = task.split_keys(recipe, parts.train)
        _warn_of_small_classes(keys)
        for name, data in _to_measure(parts):
            _warn_of_shared_rows(name, data, task.split_keys(recipe, data), keys)
    elif isinstance(parts.train, list):
        for name, data in _to_measure(parts):
            _warn_of_shared_lines(name, data, parts.train)


def _to_measure(parts: Parts) -> list[tuple[str, Any]]:
    named = [("validation", None if parts.held_out else parts.validation), ("test", parts.test)]
    return [(name, data) for name, data in named if data is not None]


def _warn_of_small_classes(keys: SplitKeys) -> None:
    # A row without a label has no class; training refuses it.
    counts = Counter(label for labels in keys.labels for label in {*labels} if label is not None and str(label).strip())
    few = sorted((number, str(label)) for label, number in counts.items() if number < _FEW_ROWS)
    if few:
        shown = ", ".join(f"{label} {number}" for number, label in few[:_LISTED]) + (", ..." if few[_LISTED:] else "")
        log_once(
            f"warning: {len(few)} of {len(counts)} classes have fewer than {_FEW_ROWS} training rows, too few to learn "
            f"or to measure: {shown}"
        )


def _warn_of_shared_rows(part: str, rows: Rows, keys: SplitKeys, training: SplitKeys) -> None:
    name = next(iter(keys.together), "")
    shared = list(shared_values(keys.together[name], training.together.get(name, ()))) if name else []
    _warn_of_shared(part, len(rows), shared, name, rows.where)


def _warn_of_shared_lines(part: str, texts: Sequence[str], training: Sequence[str]) -> None:
    long = [text.strip() if len(text.split()) >= _WORDS_OF_SHARED_LINE else None for text in texts]
    shared = list(shared_values(long, map(str.strip, training)))
    _warn_of_shared(part, len(texts), shared, "text", lambda row: f"text {row + 1}")


def _warn_of_shared(part: str, number: int, shared: Sequence[int], name: str, where: Callable[[int], str]) -> None:
    if shared:
        log_once(
            f"warning: {len(shared):,} of {number:,} {part} rows have a {name} that is also in the training data, "
            f"{where(shared[0])} the first: measures on them are too good"
        )
