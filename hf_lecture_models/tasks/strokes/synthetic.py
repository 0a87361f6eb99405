# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Drawn curves: spirals and waves, as the offsets of a pen."""

from typing import Any

import numpy as np

_JITTER = 0.02


def draw_curves(number: int, seed: Any) -> list[np.ndarray]:
    """Return curves, each (points, 3): dx, dy, and 1 at the last point, after which the pen is lifted.

    Every second curve is a spiral that opens to either side, the others are waves with other heights and lengths. Their
    steps are about 1 long; sizes, directions and small errors of the hand are random.

    >>> spiral, wave = draw_curves(2, seed=0)
    >>> spiral.shape, wave.shape
    ((30, 3), (30, 3))
    """
    generator = np.random.default_rng(seed)
    return [(_wave if index % 2 else _spiral)(generator) for index in range(number)]


def _spiral(generator: np.random.Generator, points: int = 30) -> np.ndarray:
    turn = generator.choice([-1, 1]) * generator.uniform(0.35, 0.45)
    angle = generator.uniform(0, 2 * np.pi) + turn * np.arange(points)
    return _offsets(np.linspace(0.5, 1.5, points), angle, generator)


def _wave(generator: np.random.Generator, points: int = 30) -> np.ndarray:
    period, height = generator.uniform(8, 12), generator.uniform(0.8, 1.2)
    angle = height * np.sin(2 * np.pi * (np.arange(points) / period + generator.uniform()))
    return _offsets(np.ones(points), angle, generator)


def _offsets(step: np.ndarray, angle: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    offsets = np.stack((step * np.cos(angle), step * np.sin(angle)), 1)
    offsets += generator.normal(0, _JITTER, offsets.shape)
    pen = np.arange(len(step)) == len(step) - 1
    return np.concatenate((offsets, pen[:, None]), 1).astype(np.float32)
