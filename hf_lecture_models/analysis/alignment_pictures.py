# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Source against target: a picture of which word of the source each word of the target attended to.

As figure 3 of Bahdanau et al. 2015: the source's words stand in columns, the target's in rows, and the lighter a cell,
the greater the weight; black is 0 and white is 1.
"""

import os
from collections.abc import Sequence

from torch import Tensor

from hf_lecture_models.analysis.figures import FONT_SIZE, slide

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
        path: .svg, .pdf or .png; written beside and renamed.
        title: which weights they are.
        caption: of which model.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: one of the sides has more than 40 words.
    """
    rows, columns = weights.shape
    if max(rows, columns) > _MOST_WORDS:
        raise ValueError(f"a picture of {rows} against {columns} words cannot be read; give a shorter text")
    caption = f"{caption}: {' '.join(source)} → {' '.join(target)}"
    with slide(path, f"Alignment, {title}", caption, max(6.0, 0.55 * columns + 2.8), 0.55 * rows + 1.6) as axes:
        mesh = axes.pcolormesh(weights.numpy(), cmap="gray", vmin=0, vmax=1)
        places = [place + 0.5 for place in range(max(rows, columns))]
        axes.set_xticks(places[:columns], source, rotation=60, ha="left", rotation_mode="anchor", parse_math=False)
        axes.set_yticks(places[:rows], target, parse_math=False)
        axes.xaxis.tick_top()
        axes.invert_yaxis()
        axes.set_aspect("equal")
        bar = axes.figure.colorbar(mesh, ax=axes, shrink=0.6, format="{x:.0%}")
        bar.ax.tick_params(labelsize=FONT_SIZE)
