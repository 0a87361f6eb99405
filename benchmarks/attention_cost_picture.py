# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The picture of `attention_cost`: seconds and MiB by length, on logarithmic axes. Needs matplotlib (extra `train`)."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_lecture_models.analysis.figures import COLOURS, FONT_SIZE, WIDTH, slide

Row = dict[str, dict[str, float]]
"""The "seconds" and "MiB" of a layer or model, by length."""

HEIGHT = 4.6
BLACK, (BLUE, RED, GREEN, YELLOW, CYAN, PURPLE, GREY) = "black", COLOURS
STYLES = {
    "dense, eager": (BLACK, "-"),
    "dense, sdpa": (BLACK, "--"),
    "hashing": (PURPLE, "-"),
    "hashing, both sides": (PURPLE, "--"),
    "hierarchical": (GREEN, "-"),
    "local": (BLUE, "-"),
    "random": (BLUE, "--"),
    "linear": (RED, "-"),
    "performer": (RED, "--"),
    "low rank, both sides": (YELLOW, "-"),
    "LSTM": (GREY, "-"),
    "Transformer-XL": (CYAN, "-"),
}
"""Colour and line of each row that is drawn; kinds of one idea have one colour."""


def column(row: Row, what: str) -> dict[int, float]:
    """Return the "seconds" or the "MiB" of a row, by length."""
    return {int(length): figures[what] for length, figures in row.items()}


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Return places that are at least `gap` apart, in the same order, each group of near ones around its mean.

    >>> spread([0.0, 3.0, 0.0], gap=1.0)
    [-0.5, 3.0, 0.5]
    """
    groups: list[list[int]] = []

    def start(group: list[int]) -> float:
        return sum(places[number] for number in group) / len(group) - gap * (len(group) - 1) / 2

    for number in sorted(range(len(places)), key=places.__getitem__):
        groups.append([number])
        while len(groups) > 1 and start(groups[-1]) < start(groups[-2]) + gap * len(groups[-2]):
            groups[-2:] = [groups[-2] + groups[-1]]
    moved = {number: start(group) + gap * rank for group in groups for rank, number in enumerate(group)}
    return [moved[number] for number in range(len(places))]


def draw_panel(axes: Any, rows: Mapping[str, Row], what: str) -> None:
    """Draw a line for each row, with its name at the end."""
    lines = {name: column(rows[name], what) for name in STYLES if rows.get(name)}
    for name, line in lines.items():
        colour, style = STYLES[name]
        axes.plot(list(line), list(line.values()), style, color=colour, linewidth=2)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sorted({length for line in lines.values() for length in line})[::3]
    axes.set_xticks(ticks, [f"{length:,}" for length in ticks])
    axes.set_xlabel("tokens")
    axes.set_title(what, fontsize=FONT_SIZE)
    axes.grid(alpha=0.3)
    low, high = map(math.log10, axes.get_ylim())
    ends = [(max(line), line[max(line)]) for line in lines.values()]
    # A label is as high as 1.15 letters, and the axes take about 0.75 of the height.
    gap = (high - low) * 1.15 * FONT_SIZE / (72 * 0.75 * HEIGHT)
    for name, end, place in zip(lines, ends, spread([math.log10(value) for _, value in ends], gap), strict=True):
        colour, style = STYLES[name]
        axes.annotate(
            name.replace(", both sides", "*"),
            end,
            (1.12, 10**place),
            textcoords=axes.get_yaxis_transform(),
            arrowprops={"color": colour, "linestyle": style, "arrowstyle": "-", "relpos": (0, 0.5), "shrinkA": 1},
            fontsize=FONT_SIZE,
            va="center",
        )


def save_picture(rows: Mapping[str, Row], path: Path) -> None:
    """Draw seconds and MiB of a layer's training against the length, from the record."""
    caption = "*: both sides; forward and backward pass, 4 heads of 64, one CPU thread"
    with slide(path, "Cost of one attention layer", caption, WIDTH, 2 * HEIGHT, rows=2) as panels:
        for axes, what in zip(panels, ("seconds", "MiB"), strict=True):
            draw_panel(axes, rows, what)
