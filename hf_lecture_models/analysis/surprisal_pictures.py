# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A picture of one text under several models: the surprisal of each word. Needs matplotlib (extra `train`)."""

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from hf_lecture_models.analysis.figures import (
    FONT_SIZE,
    LONGEST,
    SEQUENTIAL,
    WIDTH,
    label_room,
    shorten,
    slide,
    words_on_top,
)

_MOST_WORDS = 30
# The surprisal of a word in a million; cells with more bits are equally dark.
_DARKEST = 20.0


def save_surprisal(
    words: Sequence[str], bits: Mapping[str, Sequence[float]], path: str | os.PathLike[str], caption: str
) -> None:
    """Draw a table with a row for each word, a column for each model, darker with more bits, and the sums.

        save_surprisal(["the", "cat", "end"], {"bigram": [2.0, 5.5, 1.0]}, "surprisal.svg", caption="...")

    Args:
        words: in their order, with the end of the text.
        bits: -log2 P of each word, by the model's name; NaN without a probability.
        caption: names the text.

    Raises:
        ValueError: there are more than 30 words, or none.
    """
    if not 0 < len(words) <= _MOST_WORDS or not bits:
        raise ValueError(
            f"a picture of {len(bits)} models and {len(words)} words cannot be read; give up to {_MOST_WORDS} words"
        )
    import matplotlib

    colours = matplotlib.colormaps[SEQUENTIAL]
    room = label_room(bits)
    width = 0.72 * len(bits) + label_room(words) + 0.4 + 0.6 * room
    height = 0.42 * (len(words) + 1.2) + 0.9 * room + 0.2
    with slide(path, "Surprisal of each word in bits (−log₂ P)", caption, max(WIDTH, width), height) as axes:
        for column, values in enumerate(bits.values()):
            for row, value in enumerate(values):
                known = not math.isnan(value)
                shade = min(value, _DARKEST) / _DARKEST if known else 0.0
                face = colours(shade) if known else (1.0, 1.0, 1.0)
                axes.add_patch(matplotlib.patches.Rectangle((column, row), 1, 1, facecolor=face, edgecolor="white"))
                _write(axes, column + 0.5, row, value, "white" if shade > 0.55 else "black")
            _write(axes, column + 0.5, len(words) + 0.2, math.fsum(v for v in values if not math.isnan(v)), "black")
        axes.set_xlim(0, len(bits))
        axes.set_ylim(len(words) + 1.2, 0)
        places = [*(place + 0.5 for place in range(len(words))), len(words) + 0.7]
        axes.set_yticks(places, [*(shorten(word, LONGEST) for word in words), "sum"], parse_math=False)
        words_on_top(axes, [place + 0.5 for place in range(len(bits))], [shorten(name, LONGEST) for name in bits])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)


def _write(axes: Any, x: float, row: float, value: float, colour: str) -> None:
    text = "–" if math.isnan(value) else "∞" if math.isinf(value) else f"{abs(value):.1f}"
    axes.text(x, row + 0.5, text, ha="center", va="center", fontsize=FONT_SIZE, color=colour)
