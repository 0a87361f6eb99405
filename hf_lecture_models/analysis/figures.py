# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Figures as files. Needs matplotlib (extra `train`)."""

import os
from collections.abc import Iterator, Sequence
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
