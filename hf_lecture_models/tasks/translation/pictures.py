# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pictures of the source's words, or the image's patches, to which each word of the target attended.

Of words, as in figure 3 of Bahdanau et al. 2015: columns are the source's words, rows the target's. The lighter a cell,
the greater the weight: black is 0, white is the largest weight of the row; in the paper, white is 1. Of patches, as in
figure 3 of Xu et al. 2015: an image for each word.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from hf_lecture_models.analysis.figures import COLOUR_SCALE, FONT_SIZE, WIDTH, draw_weights, label_room, shorten, slide

_MOST_WORDS = 40
_MOST_NUMBERED = 20


def save_alignment(
    source: Sequence[str],
    target: Sequence[str],
    weights: Tensor,
    path: str | os.PathLike[str],
    title: str,
    caption: str,
) -> None:
    """Draw the weights of `tasks.translation.alignment`: rows are the target's words.

    With 20 words or fewer on each side, a cell has its weight in per cent; else a bar explains the colours.

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
    numbered = max(rows, columns) <= _MOST_NUMBERED
    caption = f"{COLOUR_SCALE}. {caption}: {' '.join(source)} → {' '.join(target)}"
    width = max(5.0, 0.4 * columns + (0.5 if numbered else 1.4) + label_room(target) + 0.5 * label_room(source))
    with slide(path, f"Alignment in %, {title}", caption, width, 0.4 * rows + 0.3 + 0.9 * label_room(source)) as axes:
        draw_weights(axes, weights, target, source, "gray", numbered)


def save_patch_alignment(
    image: Any, words: Sequence[str], weights: Tensor, path: str | os.PathLike[str], title: str, caption: str
) -> None:
    """Draw an image once for each word of its caption, brighter where the word attends to a patch.

    The most attended patch of each word keeps its brightness, and a patch without weight is black, as in figure 3 of Xu
    et al. 2015. The number above a picture is the largest weight of the word's patches.

    Args:
        image: a Pillow image.
        words: of the caption.
        weights: (words, patches), row by row of a square; they add up to one for each word.
        title: names the weights.
        caption: names the model.

    Raises:
        ValueError: the caption has more than 40 words.
    """
    if len(words) > _MOST_WORDS:
        raise ValueError(f"a picture of {len(words)} words cannot be read; give a shorter caption")
    side, columns = round(weights.shape[1] ** 0.5), min(4, len(words))
    grids, pixels = weights.unflatten(1, (side, side)).numpy(), np.asarray(image.convert("RGB"))
    rows = -(-len(words) // columns)
    caption = f"{caption}: {' '.join(words)}"
    width = max(4.0, WIDTH / 4 * columns)
    with slide(path, title, caption, width, 2.3 * rows, columns, rows) as grid:
        axes = grid.flatten() if hasattr(grid, "flatten") else [grid]
        for one in axes:
            one.axis("off")
        for one, word, own in zip(axes, words, grids, strict=False):
            one.imshow(pixels)
            high, wide = pixels.shape[:2]
            shade = 1 - own / max(float(own.max()), 1e-9)
            bounds = (-0.5, wide - 0.5, high - 0.5, -0.5)
            one.imshow(shade * 0, cmap="gray", vmin=0, vmax=1, alpha=0.85 * shade, extent=bounds)
            one.set_title(
                f"{shorten(word, 0.9 * width / columns)}\n{own.max():.0%}", fontsize=FONT_SIZE, parse_math=False
            )
