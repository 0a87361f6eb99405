# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A picture of the source's words to which each word of the target attended, as in figure 3 of Bahdanau et al. 2015.

Columns are the source's words, rows the target's. The lighter a cell, the greater the weight: black is 0, white is 1.
"""

import os
from collections.abc import Sequence

from torch import Tensor

from hf_lecture_models.analysis.figures import draw_weights, slide

_MOST_WORDS = 40


def save_alignment(
    source: Sequence[str],
    target: Sequence[str],
    weights: Tensor,
    path: str | os.PathLike[str],
    title: str,
    caption: str,
) -> None:
    """Draw the weights of `evaluation.alignment`: rows are the target's words.

        save_alignment(found.source, found.target, found.of(), "map.svg", found.which(), caption="small_gru")

    Args:
        weights: (target words, source words), from 0 to 1.
        title: names the weights.
        caption: names the model.

    Raises:
        ValueError: one of the sides has more than 40 words.
    """
    rows, columns = weights.shape
    if max(rows, columns) > _MOST_WORDS:
        raise ValueError(f"a picture of {rows} against {columns} words cannot be read; give a shorter text")
    caption = f"{caption}: {' '.join(source)} → {' '.join(target)}"
    with slide(path, f"Alignment, {title}", caption, max(6.0, 0.55 * columns + 2.8), 0.55 * rows + 1.6) as axes:
        draw_weights(axes, weights, target, source, "gray", 1.0)
