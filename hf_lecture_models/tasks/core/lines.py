# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a task's models predict for: the lines and rows that are read, and the options of a prediction."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class PredictionOptions:
    """The options of a call of `Task.predictions`; they choose how many predictions are returned, and in which form.

    Attributes:
        top_k: the most predictions of a row; None: the task's usual number.
        aggregate: for tags, return entities in place of words.
        batch_size: the number of rows in a batch.
        max_length: the most tokens of an input, for tasks without a setting of that name.
    """

    top_k: int | None = None
    aggregate: bool = False
    batch_size: int = 64
    max_length: int | None = None


@dataclass(frozen=True)
class LineForm:
    """The form of the lines that `hf-lecture predict` reads for a task, and of those that it prints.

    >>> LineForm().read("a fine film")
    {'text': 'a fine film'}

    Attributes:
        words: the content of a line for messages, such as "texts".
        fields: the fields of a line that is a JSON object, with their types.
        optional: further fields of texts that the object may have.
        needs_json: whether a line must be a JSON object.
        usual: the default number of predictions for a row; 0: one for each of its words.
    """

    words: str = "texts"
    fields: Mapping[str, type] = field(default_factory=lambda: {"text": str})
    optional: tuple[str, ...] = ()
    needs_json: bool = False
    usual: int = 1

    def read(self, text: str) -> dict[str, Any]:
        """Return the fields of a line of text.

        Raises:
            ValueError: the line has another form.
        """
        return {"text": text}

    def check(self, fields: Mapping[str, Any]) -> None:
        """Raise a ValueError if a model cannot read a row of these fields, such as an empty question."""

    def is_blank(self, fields: Mapping[str, Any]) -> bool:
        """Return whether a row holds nothing to predict, so that the model need not read it."""
        return False

    def shown(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a table's row that are printed with its predictions."""
        return {name: row[name] for name in ("id", *self.fields, *self.optional) if row.get(name) is not None}

    def line_of(self, fields: Mapping[str, Any], prediction: Mapping[str, Any]) -> str:
        """Return the text that a person reads after a prediction's label and score."""
        return str(prediction["text"])
