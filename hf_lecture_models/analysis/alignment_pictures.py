# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Source against target: a picture of which word of the source each word of the target attended to.

As figure 3 of Bahdanau et al. 2015: the source's words stand in columns, the target's in rows, and the lighter a cell,
the greater the weight; black is 0 and white is 1.
"""

import os

from hf_lecture_models.analysis.figures import FONT_SIZE, slide
from hf_lecture_models.evaluation.alignment import Alignment

_MOST_WORDS = 40


def which_cross_attention(alignment: Alignment, layer: int | None = None, head: int | None = None) -> str:
    """What `alignment.of(layer, head)` is, in words.

    Raises:
        ValueError: there is no such layer or head.
    """
    alignment.of(layer, head)
    if layer is not None and head is not None:
        return f"layer {layer}, head {head}"
    heads = sum(map(len, alignment.layers)) if layer is None else len(alignment.layers[layer - 1])
    mean = "one head" if heads == 1 else f"mean over {heads} heads"
    return mean + ("" if layer is None else f" of layer {layer}")


def save_alignment(
    alignment: Alignment,
    path: str | os.PathLike[str],
    model_name: str,
    layer: int | None = None,
    head: int | None = None,
) -> None:
    """Draw the weights of one head, or a mean, as in `Alignment.of`.

    Args:
        path: .svg, .pdf or .png; written beside and renamed.
        model_name: for the caption.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: there is no such layer or head, or one of the sides has more than 40 words.
    """
    weights, title = alignment.of(layer, head), f"Alignment, {which_cross_attention(alignment, layer, head)}"
    rows, columns = weights.shape
    if max(rows, columns) > _MOST_WORDS:
        raise ValueError(f"a picture of {rows} against {columns} words cannot be read; give a shorter text")
    caption = f"{model_name}: {' '.join(alignment.source)} → {' '.join(alignment.target)}"
    with slide(path, title, caption, max(6.0, 0.55 * columns + 2.8), 0.55 * rows + 1.6) as axes:
        mesh = axes.pcolormesh(weights.numpy(), cmap="gray", vmin=0, vmax=1)
        places = [place + 0.5 for place in range(max(rows, columns))]
        axes.set_xticks(
            places[:columns], alignment.source, rotation=60, ha="left", rotation_mode="anchor", parse_math=False
        )
        axes.set_yticks(places[:rows], alignment.target, parse_math=False)
        axes.xaxis.tick_top()
        axes.invert_yaxis()
        axes.set_aspect("equal")
        bar = axes.figure.colorbar(mesh, ax=axes, shrink=0.6, format="{x:.0%}")
        bar.ax.tick_params(labelsize=FONT_SIZE)
