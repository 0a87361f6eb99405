# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Figures as files: the style that all share, learning curves and tables. Needs matplotlib (extra `train`).

All letters have 12 points or more at the printed size, which is the size of the file in inches. A picture of `WIDTH`
that is shown 390 pixels wide, as on a telephone, has letters of 10 pixels or more; panels stand one below the other. A
caption, the title and the legend have strips of their own above and below the axes, so that none of them can cover
another.
"""

import math
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from hf_lecture_models.io.files import staged_file

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")
"""Paul Tol's "bright" scheme, whose colours differ for colour-blind eyes too."""
MARKERS = "os^vDP*X<>hp"
"""Markers of the first, second, ... row of a picture, which differ in print without colours too."""
DASHES = ("-", "--", "-.", ":")
HATCHES = ("", "//", "..", "\\\\", "xx", "++", "oo")
"""Patterns of the first, second, ... part of a bar, whose colours are the same grey in print."""
SEQUENTIAL = "YlGnBu"
"""ColorBrewer's yellow to blue, which darkens steadily and so keeps its order in grey."""
FONT_SIZE = 14
"""Points of a slide's letters, which can be read where the picture is shown at half its width."""
SMALL = 12
"""Points of the smallest letters of a picture: for many labels."""
WIDTH = 6.5
"""Inches of a picture whose contents do not ask for more."""
DOTS = 120
"""Pixels of an inch, in a picture of pixels."""

# Without these, two files of the same picture would differ.
_METADATA = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
# Of the fonts that a machine has, these draw scripts that matplotlib's own font lacks.
_OTHER_SCRIPTS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Hiragino Sans", "Microsoft YaHei", "WenQuanYi Zen Hei"),
    *("Noto Sans", "Noto Sans Arabic", "Noto Sans Devanagari", "Noto Sans Thai", "Arial Unicode MS", "Segoe UI Symbol"),
)
COLOUR_SCALE = "Colour: share of the row's largest weight"
"""For the captions of pictures that `draw_weights` draws."""
LONGEST = 3.0
"""Inches to which the labels of ticks are cut, which an ellipsis shows."""
_MOST_MARKED = 20  # points of a curve that get a marker
_LINE = 1.3 / 72  # inches of a line of one point
_MARGIN = 0.12  # inches at the edges of a slide
_MOST_LINES = 4  # of a caption
_LEAST_NUMBERED = 0.095  # of a weight, which then has two digits
_LIGHT = 1.5  # the sum of red, green and blue from which on black letters are read better than white ones
# The style is a setting of the whole process: only one figure may be drawn at a time.
_ONE_AT_A_TIME = threading.RLock()


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
    with _ONE_AT_A_TIME, rc_context(_style()):
        drawing = Figure(figsize=(width, height), layout="constrained")
        yield drawing.subplots(rows, panels)
        with staged_file(path) as stage:
            drawing.savefig(stage, dpi=DOTS, metadata=_METADATA.get(Path(path).suffix))


@cache
def _fonts() -> list[str]:
    """Return the names of the fonts: a letter is drawn by the first that has it."""
    from matplotlib.font_manager import fontManager

    there = set(fontManager.get_font_names())
    return ["DejaVu Sans", *(name for name in _OTHER_SCRIPTS if name in there)]


