# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Nearest neighbours as pictures: the slide's table, and a map of the words. Needs matplotlib (extra `train`)."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.analysis.figures import (
    COLOURS,
    MARKERS,
    SMALL,
    WIDTH,
    figure,
    finish_slide,
    save_table,
    shorten,
    text_width,
)
from hf_lecture_models.analysis.neighbours import WordNeighbours, embedding_table, neighbour_rows, shown

# Places of a label's near end beside its point, in points of the page, the nearest first.
_AROUND = ((7, 0), (-7, 0), (6, 9), (-6, 9), (6, -9), (-6, -9), (0, 11), (0, -11))
_PLACES = [(float(x * r), float(y * r)) for r in (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18) for x, y in _AROUND]
_FAR = 16.0  # points of the page, from which on a line joins a label and its point
_LONGEST = 2.0  # inches of a label
_SPACE = 0.3 * SMALL  # points of the page between labels side by side
_OUTSIDE = 1e6  # the cost of a label outside the axes, which is worse than any overlap
Box = tuple[float, float, float, float]


def save_neighbours(
    results: Sequence[WordNeighbours] | Mapping[str, Sequence[WordNeighbours]],
    path: str | os.PathLike[str],
    title: str = "nearest neighbours",
    similarities: bool = False,
) -> None:
    """Draw the table of `neighbour_rows` as a picture (.png, .svg or .pdf).

        save_neighbours(nearest_neighbours(model, tokenizer, ["is", "has"], k=3), "neighbours.png")

    Raises:
        ValueError: as `neighbour_rows`.
    """
    columns, rows = neighbour_rows(results, similarities)
    save_table(columns, rows, path, title, left=len(columns))


def save_neighbour_map(
    model_or_embeddings: nn.Module | Tensor,
    results: Sequence[WordNeighbours],
    path: str | os.PathLike[str],
    which: str = "input",
    metric: str = "cosine",
    title: str = "words and their nearest neighbours",
) -> None:
    """Draw words and their neighbours on the plane of their two principal components.

        save_neighbour_map(model, nearest_neighbours(model, tokenizer, ["is", "has"]), "map.png")

    Args:
        model_or_embeddings, which, metric: as given to `nearest_neighbours`; for the cosine, vectors of length 1 are
            drawn.
        results: what `nearest_neighbours` returned. A word and its neighbours share a colour, and lines join them.

    Raises:
        ValueError: no results, or no such embeddings.
    """
    if not results:
        raise ValueError(f"nothing to draw in {path}: results is empty; give the neighbours of one word at least")
    dots = _dots(results)
    table = embedding_table(model_or_embeddings, which)
    vectors = torch.stack([table[list(ids)].to("cpu", torch.float64).mean(0) for ids in dots])
    points, shares = principal_components(nn.functional.normalize(vectors) if metric == "cosine" else vectors)
    places = dict(zip(dots, points.tolist(), strict=True))
    measure = "vectors of length 1" if metric == "cosine" else "vectors"
    caption = f"{which} {measure} on two principal components; large, bold: words that were asked for"
    with figure(path, WIDTH, height=8.0) as axes:
        axes.set_xlabel(f"first principal component ({shares[0]:.0%} of the variance)")
        axes.set_ylabel(f"second principal component ({shares[1]:.0%} of the variance)")
        axes.margins(x=0.15, y=0.08)
        for found in results:
            for near in found.neighbours:
                ends = zip(places[found.ids], places[(near.id,)], strict=True)
                axes.plot(*ends, color=dots[found.ids].colour, linewidth=0.5, alpha=0.5)
        for ids, dot in dots.items():
            axes.plot(*places[ids], dot.marker, color=dot.colour, markersize=9 if dot.asked else 5)
        finish_slide(axes.figure, title, caption)
        _write_labels(axes, places, dots)


@dataclass(frozen=True)
class _Dot:
    label: str
    colour: str
    marker: str
    asked: bool


def _dots(results: Sequence[WordNeighbours]) -> dict[tuple[int, ...], _Dot]:
    """Return the dot of each word and neighbour, by ids; a neighbour of two words has the first word's colour."""
    dots = {}
    for i, found in enumerate(results):
        look = (COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)])
        dots[found.ids] = _Dot(shorten(shown(found.word), _LONGEST, SMALL), *look, asked=True)
    for found in results:
        one = dots[found.ids]
        for near in found.neighbours:
            label = shorten(shown(near.word), _LONGEST, SMALL)
            dots.setdefault((near.id,), _Dot(label, one.colour, one.marker, asked=False))
    return dots


