# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The parts of a run's data: they are read, limited, and training rows are held out where there is nothing to measure
on. What is wrong with the rows is said in one line each."""

import os
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hf_lecture_models.data.holdout import (
    FEWEST_ROWS,
    SHARE,
    SPLIT_FILE,
    HeldOut,
    SplitKeys,
    as_key,
    draw_lines,
    draw_rows,
    read_split,
    shared_values,
)
from hf_lecture_models.data.recipe import SplitRecipe
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.runs import log_once

if TYPE_CHECKING:
    from hf_lecture_models.tasks.core.task import Task

_FEW_ROWS = 5
_LISTED = 8
# Shorter lines of running text, such as headings, are the same in many texts.
_WORDS_OF_SHARED_LINE = 8


class Parts(NamedTuple):
    """The data of a run; None: the recipe names none.

    Attributes:
        held_out: the training rows that became the validation data; None: there are none, or the recipe names others.
    """

    train: Any
    validation: Any
    test: Any
    predict: Any
    held_out: HeldOut | None = None


def read_parts(task: "Task[Any]", recipe: Any) -> Parts:
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


def _limited(task: "Task[Any]", recipe: Any, parts: Parts) -> Parts:
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


def _first_rows(task: "Task[Any]", recipe: Any, data: Any, part: str) -> Any:
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


def keys_of_rows(
    rows: Rows,
    equal: Mapping[str, Sequence[Any]],
    strata: Sequence[Hashable] = (),
    stratified_by: str = "",
    labels: Sequence[Collection[Hashable]] = (),
    to_train: Collection[int] = (),
) -> SplitKeys:
    """Return what a split of rows observes: values that are equal, and documents, if the data name them.

    Args:
        equal: by its name, what is the same in rows that stay on one side.
    """
    together = {name: list(map(as_key, values)) for name, values in equal.items()}
    if rows.documents:
        together["document"] = [None if own in ("", None) else own for own in map(as_key, rows.documents)]
    return SplitKeys(together, strata, stratified_by, labels, to_train)


def keys_of_classes(
    rows: Rows, equal: Mapping[str, Sequence[Any]], label_names: Mapping[str, str], to_train: Collection[int] = ()
) -> SplitKeys:
    """Return what a split of rows with classes observes; a row may have a list of them."""
    found = [label if isinstance(label, list | tuple) else [label] for label in rows.columns["label"]]
    labels = [tuple(sorted({label_names.get(str(one), str(one)) for one in own})) for own in found]
    return keys_of_rows(rows, equal, labels, "label", labels, to_train)


def hold_out_rows(rows: Rows, recipe: SplitRecipe, keys: SplitKeys) -> tuple[Rows, Rows | None, HeldOut | None]:
    """Return the rows to train on, those to validate on, and the numbers of these; log how many there are.

    Returns:
        None in place of the second and third, if there are too few rows, or all of them stay together.

    Raises:
        ValueError: the recipe names a share, and it leaves no row to validate or to train on.
    """
    number = len(rows) - len(keys.to_train)
    if not _is_enough(number, recipe, "rows"):
        return rows, None, None
    wanted = min(max(1, round((recipe.validation_share or SHARE) * number)), number - 1)
    chosen = draw_rows(wanted, len(rows), keys)
    if not chosen:
        rule = f"the same {' or '.join(keys.together)}" if keys.together else "no other row of their label"
        reason = f"{rows.sources[0][0]}: no row can be held out for validation: too many have {rule}"
        if recipe.validation_share:
            raise ValueError(f"{reason}; name validation_files, or set `validation_share` 0")
        log_once(f"{reason}; nothing is measured while training, unless validation_files are named")
        return rows, None, None
    train, validation = rows.select(sorted({*range(len(rows))} - {*chosen})), rows.select(chosen)
    sources = list(rows.read_sources)
    together = [name for name, values in keys.together.items() if _has_equal(values)]
    total = sum(length for _, length in sources)
    held_out = HeldOut(total, list(validation.numbers), sources, keys.stratified_by, together)
    how = [f"the same share of each {keys.stratified_by}"] if keys.stratified_by else []
    how += [f"rows with an equal {' or '.join(together)} on one side"] if together else []
    _say_held_out(len(chosen), len(rows), "rows", how, recipe)
    return train, validation, held_out


def hold_out_texts(texts: Any, recipe: SplitRecipe) -> tuple[Any, Any, HeldOut | None]:
    """Return running text to train on, some stretches of its lines to validate on, and the numbers of these lines.

    Raises:
        ValueError: the recipe names a share, and it leaves no line to train on.
    """
    if not isinstance(texts, list):
        if recipe.validation_share:
            raise ValueError("recipe: streamed texts cannot be held out: leave `validation_share` out")
        log_once("no validation data: of streamed texts none are held out; validation_files names some")
        return texts, None, None
    if not _is_enough(len(texts), recipe, "texts"):
        return texts, None, None
    chosen = draw_lines(recipe.validation_share or SHARE, len(texts))
    kept = sorted({*range(len(texts))} - {*chosen})
    name = ", ".join(recipe.train_files) or recipe.dataset_name or f"the recipe's train_{recipe.inline}"
    held_out = HeldOut(len(texts), chosen, [(name, len(texts))])
    _say_held_out(len(chosen), len(texts), "texts", ["stretches of neighbouring ones"], recipe)
    return [texts[row] for row in kept], [texts[row] for row in chosen], held_out


def _has_equal(values: Sequence[Hashable]) -> bool:
    named = [value for value in values if value is not None]
    return len({*named}) < len(named)


def read_held_out(task: "Task[Any]", recipe: Any, folder: str | os.PathLike[str]) -> Any:
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
    known: dict[tuple[str, int], int] = {}
    for (name, length), start in zip(split.sources, starts, strict=False):
        known.setdefault((Path(name).name, length), start)
    for name, length in rows.read_sources:
        if (Path(name).name, length) not in known:
            there = ", ".join(f"{name} ({length:,})" for name, length in split.sources)
            raise ValueError(
                f"{name} ({length:,} rows) is none of the training files that {folder}/{SPLIT_FILE} names: {there}"
            )
    return [known[Path(name).name, length] for name, length in rows.read_sources]


def _is_enough(number: int, recipe: SplitRecipe, items: str) -> bool:
    """Return whether there are enough rows to hold some out; log it if not."""
    if recipe.validation_share:
        if number < 2:
            raise ValueError(f"recipe: of {number} {items}, `validation_share` leaves none to train on")
        return True
    if number < FEWEST_ROWS:
        log_once(
            f"no validation data, and of {number} {items} none are held out, which takes {FEWEST_ROWS}: nothing is "
            "measured while training"
        )
    return number >= FEWEST_ROWS


def _say_held_out(number: int, of: int, items: str, how: Sequence[str], recipe: Any) -> None:
    start = "no validation data: " if recipe.validation_share is None else ""
    log_once(
        f"{start}{number:,} of {of:,} {items} ({'; '.join([f'{number / of:.1%}', *how])}) are held out for validation; "
        f"their numbers are in {recipe.output_dir}/{SPLIT_FILE}; --validation_share 0 trains on all"
    )


def warn_of_rows(task: "Task[Any]", recipe: Any, parts: Parts) -> None:
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
    counts = Counter(label for labels in keys.labels for label in {*labels})
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


def joined_columns(rows: Rows, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the values of several columns, row by row.

    >>> joined_columns(Rows({"text": ["a", "b"], "label": [0, 1]}, [("a.csv", 2)]), ["text", "label"])
    [('a', 0), ('b', 1)]
    """
    return list(zip(*(rows.columns[name] for name in names), strict=True))
