# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The rules for a split of rows, and the training rows of a task that are held out for validation."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

from hf_lecture_models.data.holdout import (
    FEWEST_ROWS,
    SHARE,
    SPLIT_FILE,
    HeldOut,
    SplitKeys,
    as_key,
    draw_lines,
    draw_rows,
)
from hf_lecture_models.data.recipe import SplitRecipe
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.runs import log_once


def keys_of_rows(
    rows: Rows,
    equal: Mapping[str, Sequence[Any]],
    strata: Sequence[Hashable] = (),
    stratified_by: str = "",
    labels: Sequence[Collection[Hashable]] = (),
    to_train: Collection[int] = (),
) -> SplitKeys:
    """Return the rules for a split of rows: equal values, and documents if the data name them, stay on one side.

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
    """Return the rules for a split of rows with classes; a row may have a list of them."""
    found = [label if isinstance(label, list | tuple) else [label] for label in rows.columns["label"]]
    labels = [tuple(sorted({label_names.get(str(one), str(one)) for one in own})) for own in found]
    return keys_of_rows(rows, equal, labels, "label", labels, to_train)


def joined_columns(rows: Rows, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the values of several columns, row by row.

    >>> joined_columns(Rows({"text": ["a", "b"], "label": [0, 1]}, [("a.csv", 2)]), ["text", "label"])
    [('a', 0), ('b', 1)]
    """
    return list(zip(*(rows.columns[name] for name in names), strict=True))


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
