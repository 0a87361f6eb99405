# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The data fields of recipes: rows written into the recipe, local files, or the Hub at a pinned revision."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hf_lecture_models.data.files import DATA_FOLDER
from hf_lecture_models.data.rows import UNLABELLED
from hf_lecture_models.io.recipe import Recipe, setting


@dataclass(kw_only=True)
class DataRecipe(Recipe):
    """The sources of a task's rows; a `TextsRecipe` or `RowsRecipe` can also hold rows itself."""

    train_files: list[str] = setting(
        [],
        "local .txt (one text per line), .csv, .tsv (nothing is quoted), .json, .jsonl, .parquet, .conllu or .conll "
        f"files, relative to the current folder, or else to the one that the environment variable {DATA_FOLDER} names",
    )
    validation_files: list[str] = setting([], "the same for validation")
    test_files: list[str] = setting([], "the same for the results on the model's card", free=True)
    predict_files: list[str] = setting(
        [], "rows without labels, whose predictions are written to the folder `predictions` of output_dir", free=True
    )
    dataset_name: str = setting("", "data set on the Hub, or a folder that `save_to_disk` wrote, in place of files")
    dataset_config: str | None = setting(None, "its configuration")
    dataset_revision: str = setting("", "its revision on the Hub: a commit, so that the data stay the same")
    train_split: str = setting("train", "its split to train on")
    validation_split: str = setting("validation", "its split to validate on")
    test_split: str = setting("", "its split for the results on the model's card", free=True)
    predict_split: str = setting("", "its split without labels, to write predictions for", free=True)
    columns: dict[str, str] = setting({}, "names of columns in files, by the task's own names: {text: sentence}")
    data: dict[str, Any] = setting({}, "what the card says of the data: name, language, licence, source", free=True)

    no_label_advice: ClassVar[str] = UNLABELLED
    """The advice for a file without a column of labels."""
    inline: ClassVar[str] = "rows"
    """The second part of the names of fields that hold data themselves, after `train_` and `validation_`."""

    def inline_rows(self, part: str) -> list[dict[str, Any]]:
        """Return the rows of a part that are written in the recipe itself."""
        return list(getattr(self, f"{part}_{self.inline}", ()))

    def column_aliases(self, column: str) -> Sequence[str]:
        """Return the names that a column of the task may have in files; the first one that a file has is read."""
        return [str(self.columns.get(column, column))]  # YAML reads a column's number as an int

    def header(self) -> Sequence[str]:
        """Return the columns of `.tsv` files whose first line is a row; empty: the first line names the columns."""
        return ()

    def malformed_header(self) -> Sequence[str]:
        """Return the first line of a benchmark's `.tsv` file with rows of other widths, which are left out."""
        return ()


@dataclass(kw_only=True)
class SplitRecipe(DataRecipe):
    """A recipe that holds training rows out for validation where it names no validation data."""

    validation_share: float | None = setting(
        None,
        "share of the training rows that is held out for validation; split.json of output_dir names the rows; null: a "
        "tenth, if no validation data are named; 0: none",
        least=0,
    )
    limit: int = setting(
        0, "the most training rows, and the most rows of other parts, to try a recipe in seconds; 0: all", least=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        share = self.validation_share or 0
        if share >= 1:
            raise ValueError(
                f"recipe: validation_share must be below 1, not {share}: 0.1 holds out a tenth of the training rows"
            )
        if share and (self.validation_files or self.inline_rows("validation")):
            raise ValueError("recipe: validation_share and validation data are both given; keep one of them")


@dataclass(kw_only=True)
class TextsRecipe(DataRecipe):
    """A recipe of a task on texts alone; each row has only the column `text`."""

    train_texts: list[str] = setting([], "texts written into the recipe itself, in place of files")
    validation_texts: list[str] = setting([], "the same for validation")

    inline: ClassVar[str] = "texts"

    @property
    def text_column(self) -> str:
        """The name of the column of texts in files."""
        return self.columns.get("text", "text")

    def inline_rows(self, part: str) -> list[dict[str, Any]]:
        """Return the texts of a part that are written in the recipe itself, as rows."""
        return [{"text": text} for text in getattr(self, f"{part}_texts", ())]


@dataclass(kw_only=True)
class RowsRecipe(DataRecipe):
    """A recipe of a task on rows of several columns."""

    train_rows: list[dict[str, Any]] = setting([], "rows written into the recipe itself, in place of files")
    validation_rows: list[dict[str, Any]] = setting([], "the same for validation")