def _write_labels(axes: Any, places: dict[tuple[int, ...], list[float]], dots: dict[tuple[int, ...], _Dot]) -> None:
    # The places on the page are known once the axes have theirs.
    axes.figure.draw_without_rendering()
    axes.figure.set_layout_engine("none")
    points = 72 / axes.figure.dpi
    on_page = (axes.transData.transform(list(places.values())) * points).tolist()
    inside = axes.get_window_extent().extents * points
    weights = ["bold" if dot.asked else "normal" for dot in dots.values()]
    widths = [72 * text_width(d.label, SMALL, weight=w) for d, w in zip(dots.values(), weights, strict=True)]
    offsets = free_places(on_page, widths, tuple(inside))
    line: dict[str, Any] = {"arrowstyle": "-", "linewidth": 0.8, "shrinkA": 1, "shrinkB": 2}
    for (ids, dot), offset in zip(dots.items(), offsets, strict=True):
        if math.hypot(*offset) > _FAR:
            arrow = line | {"color": dot.colour}
            axes.annotate("", places[ids], offset, textcoords="offset points", arrowprops=arrow)
    # All labels are above all lines, which they interrupt.
    ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
    for (ids, dot), (x, y), weight in zip(dots.items(), offsets, weights, strict=True):
        axes.annotate(
            dot.label,
            places[ids],
            (x, y),
            textcoords="offset points",
            ha="left" if x > 0 else "right" if x < 0 else "center",
            va="center",
            fontsize=SMALL,
            fontweight=weight,
            color="black",
            parse_math=False,
            bbox=ground,
        )


def free_places(
    points: Sequence[Sequence[float]], widths: Sequence[float], inside: Box | None = None
) -> list[tuple[float, float]]:
    """Return a place for each label: the nearest that covers no point and no earlier label, or the least covered.

    Args:
        points: (labels, 2), the labelled points in points of the page.
        widths: of the labels, in points of the page.
        inside: left, lower, right and upper end of the area in which labels should be.

    Returns:
        Each label's distance from its point; a label right of its point begins there, one left of it ends there.
    """
    taken: list[Box] = [(x - 2, y - 2, x + 2, y + 2) for x, y in points]
    chosen = []
    for point, width in zip(points, widths, strict=True):
        boxes = [_box(point, place, width) for place in _PLACES]
        covered = [sum(_overlap(box, other) for other in taken) for box in boxes]
        if inside is not None:
            covered = [own + _outside(box, inside) for own, box in zip(covered, boxes, strict=True)]
        best = covered.index(min(covered))
        taken.append(boxes[best])
        chosen.append(_PLACES[best])
    return chosen


def _box(point: Sequence[float], place: tuple[float, float], width: float) -> Box:
    # A line is 1.2 times as high as its letters, and a space follows a label.
    width += _SPACE
    height, (x, y) = 1.2 * SMALL, (point[0] + place[0], point[1] + place[1])
    left = x if place[0] > 0 else x - width if place[0] < 0 else x - width / 2
    return left, y - height / 2, left + width, y + height / 2


def _outside(box: Box, area: Box) -> float:
    fits = area[0] <= box[0] and area[1] <= box[1] and box[2] <= area[2] and box[3] <= area[3]
    return 0.0 if fits else _OUTSIDE


def _overlap(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return width * height if width > 0 and height > 0 else 0.0


def principal_components(vectors: Tensor) -> tuple[Tensor, list[float]]:
    """Return coordinates on the two axes of greatest variance, (vectors, 2), and each axis's share of the variance.

    The sign of an axis, which is free, makes its greatest coordinate positive.

    >>> points, shares = principal_components(torch.tensor([[4.0, 0], [-4.0, 0], [0, 0]], dtype=torch.float64))
    >>> sorted(points[:, 0].round().tolist()), [round(share, 6) for share in shares]
    ([-4.0, 0.0, 4.0], [1.0, 0.0])
    """
    centred = vectors - vectors.mean(0)
    left, lengths, _ = torch.linalg.svd(centred, full_matrices=False)
    points = vectors.new_zeros(len(vectors), 2)
    number = min(2, len(lengths))
    points[:, :number] = left[:, :number] * lengths[:number]
    greatest = points.gather(0, points.abs().argmax(0, keepdim=True))
    variance = torch.zeros(2, dtype=vectors.dtype)
    variance[:number] = lengths[:number] ** 2
    return points * torch.where(greatest < 0, -1.0, 1.0), (variance / (lengths**2).sum().clamp(min=1e-300)).tolist()
