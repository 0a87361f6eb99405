# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Nearest neighbours as pictures: the slide's table, and a map of the words. Needs matplotlib (extra `train`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.analysis.figures import figure, save_table
from hf_lecture_models.analysis.neighbours import WordNeighbours, embedding_table, neighbour_rows, shown

_FONT_SIZE = 8
# Places of a label's near end beside its point, in points of the page, the nearest first.
_AROUND = ((6, 0), (-6, 0), (5, 7), (-5, 7), (5, -7), (-5, -7), (0, 9), (0, -9))
_PLACES = [(float(x * r), float(y * r)) for r in (1, 2, 3, 4, 6) for x, y in _AROUND]
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
    with figure(path, width=9.0, height=7.0) as axes:
        axes.set_title(title, fontsize=10, parse_math=False)
        axes.set_xlabel(f"first principal component ({shares[0]:.0%} of the variance)")
        axes.set_ylabel(f"second principal component ({shares[1]:.0%} of the variance)")
        axes.margins(x=0.15, y=0.08)
        for found in results:
            for near in found.neighbours:
                ends = zip(places[found.ids], places[(near.id,)], strict=True)
                axes.plot(*ends, color=dots[found.ids].colour, linewidth=0.5, alpha=0.4)
        for ids, dot in dots.items():
            axes.plot(*places[ids], "o", color=dot.colour, markersize=7 if dot.asked else 3)
        _write_labels(axes, places, dots)


@dataclass(frozen=True)
class _Dot:
    label: str
    colour: str
    asked: bool


def _dots(results: Sequence[WordNeighbours]) -> dict[tuple[int, ...], _Dot]:
    """Return the dot of each word and neighbour, by ids; a neighbour of two words has the first word's colour."""
    dots = {found.ids: _Dot(shown(found.word), f"C{i % 10}", asked=True) for i, found in enumerate(results)}
    for found in results:
        for near in found.neighbours:
            dots.setdefault((near.id,), _Dot(shown(near.word), dots[found.ids].colour, asked=False))
    return dots


def _write_labels(axes: Any, places: dict[tuple[int, ...], list[float]], dots: dict[tuple[int, ...], _Dot]) -> None:
    on_page = axes.transData.transform(list(places.values())) * 72 / axes.figure.dpi
    offsets = free_places(on_page.tolist(), [dot.label for dot in dots.values()])
    for (ids, dot), (x, y) in zip(dots.items(), offsets, strict=True):
        axes.annotate(
            dot.label,
            places[ids],
            (x, y),
            textcoords="offset points",
            ha="left" if x > 0 else "right" if x < 0 else "center",
            va="center",
            fontsize=_FONT_SIZE,
            fontweight="bold" if dot.asked else "normal",
            color=dot.colour,
            parse_math=False,
        )


def free_places(points: Sequence[Sequence[float]], texts: Sequence[str]) -> list[tuple[float, float]]:
    """Return a place for each label: the nearest that covers no point and no earlier label, or the least covered.

    Args:
        points: (labels, 2), the labelled points in points of the page.
        texts: the labels.

    Returns:
        Each label's distance from its point; a label right of its point begins there, one left of it ends there.
    """
    taken: list[Box] = [(x - 2, y - 2, x + 2, y + 2) for x, y in points]
    chosen = []
    for point, text in zip(points, texts, strict=True):
        boxes = [_box(point, place, text) for place in _PLACES]
        covered = [sum(_overlap(box, other) for other in taken) for box in boxes]
        best = covered.index(min(covered))
        taken.append(boxes[best])
        chosen.append(_PLACES[best])
    return chosen


def _box(point: Sequence[float], place: tuple[float, float], text: str) -> Box:
    # A letter is about 0.6 of the font's size wide, a line 1.2 high.
    width, height = 0.6 * _FONT_SIZE * len(text), 1.2 * _FONT_SIZE
    x, y = point[0] + place[0], point[1] + place[1]
    left = x if place[0] > 0 else x - width if place[0] < 0 else x - width / 2
    return left, y - height / 2, left + width, y + height / 2


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
