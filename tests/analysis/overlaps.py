# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The faults of a drawn picture: texts that cover each other, are cut by the edge, or are too small."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

SLACK = 1.0  # pixels by which measured boxes, which have a little air, may touch


def faults(drawing: Any) -> list[str]:
    """Return the faults of a figure, as lines that name the texts; [] for a good picture.

    A text box is the smallest rectangle around a text, turned with it. A legend counts as one box against all others.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(drawing)
    canvas.draw()
    renderer = canvas.get_renderer()
    legends = [*drawing.legends, *(axes.get_legend() for axes in drawing.axes if axes.get_legend())]
    inside = {id(text): legend for legend in legends for text in legend.get_texts()}
    texts = _visible(drawing, renderer)
    boxes = [(text.get_text(), corners(text, renderer), inside.get(id(text))) for text in texts]
    boxes += [("LEGEND", _rectangle(one.get_window_extent(renderer)), one) for one in legends]
    small = [f"{t.get_text()!r} has {t.get_fontsize():g} points" for t in texts if t.get_fontsize() < 12]
    width, height = canvas.get_width_height()
    cut = [
        f"{name!r} is cut"
        for name, box, _ in boxes
        if (box < -SLACK).any() or (box[:, 0] > width + SLACK).any() or (box[:, 1] > height + SLACK).any()
    ]
    covered = [
        f"{one!r} covers {other!r}"
        for (one, a, legend), (other, b, another) in combinations(boxes, 2)
        if (legend is None or legend is not another or "LEGEND" not in (one, other)) and overlap(a, b)
    ]
    return small + cut + covered


def corners(text: Any, renderer: Any) -> np.ndarray:
    """Return the four corners (4, 2) of a text, in pixels, turned as it is."""
    turned = text.get_rotation()
    middle = np.mean(_rectangle(_extent(text, renderer)), axis=0)
    text.set_rotation(0)
    box = _rectangle(_extent(text, renderer))
    text.set_rotation(turned)
    angle = np.deg2rad(turned)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return (box - box.mean(0)) @ turn + middle


def _extent(text: Any, renderer: Any) -> Any:
    from matplotlib.text import Text

    return Text.get_window_extent(text, renderer)  # an annotation's own includes its line


def overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Return True if two rectangles share more than their edges: no line along a side separates them."""
    for box in (a, b):
        for side in (box[1] - box[0], box[2] - box[1]):
            if not (length := np.hypot(*side)):
                return False
            one, other = a @ side / length, b @ side / length
            if one.max() <= other.min() + SLACK or other.max() <= one.min() + SLACK:
                return False
    return True


def _rectangle(box: Any) -> np.ndarray:
    return np.array([[box.x0, box.y0], [box.x1, box.y0], [box.x1, box.y1], [box.x0, box.y1]])


def _visible(drawing: Any, renderer: Any) -> list[Any]:
    """Return the texts that are drawn; ticks outside of their axes are not."""
    from matplotlib.axis import Axis
    from matplotlib.text import Text

    left_out = set()
    for axis in drawing.findobj(Axis):
        drawn = axis._update_ticks() if axis.axes.get_visible() and axis.axes.axison and axis.get_visible() else []
        labels = {id(label) for tick in drawn for label in (tick.label1, tick.label2)}
        ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        left_out |= {id(label) for tick in ticks for label in (tick.label1, tick.label2)} - labels
        left_out |= set() if drawn or axis.axes.axison else {id(axis.label)}
    found = drawing.findobj(Text)
    return [t for t in dict.fromkeys(found) if t.get_visible() and t.get_text().strip() and id(t) not in left_out]
