# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
# ruff: noqa: RUF009  (setting() makes fields of a dataclass)
"""Pairs of sentences, read and checked: from line-aligned files, from tables of two columns, or from the Hub."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from hf_lecture_models.data.files import find_file
from hf_lecture_models.data.reading import read_rows
from hf_lecture_models.data.recipe import RowsRecipe
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.data.tables import file_suffix, read_tab_separated
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.factories import tell
from hf_lecture_models.tokenization.corpus import read_texts

# Names that columns of translations often have, and codes of languages: fr, en_US, zho.
_COLUMN_NAME = re.compile(r"source|target|src|tgt|trg|[a-z]{2,3}([-_][A-Za-z]{2,4})?", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][\w-]*")
_LINES_LOOKED_AT = 100


@dataclass(kw_only=True)
class PairsRecipe(RowsRecipe):
    """A recipe of a task on rows of `source` and `target`; line-aligned `.txt` files go in pairs."""

    train_files: list[str] = setting(
        [],
        "line-aligned .txt files in pairs, source and target: [train.de.txt, train.en.txt]; or tables of two columns, "
        "source and target (.tsv without their names, .csv, .jsonl, .parquet)",
    )
    predict_files: list[str] = setting(
        [], "sources alone, whose translations are written to the folder `predictions` of output_dir", free=True
    )

    def column_aliases(self, column: str) -> Sequence[str]:
        """What files may call a column; a `.txt` file of sources has the column `text`."""
        named = super().column_aliases(column)
        return ("source", "text") if column == "source" and column not in self.columns else named

    def header(self) -> Sequence[str]:
        """The columns of a `.tsv` file without their names, as `paste SOURCE TARGET` writes it."""
        return [self.column_aliases(column)[0] for column in ("source", "target")]


def read_pairs(recipe: PairsRecipe, part: str) -> Rows | None:
    """The pairs of a part, or for "predict" the sources; None where the recipe names none but for training.

    Raises:
        ValueError: as `read_rows`; or files are not aligned, or one has no partner, or a row lacks a side, or a `.tsv`
            file begins with names of columns that nothing says which side they are of.
        OSError: as `read_rows`.
    """
    files = getattr(recipe, f"{part}_files")
    if part != "predict" and files and all(name.removesuffix(".gz").endswith(".txt") for name in files):
        if recipe.inline_rows(part) or (recipe.dataset_name and getattr(recipe, f"{part}_split")):
            raise ValueError("the recipe names its data twice; keep one of rows, files and dataset_name")
        return _read_aligned(files)
    for name in files:
        _refuse_other_header(name, recipe)
    rows = read_rows(recipe, part, required=("source",), labels=("target",))
    if rows is None:
        return None
    for name, values in rows.columns.items():
        for index, value in enumerate(values):
            if value is None:
                raise ValueError(f"{rows.where(index)} has no {name}: a pair has both sides")
        rows.texts(name)
    return rows


def _refuse_other_header(name: str, recipe: PairsRecipe) -> None:
    """Raise ValueError where the first line of a `.tsv` file names its columns otherwise than the recipe does.

    It would be read as a pair. It is taken for names where both sides are codes of languages or such, or are single
    words while most lines below are sentences.
    """
    if file_suffix(name) != ".tsv":
        return
    first, *others = [fields for _, fields in islice(read_tab_separated(find_file(name)), _LINES_LOOKED_AT)] or [[]]
    if len(first) != 2 or any(column in first for column in recipe.header()):
        return
    are_names = all(_COLUMN_NAME.fullmatch(cell) for cell in first) and len(set(map(str.lower, first))) == 2
    sentences = sum(any(" " in cell.strip() for cell in line) for line in others)
    if are_names or (all(map(_WORD.fullmatch, first)) and 2 * sentences > len(others)):
        source, target = first
        raise ValueError(
            f"{name}, line 1 reads like names of columns: --columns.source {source} --columns.target {target} says "
            "which is which; if it is a pair of words, write a line source<TAB>target above it"
        )


def _read_aligned(files: Sequence[str]) -> Rows:
    if len(files) % 2:
        raise ValueError(
            f"{files[-1]} has no partner: line-aligned files go in pairs, source and target, but there are {len(files)}"
        )
    columns: dict[str, list[str]] = {"source": [], "target": []}
    sources = []
    for pair in zip(files[::2], files[1::2], strict=True):
        texts = [list(read_texts(find_file(name))) for name in pair]
        if len(texts[0]) != len(texts[1]):
            raise ValueError(
                f"{pair[0]} has {len(texts[0]):,} lines and {pair[1]} {len(texts[1]):,}: they are not aligned; line n "
                "of one must be the translation of line n of the other"
            )
        if not texts[0]:
            raise ValueError(f"{pair[0]} is empty: there is no row in it")
        sources.append((f"{pair[0]} with {pair[1]}", len(texts[0])))
        for name, lines in zip(columns, texts, strict=True):
            columns[name] += lines
    return Rows(columns, sources)


def find_blank(rows: Rows) -> list[int]:
    """The rows with a side of white space alone, or of nothing."""
    sides = zip(*rows.columns.values(), strict=True)
    return [index for index, texts in enumerate(sides) if not all(map(str.strip, texts))]


def refuse_blanks(rows: Rows) -> Rows:
    """The rows; of data to measure none may be left out.

    Raises:
        ValueError: a side is blank.
    """
    if blank := find_blank(rows):
        raise ValueError(f"{rows.where(blank[0])} has an empty side: {rows[blank[0]]}; leave it out of both languages")
    return rows


def keep_rows(rows: Rows, kept: Sequence[int], reason: str) -> Rows:
    """Some of the rows, in their order; how many are left out, and why, is told.

    Raises:
        ValueError: none is left.
    """
    if len(kept) == len(rows):
        return rows
    first = min(set(range(len(rows))) - set(kept))
    if not kept:
        raise ValueError(f"all {len(rows):,} pairs are left out: {reason}, {rows.where(first)} the first")
    tell(f"{len(rows) - len(kept):,} of {len(rows):,} pairs are left out: {reason}, {rows.where(first)} the first")
    columns = {name: [values[index] for index in kept] for name, values in rows.columns.items()}
    return Rows(columns, [(f"the pairs that are kept of {', '.join(name for name, _ in rows.sources)}", len(kept))])
