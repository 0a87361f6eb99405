# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The confusion matrix of a classifier as a picture."""

import os
from collections.abc import Mapping
from typing import Any

from hf_lecture_models.analysis.figures import LONGEST, SEQUENTIAL, SMALL, label_room, shorten, slide, text_width

_MOST_WRITTEN = 20  # classes, up to which the numbers stand in the cells


def save_confusion_matrix(
    classes: Mapping[str, Mapping[str, Any]], path: str | os.PathLike[str], title: str, caption: str
) -> None:
    """Draw how often the rows of each class were taken for each class; colours are shares of a class's rows.

        save_confusion_matrix(measures["classes"], "confusion.svg", title="sst3", caption="bag of words")

    Args:
        classes: as a classification task measures them: for each class by its name the counts `predicted`.
        title, caption: as of `slide`.
    """
    names = list(classes)
    counts = [[own["predicted"][name] for name in names] for own in classes.values()]
    shares = [[count / max(1, sum(row)) for count in row] for row in counts]
    written = len(names) <= _MOST_WRITTEN
    numbers = [f"{count:,}" for row in counts for count in row] if written else []
    cell = max(0.32, *(text_width(number, SMALL) + 0.1 for number in numbers)) if numbers else 0.32
    side, room = max(2.0, cell * len(names)), label_room(names)
    labels = [shorten(name, LONGEST) for name in names]
    with slide(path, title, caption, width=side + 1.2 + 1.5 * room, height=side + 1.2 + 0.8 * room) as axes:
        axes.imshow(shares, cmap=SEQUENTIAL, vmin=0.0, vmax=1.0)
        axes.set_xticks(range(len(names)), labels, rotation=60, ha="right", rotation_mode="anchor", parse_math=False)
        axes.set_yticks(range(len(names)), labels, parse_math=False)
        axes.set_xlabel("predicted class")
        axes.set_ylabel("right class")
        for row, own in enumerate(counts) if written else ():
            for column, count in enumerate(own):
                colour = "white" if shares[row][column] > 0.6 else "black"
                axes.text(column, row, f"{count:,}", ha="center", va="center", color=colour, fontsize=SMALL)
