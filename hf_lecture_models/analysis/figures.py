# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Figures as files: the parts that all share, learning curves and tables. Needs matplotlib (extra `train`)."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Any

from hf_lecture_models.io.files import staged_file

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")
"""Paul Tol's "bright" scheme, whose colours differ for colour-blind eyes too."""
SEQUENTIAL = "YlGnBu"
"""ColorBrewer's yellow to blue, which darkens steadily and so keeps its order in grey."""
FONT_SIZE = 14
"""Points of a slide's smallest letters, which can be read where the picture is shown at half its width."""

# Without these, two files of the same picture would differ.
_METADATA = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


@contextmanager
def figure(path: str | os.PathLike[str], width: float, height: float, panels: int = 1, rows: int = 1) -> Iterator[Any]:
    """Yield the axes of a figure, and save it after the block; opens no window and leaves pyplot's state alone.

    Args:
        path: .png, .svg or .pdf; written beside and renamed. The same picture makes the same file.
        width, height: in inches.
        panels: axes side by side; one is yielded by itself, several as an array.
        rows: rows of panels; with more than one, the array is (rows, panels).

    Raises:
        ImportError: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(f"drawing {path} needs matplotlib: pip install 'hf-lecture-models[train]'") from error
    drawing = Figure(figsize=(width, height), layout="constrained")
    yield drawing.subplots(rows, panels)
    with staged_file(path) as stage, rc_context({"svg.hashsalt": "hf-lecture-models"}):
        drawing.savefig(stage, dpi=120, metadata=_METADATA.get(Path(path).suffix))


@contextmanager
def slide(
    path: str | os.PathLike[str], title: str, caption: str, width: float, height: float, panels: int = 1
) -> Iterator[Any]:
    """Yield the axes of a `figure` for a slide, with a title above, a caption below, and letters of `FONT_SIZE`.

        with slide("map.svg", "layer 4, head 2", caption="BERT. Jack sleeps.", width=8.0, height=6.0) as axes:
            axes.plot([1, 2], [3, 4], color=COLOURS[0])

    Args:
        title: names what is shown.
        caption: names the model and the text.
    """
    letters = int(width * 72 / (0.52 * FONT_SIZE))
    title, caption = fill(title, letters), fill(caption, letters)
    extra = (title.count("\n") + caption.count("\n") + 2) * 1.3 * FONT_SIZE / 72
    with figure(path, width, height + extra, panels) as axes:
        for one in [axes] if panels == 1 else axes:
            one.tick_params(labelsize=FONT_SIZE)
            for axis in (one.xaxis, one.yaxis):
                axis.label.set_fontsize(FONT_SIZE)
        drawing = (axes if panels == 1 else axes[0]).figure
        drawing.suptitle(title, fontsize=FONT_SIZE + 1, parse_math=False)
        drawing.supxlabel(caption, fontsize=FONT_SIZE, parse_math=False, color="0.25")
        yield axes


def draw_weights(
    axes: Any, weights: Any, rows: Sequence[str], columns: Sequence[str], colours: str, most: float
) -> None:
    """Draw weights (rows, columns) from 0 to `most` as colours, with a word beside each row and above each column."""
    mesh = axes.pcolormesh(weights.numpy(), cmap=colours, vmin=0, vmax=most)
    words_on_top(axes, [place + 0.5 for place in range(len(columns))], columns)
    axes.set_yticks([place + 0.5 for place in range(len(rows))], rows, parse_math=False)
    axes.invert_yaxis()
    axes.set_aspect("equal")
    bar = axes.figure.colorbar(mesh, ax=axes, shrink=0.6, format="{x:.0%}")
    bar.ax.tick_params(labelsize=FONT_SIZE)


def words_on_top(axes: Any, places: Sequence[float], words: Sequence[str]) -> None:
    """Write words above the axes, turned so that long ones do not meet."""
    axes.set_xticks(places, words, rotation=60, ha="left", rotation_mode="anchor", parse_math=False)
    axes.xaxis.tick_top()


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
        width, height: in inches.

    Raises:
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