def _style() -> Any:
    from cycler import cycler

    sizes = ("font.size", "axes.titlesize", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
    return {
        **dict.fromkeys(sizes, FONT_SIZE),
        "font.family": _fonts(),
        "axes.prop_cycle": cycler(color=COLOURS),
        "axes.axisbelow": True,
        "grid.alpha": 0.3,
        **dict.fromkeys(("xtick.major.pad", "ytick.major.pad"), 5.0),
        "svg.hashsalt": "hf-lecture-models",
    }


def use_style() -> None:
    """Draw the figures that pyplot makes from now on in the style of this file, `WIDTH` wide: for notebooks."""
    from matplotlib import rcParams

    rcParams.update({**_style(), "figure.figsize": (WIDTH, 4.0), "figure.constrained_layout.use": True})


@contextmanager
def slide(
    path: str | os.PathLike[str],
    title: str,
    caption: str,
    width: float,
    height: float,
    panels: int = 1,
    rows: int = 1,
    legend: bool = False,
) -> Iterator[Any]:
    """Yield the axes of a `figure` for a slide, with a title above, a caption below, and letters of `FONT_SIZE`.

        with slide("map.svg", "layer 4, head 2", caption="BERT. Jack sleeps.", width=8.0, height=6.0) as axes:
            axes.plot([1, 2], [3, 4], color=COLOURS[0])

    Args:
        title: names what is shown.
        caption: names the model and the text; "": none. More than four lines of it are cut, which an ellipsis shows.
        height: in inches, of the axes with the labels of their ticks; title, legend and caption are added.
        legend: put all labels of all axes, each once, between the title and the axes.
    """
    with figure(path, width, height, panels, rows) as axes:
        yield axes
        finish_slide((axes if panels * rows == 1 else axes.flat[0]).figure, title, caption, legend)


def finish_slide(drawing: Any, title: str, caption: str, legend: bool = False) -> None:
    """Write title, legend and caption around the axes, and make the figure higher by their strips."""
    width, height = map(float, drawing.get_size_inches())
    above, below = (wrap(text, width - 2 * _MARGIN) for text in (title, caption))
    top = _MARGIN + len(above) * _LINE * FONT_SIZE
    room = add_legend(drawing, width) if legend else 0.0
    bottom = _MARGIN + len(below) * _LINE * FONT_SIZE
    height += top + room + bottom
    drawing.set_size_inches(width, height)
    drawing.get_layout_engine().set(rect=(0, bottom / height, 1, 1 - (top + room + bottom) / height))
    style: dict[str, Any] = {"ha": "center", "fontsize": FONT_SIZE, "parse_math": False, "linespacing": 1.2}
    drawing.text(0.5, 1 - 0.6 * _MARGIN / height, "\n".join(above), va="top", **style)
    drawing.text(0.5, 0.6 * _MARGIN / height, "\n".join(below), va="bottom", color="0.25", **style)
    for one in drawing.legends:
        one.set_bbox_to_anchor((0.5, 1 - top / height), transform=drawing.transFigure)


def add_legend(drawing: Any, width: float) -> float:
    """Give the figure a legend with the labels of all axes, each once, and return the inches that it takes."""
    handles: dict[str, Any] = {}
    for axes in drawing.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if not handles:
        return 0.0
    # In sizes of the font: the line of a label is 2 wide and 0.8 from it, columns are 2 apart, lines 0.5.
    letter = FONT_SIZE / 72
    labels = [shorten(label, width - 2 * _MARGIN - 5 * letter) for label in handles]
    column = max(map(text_width, labels)) + 4.8 * letter
    # The last column has no space after it.
    columns = max(1, min(len(labels), int((width - 2 * _MARGIN + 2 * letter) / column)))
    options: dict[str, Any] = {"ncols": columns, "frameon": False, "borderaxespad": 0.2, "fontsize": FONT_SIZE}
    legend = drawing.legend(handles.values(), labels, loc="upper center", **options)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return (1.55 * -(-len(labels) // columns) + 0.9) * letter


def text_width(text: str, size: float = FONT_SIZE, family: str | None = None, weight: str = "normal") -> float:
    """Return the inches of a line of text."""
    try:
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path
    except ImportError as error:
        raise ImportError("a picture needs matplotlib: pip install 'hf-lecture-models[train]'") from error
    font = FontProperties(family=family or _fonts(), size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72


def shorten(text: str, inches: float, size: float = FONT_SIZE) -> str:
    """Return the text, or as much of its beginning as fits, with an ellipsis.

    >>> shorten("the cat", 5.0), shorten("the cat", 0.4)
    ('the cat', 'th…')
    """
    if text_width(text, size) <= inches:
        return text
    fits = next((end for end in range(len(text) - 1, 0, -1) if text_width(text[:end] + "…", size) <= inches), 0)
    return text[:fits].rstrip() + "…"


def wrap(text: str, inches: float, size: float = FONT_SIZE, most: int = _MOST_LINES) -> list[str]:
    """Return the text in lines that fit; a word that is longer than a line is divided, and `most` lines are left.

    >>> wrap("the cat sat on the mat", 1.2)
    ['the cat sat', 'on the mat']
    """
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        if text_width(longer, size) <= inches:
            lines[-1] = longer
            continue
        lines += [""] if lines[-1] else []
        for letter in word:
            if lines[-1] and text_width(lines[-1] + letter, size) > inches:
                lines.append("")
            lines[-1] += letter
        if len(lines) > most:
            break
    if len(lines) > most:
        lines[most - 1 :] = [shorten(lines[most - 1], inches - text_width(" …", size), size).rstrip("…") + " …"]
    return lines if lines[0] else []


def draw_weights(
    axes: Any, weights: Any, rows: Sequence[str], columns: Sequence[str], colours: str, numbered: bool
) -> None:
    """Draw weights (rows, columns) as colours, with a word beside each row and above each column.

    A colour is the weight's share of the largest weight in its row, so that a row of small weights shows their order
    too; `COLOUR_SCALE` says so.

    Args:
        numbered: write weights of 9.5 % or more into their cells, in per cent; otherwise draw the bar of the colours.
    """
    rows, columns = ([shorten(word, LONGEST) for word in words] for words in (rows, columns))
    shares = (weights / weights.amax(1, keepdim=True).clamp(min=1e-9)).numpy()
    mesh = axes.pcolormesh(shares, cmap=colours, vmin=0, vmax=1)
    words_on_top(axes, [place + 0.5 for place in range(len(columns))], columns)
    axes.set_yticks([place + 0.5 for place in range(len(rows))], rows, parse_math=False)
    axes.invert_yaxis()
    if numbered:
        for row, column in (weights >= _LEAST_NUMBERED).nonzero().tolist():
            light = sum(mesh.cmap(mesh.norm(shares[row, column]))[:3]) > _LIGHT
            style = {"ha": "center", "va": "center", "fontsize": FONT_SIZE, "color": "black" if light else "white"}
            axes.text(column + 0.5, row + 0.5, f"{100 * float(weights[row, column]):.0f}", **style)
        return
    # Of the axes' width the bar takes as much as its labels need; the cells are squares by the size of the figure.
    width = axes.figure.get_size_inches()[0]
    axes.figure.colorbar(mesh, ax=axes, fraction=0.25 / width, pad=0.15 / width, aspect=14, format="{x:.0%}")


def label_room(labels: Iterable[str]) -> float:
    """Return the inches that labels of ticks take in the direction of their letters, at most `LONGEST`."""
    return min(LONGEST, max(map(text_width, labels), default=0.0))


def words_on_top(axes: Any, places: Sequence[float], words: Sequence[str]) -> None:
    """Write words above the axes, turned so that long ones do not meet."""
    axes.set_xticks(places, words, rotation=60, ha="left", rotation_mode="anchor", parse_math=False)
    axes.xaxis.tick_top()


def save_learning_curve(
    history: Sequence[Mapping[str, Any]],
    path: str | os.PathLike[str],
    width: float = WIDTH,
    height: float = 4.5,
    title: str = "learning curve",
) -> None:
    """Draw the training loss and the first measure of the validation against optimiser steps.

    A perplexity is drawn as its logarithm, which has the unit of a language model's loss, nats per token. Any other
    measure (accuracy, say) has an axis of its own.

        history = json.loads(Path("lstm/training.json").read_text())["history"]
        save_learning_curve(history, "learning_curve.png")

    Args:
        history: rows with `step` and either `loss` (of training) or measures named `validation_...`.
        width, height: in inches, without the strips of the title and the legend.

    Raises:
        ValueError: the history holds nothing to draw.
    """
    measure = next((key for row in history for key in row if key.startswith("validation_")), "")
    in_nats = measure == "validation_perplexity"
    training, validation = _curve(history, "loss", float), _curve(history, measure, math.log if in_nats else float)
    if not training and not validation:
        raise ValueError(f"nothing to draw in {path}: no row of the history holds loss or a measure of validation")
    name = f"validation {measure.removeprefix('validation_').replace('_', ' ')}"
    with slide(path, title, "", width, height, legend=True) as axes:
        other = axes if in_nats or not validation else axes.twinx()
        _draw_curve(axes, training, "training", "-", 0)
        _draw_curve(other, validation, "validation", "--", 1)
        if other is not axes:
            other.set_ylabel(name)
        axes.set_xlabel("optimiser steps")
        axes.set_ylabel("loss (nats per token)" if in_nats else "loss")
        axes.xaxis.get_major_locator().set_params(nbins=5, integer=True, min_n_ticks=1)
        axes.grid()


def _draw_curve(axes: Any, points: Sequence[tuple[float, float]], label: str, dash: str, number: int) -> None:
    if points:
        # A curve of few points is not to be seen without markers.
        marker = MARKERS[number] if number or len(points) <= _MOST_MARKED else None
        style = {"color": COLOURS[number], "marker": marker, "linestyle": dash, "label": label, "linewidth": 2}
        axes.plot(*zip(*points, strict=True), markevery=max(1, len(points) // _MOST_MARKED), **style)


def save_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    path: str | os.PathLike[str],
    title: str,
    left: int = 1,
    caption: str = "",
) -> None:
    """Draw a table of text cells as a picture; arguments and errors as in `save_learning_curve`.

        save_table(["model", "perplexity"], [["trigram", "120.1"], ["LSTM", "63.9"]], "table.png", title="WikiText-2")

    Args:
        left: number of columns that are aligned to the left; the others are aligned to the right.
        caption: below the table.
    """
    cells = [[shorten(cell, 4 * LONGEST) for cell in row] for row in (columns, *rows)]
    gap, line = 0.3, 0.33
    widths = [max(map(text_width, column)) + gap for column in zip(*cells, strict=True)]
    total = sum(widths)
    with slide(path, title, caption, max(4.0, total + 2 * _MARGIN), line * len(cells) + 0.1) as axes:
        axes.axis("off")
        axes.set_xlim(0, total)
        axes.set_ylim(len(cells), 0)
        axes.axhline(1, color="0.4", linewidth=1)
        for number, row in enumerate(cells):
            begin = 0.0
            for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
                place = begin + (gap / 2 if column < left else width - gap / 2)
                side = "left" if column < left else "right"
                # A word may hold dollar signs; they begin no formula.
                axes.text(place, number + 0.5, cell, ha=side, va="center", fontsize=FONT_SIZE, parse_math=False)
                begin += width


def _curve(history: Sequence[Mapping[str, Any]], key: str, unit: Any) -> list[tuple[float, float]]:
    # An infinite perplexity has no place on the axis.
    return [(row["step"], unit(row[key])) for row in history if key in row and math.isfinite(row[key])]
