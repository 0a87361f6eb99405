# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A picture of several language models: their results, and their time of training. Needs matplotlib (extra `train`)."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hf_lecture_models.analysis.figures import COLOURS, DASHES, MARKERS, WIDTH, slide

# A point that is this many times the quartiles' distance above the upper quartile is outside the picture.
_FAR = 3.0


def save_comparison(models: Sequence[Mapping[str, Any]], path: str | os.PathLike[str], title: str) -> None:
    """Draw test bits per byte against the time of training, and the learning curves below it.

    A curve's points that are far above all others (a first epoch, mostly) are outside the axes, and the caption says
    how many: they would press all other curves into one line.

        models = [
            {"title": "trigram", "seconds": 0.02, "bits_per_byte": 2.079, "curve": []},
            {"title": "LSTM", "seconds": 21.2, "bits_per_byte": 2.080, "curve": [(10.0, 2.31), (21.0, 2.1)]},
        ]
        save_comparison(models, "comparison.png", title="Python's language reference")

    Args:
        models: rows with `title`, `seconds` of training, `bits_per_byte` of the test text, and `curve`: pairs of
            seconds and validation bits per byte; [] for a model that is not trained in steps.
        title: above both panels.
    """
    highest, hidden = highest_shown([bits for model in models for _, bits in model["curve"]])
    learns = any(model["curve"] for model in models)
    caption = f"{'above: ' if learns else ''}bits per byte of the test text"
    caption += "; below: of the validation text, as the networks learn" if learns else ""
    if hidden:
        caption += f"; {hidden} point{'s' if hidden > 1 else ''} above {highest:.2f} not shown"
    with slide(path, title, caption, WIDTH, 8.0 if learns else 4.2, rows=1 + learns, legend=True) as panels:
        reached, curves = panels if learns else (panels, panels)
        for number, model in enumerate(models):
            style = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
            label = f"{model['title']}: {model['bits_per_byte']:.3f}"
            # Equal results stay visible under each other: the later a model, the smaller its marker.
            size, place = max(6, 11 - number), ([model["seconds"]], [model["bits_per_byte"]])
            reached.plot(*place, linestyle="", markersize=size, label=label, **style)
            if model["curve"]:
                dash = DASHES[number % len(DASHES)]
                curves.plot(*zip(*model["curve"], strict=True), linestyle=dash, markersize=5, **style)
        if hidden:
            curves.set_ylim(top=highest)
        reached.set_xscale("log")
        for axes in (reached, curves):
            axes.set_ylabel("bits per byte (lower is better)")
            axes.set_xlabel("seconds of training")
            axes.grid()


def highest_shown(values: Sequence[float]) -> tuple[float, int]:
    """Return the upper end of an axis that far points do not stretch, and the number of points above it.

    >>> highest_shown([2.0, 2.1, 2.2, 2.3, 9.0])
    (2.315, 1)
    >>> highest_shown([2.0, 2.5])
    (2.525, 0)
    """
    if not len(values):
        return 1.0, 0
    array = np.asarray(values, float)
    low, high = np.quantile(array, [0.25, 0.75])
    kept = array[array <= high + _FAR * (high - low)]
    top = float(kept.max() + 0.05 * (kept.max() - kept.min()))
    return round(top, 3), int((array > top).sum())
