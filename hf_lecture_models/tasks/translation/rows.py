# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pairs of sentences, read and checked: from line-aligned files, from tables of two columns, or from the Hub."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from hf_lecture_models.data.files import find_file
from hf_lecture_models.data.reading import read_rows
from hf_lecture_models.data.recipe import RowsRecipe
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.data.tables import read_tab_separated
from hf_lecture_models.io.packing import file_suffix
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.core.factories import log_once
from hf_lecture_models.tokenization.corpus import read_texts

# Matches usual names of columns of translations, and codes of languages: fr, en_US, zho.
_COLUMN_NAME = re.compile(r"source|target|src|tgt|trg|[a-z]{2,3}([-_][A-Za-z]{2,4})?", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][\w-]*")
_LINES_LOOKED_AT = 100


@dataclass(kw_only=True)
class PairsRecipe(RowsRecipe):
    """A recipe of a task on rows of `source` and `target`; line-aligned `.txt` files are named in pairs."""

    train_files: list[str] = setting(
        [],
        "line-aligned .txt files in pairs, source and target: [train.de.txt, train.en.txt]; or tables of two columns, "
        "source and target (.tsv without their names, .csv, .jsonl, .parquet)",
    )
    predict_files: list[str] = setting(
        [], "sources alone, whose translations are written to the folder `predictions` of output_dir", free=True
    )

    def column_aliases(self, column: str) -> Sequence[str]:
        """Return the names that a column may have in files; a `.txt` file of sources has the column `text`."""
        named = super().column_aliases(column)
        return ("source", "text") if column == "source" and column not in self.columns else named

    def header(self) -> Sequence[str]:
        """Return the columns of a `.tsv` file without a line of names, such as `paste SOURCE TARGET` writes."""
        return [self.column_aliases(column)[0] for column in ("source", "target")]


def read_pairs(recipe: PairsRecipe, part: str) -> Rows | None:
    """Read the pairs of a part, or the sources for "predict"; None if the recipe names none.

    Raises:
        ValueError: as `read_rows`; or files are not aligned, a file has no partner, a row lacks a side, or a `.tsv`
            file begins with names of columns that are not known as source and target.
        OSError: as `read_rows`.
    """
    files = getattr(recipe, f"{part}_files")
    if part != "predict" and files and all(file_suffix(name) == ".txt" for name in files):
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
        rows.columns[name] = rows.plain_texts(name)
    return rows


def _refuse_other_header(name: str, recipe: PairsRecipe) -> None:
    """Raise a ValueError if the first line of a `.tsv` file has other names of columns than the recipe.

    Otherwise it would be read as a pair.
    """
    if names := header_of_pairs(name, recipe):
        source, target = names
        raise ValueError(
            f"{name}, line 1 reads like names of columns: `columns.source` {source} and `columns.target` {target} "
            "say which is which; if it is a pair of words, write a line source<TAB>target above it"
        )


def header_of_pairs(name: str, recipe: PairsRecipe) -> list[str]:
    """Return the first line of a `.tsv` file if it names two columns that the recipe does not name, else [].

    A line is considered names if both sides are usual names of columns or codes of languages, or single words above
    lines that are mostly sentences.
    """
    if file_suffix(name) != ".tsv":
        return []
    first, *others = [fields for _, fields in islice(read_tab_separated(find_file(name)), _LINES_LOOKED_AT)] or [[]]
    if len(first) != 2 or any(column in first for column in recipe.header()):
        return []
    are_names = all(_COLUMN_NAME.fullmatch(cell) for cell in first) and len(set(map(str.lower, first))) == 2
    sentences = sum(any(" " in cell.strip() for cell in line) for line in others)
    return first if are_names or (all(map(_WORD.fullmatch, first)) and 2 * sentences > len(others)) else []


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
    rows = Rows(columns, sources)
    return Rows({name: rows.plain_texts(name) for name in columns}, sources)


def find_blank(rows: Rows) -> list[int]:
    """Return the rows with a side that is empty or white space."""
    sides = zip(*rows.columns.values(), strict=True)
    return [index for index, texts in enumerate(sides) if not all(map(str.strip, texts))]


def keep_rows(rows: Rows, kept: Sequence[int], reason: str) -> Rows:
    """Return the kept rows, in their order, and log how many are left out and why.

    Raises:
        ValueError: no row is left.
    """
    if len(kept) == len(rows):
        return rows
    first = min(set(range(len(rows))) - set(kept))
    if not kept:
        raise ValueError(f"all {len(rows):,} pairs are left out: {reason}, {rows.where(first)} the first")
    log_once(f"{len(rows) - len(kept):,} of {len(rows):,} pairs are left out: {reason}, {rows.where(first)} the first")
    return rows.select(kept)
