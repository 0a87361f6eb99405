# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pictures of pen strokes: drawings as SVG, and the density of each next point as a map. The map needs matplotlib."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from hf_lecture_models.analysis.figures import COLOURS, SEQUENTIAL, slide
from hf_lecture_models.io.files import write_file

_CELL, _MARGIN = 100, 10
_GRID = 160


def strokes_of(points: Any) -> list[np.ndarray]:
    """Return the strokes of a drawing as lists of places, (places, 2) each.

    >>> [stroke.tolist() for stroke in strokes_of([[1, 0, 0], [0, 2, 1], [5, 5, 0], [1, 0, 1]])]
    [[[1, 0], [1, 2]], [[6, 7], [7, 7]]]

    Args:
        points: (points, 3): dx, dy, and 1 where the pen is lifted after the point; the first one is its first place.
    """
    array = np.asarray(points)
    places, ends = array[:, :2].cumsum(0), np.flatnonzero(array[:, 2] > 0) + 1
    return [stroke for stroke in np.split(places, ends) if len(stroke)]


def draw_strokes(drawings: Sequence[Any], columns: int = 5) -> str:
    """Return drawings side by side as SVG, each as large as its cell; y grows downwards.

    >>> draw_strokes([[[0, 0, 0], [3, 4, 1]]])[:60]
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100'

    Raises:
        ValueError: a drawing has no points of three numbers.
    """
    cells = []
    for index, points in enumerate(drawings):
        if np.asarray(points).ndim != 2 or np.asarray(points).shape[1] != 3:
            raise ValueError("drawings are points of three numbers, dx, dy and the pen; these are others")
        row, column = divmod(index, columns)
        cells += _paths(strokes_of(points), column * _CELL, row * _CELL)
    width, height = min(columns, len(drawings)) * _CELL, -(-len(drawings) // columns) * _CELL
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n'
        '<g fill="none" stroke="black" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">\n'
        + "\n".join(cells)
        + "\n</g>\n</svg>\n"
    )


def save_strokes(drawings: Sequence[Any], path: str | os.PathLike[str], columns: int = 5) -> None:
    """Write drawings as an SVG file.

    Raises:
        ValueError: the path has another ending, or as `draw_strokes`.
        OSError: the file cannot be written.
    """
    if not os.fspath(path).endswith(".svg"):
        raise ValueError(f"{path}: drawings are written as .svg")
    write_file(path, draw_strokes(drawings, columns))


def _paths(strokes: Sequence[np.ndarray], left: int, top: int) -> list[str]:
    """Return a path for each stroke, scaled into a cell."""
    low = np.min([stroke.min(0) for stroke in strokes], 0)
    size = max(float((np.max([stroke.max(0) for stroke in strokes], 0) - low).max()), 1e-6)
    scale = (_CELL - 2 * _MARGIN) / size
    found = []
    for stroke in strokes:
        places = (stroke - low) * scale + np.array([left + _MARGIN, top + _MARGIN])
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        # A single place is drawn as a dot: a line to itself with round ends.
        found.append(f'<path d="M{points}{" z" if len(places) == 1 else ""}"/>')
    return found


@torch.no_grad()
def density_map(model: Any, points: torch.Tensor, grid: int = _GRID) -> tuple[np.ndarray, tuple[float, ...]]:
    """Return where the model expects the pen: for each point of a drawing and the one after it, its density.

    Args:
        points: (points, 3), in the data's units.

    Returns:
        (grid, grid), rows from the smallest y to the largest: the largest of the densities of all points, each divided
        by its own largest; and left, right, smallest and largest y of the map.

    Raises:
        ValueError: the model is of other points.
    """
    if model.config.point_size != 2:
        raise ValueError(f"a map needs points of two numbers, and the model's have {model.config.point_size}")
    places = torch.cat((torch.zeros(1, 2), points[:, :2].cumsum(0)))  # the places before each point, and the last
    low, high = places.min(0).values, places.max(0).values
    side = max(float((high - low).max()), model.config.scale) * 0.65
    middle = (low + high) / 2
    axes = [torch.linspace(float(m) - side, float(m) + side, grid) for m in middle]
    cells = torch.stack(torch.meshgrid(*axes, indexing="xy"), -1).view(-1, 1, 1, 2)
    padded = torch.cat((points, torch.zeros(1, points.shape[1])))[None]
    mixture, _ = model.distribution(model(points=padded).logits.to(model.precision))
    offsets = (cells - places.view(1, 1, -1, 2) - model.config.shift) / model.config.scale
    densities = torch.cat([mixture.log_density(part[:, 0].unsqueeze(1))[:, 0] for part in offsets.split(1024)])
    relative = (densities - densities.max(0).values).exp().max(1).values
    edges = tuple(float(edge) for axis in axes for edge in (axis[0], axis[-1]))
    return relative.view(grid, grid).numpy(), edges


def save_density(model: Any, points: torch.Tensor, path: str | os.PathLike[str], caption: str) -> None:
    """Draw the map of `density_map` below the drawing, as in Graves' figures of handwriting.

        save_density(model, torch.tensor([[0.0, 0.0, 0.0], [3.0, 1.0, 1.0]]), "density.svg", caption="...")

    Raises:
        ValueError: as `density_map`.
    """
    values, (left, right, low, high) = density_map(model, points)
    with slide(path, "Where the next point is expected", caption, 6.0, 6.0) as axes:
        axes.imshow(values, extent=(left, right, high, low), cmap=SEQUENTIAL, aspect="equal", origin="upper")
        for stroke in strokes_of(points.numpy()):
            axes.plot(stroke[:, 0], stroke[:, 1], color=COLOURS[1], linewidth=1.5, marker=".", markersize=4)
        axes.set_axis_off()
