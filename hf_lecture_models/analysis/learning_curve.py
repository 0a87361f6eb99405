# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pictures of a training run: loss against steps, and a table of results. Needs matplotlib (extra `train`)."""

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from hf_lecture_models.analysis.figures import figure


def save_learning_curve(
    history: Sequence[Mapping[str, Any]], path: str | os.PathLike[str], width: float = 7.0, height: float = 4.5
) -> None:
    """Draw the training loss and the first measure of the validation against optimiser steps.

    A perplexity is drawn as its logarithm, which has the unit of a language model's loss, nats per token. Any other
    measure (accuracy, say) has an axis of its own.

        history = [{"step": 10, "loss": 5.1}, {"step": 20, "loss": 4.2}, {"step": 20, "validation_perplexity": 81.0}]
        save_learning_curve(history, "learning_curve.png")

    Args:
        history: rows with `step` and either `loss` (of training) or measures named `validation_...`.
        path: .png, .svg or .pdf; written beside and renamed.
        width, height: in inches.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: the history holds nothing to draw.
    """
    measure = next((key for row in history for key in row if key.startswith("validation_")), "")
    in_nats = measure == "validation_perplexity"
    training, validation = _curve(history, "loss", float), _curve(history, measure, math.log if in_nats else float)
    if not training and not validation:
        raise ValueError(f"nothing to draw in {path}: no row of the history holds loss or a measure of validation")
    with figure(path, width, height) as axes:
        other = axes if in_nats or not validation else axes.twinx()
        lines = axes.plot(*zip(*training, strict=True), "-", label="training") if training else []
        if validation:
            lines += other.plot(*zip(*validation, strict=True), "o-", color="C1", label="validation", markersize=4)
        if other is not axes:
            other.set_ylabel(f"validation {measure.removeprefix('validation_').replace('_', ' ')}")
        axes.set_xlabel("optimiser steps")
        axes.set_ylabel("loss (nats per token)" if in_nats else "loss")
        axes.grid(alpha=0.3)
        place = (
            {} if other is axes else {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 2, "frameon": False}
        )
        axes.legend(handles=lines, **place)


def save_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], path: str | os.PathLike[str], title: str, left: int = 1
) -> None:
    """Draw a table of text cells as a picture; arguments and errors as in `save_learning_curve`.

        save_table(["model", "perplexity"], [["trigram", "120.1"], ["LSTM", "63.9"]], "table.png", title="WikiText-2")

    Args:
        left: number of columns that are aligned to the left; the others are aligned to the right.
    """
    characters = sum(max(map(len, cells)) for cells in zip(columns, *rows, strict=True))
    width = max(1.7 * len(columns), 0.085 * characters + 0.3 * len(columns))
    with figure(path, width=width, height=0.8 + 0.35 * len(rows)) as axes:
        axes.axis("off")
        axes.set_title(title, fontsize=10, parse_math=False)
        table = axes.table(cellText=[list(row) for row in rows], colLabels=list(columns), loc="center")
        table.auto_set_font_size(False)
        table.set_fontsize(9)
        table.auto_set_column_width(list(range(len(columns))))
        table.scale(1.0, 1.4)
        for (_, column), cell in table.get_celld().items():
            # A word may hold dollar signs; they begin no formula.
            cell.set_text_props(ha="left" if column < left else "right", parse_math=False)


def _curve(history: Sequence[Mapping[str, Any]], key: str, unit: Any) -> list[tuple[float, float]]:
    # An infinite perplexity has no place on the axis.
    return [(row["step"], unit(row[key])) for row in history if key in row and math.isfinite(row[key])]
