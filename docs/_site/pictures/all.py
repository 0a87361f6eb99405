# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""All pictures, by the names of the models' folders."""

from pathlib import Path

import torch

import hf_lecture_models
from docs._site.pictures.blocks import SOURCES, TEXTS
from docs._site.pictures.drawing import draw
from docs._site.pictures.recording import Recording
from docs._site.pictures.words import WORDS

FOLDER = Path(__file__).resolve().parents[2] / "architectures"
PICTURES = {**WORDS, **TEXTS, **SOURCES}


def record(name: str) -> Recording:
    """Return the shapes of an architecture's small model."""
    one = PICTURES[name]
    model_class = getattr(hf_lecture_models, one.model)
    with torch.random.fork_rng(devices=[]):
        model = model_class(model_class.config_class(**one.config))
    inputs = {key: _values(key, [one.axes[axis] for axis in axes]) for key, axes in one.inputs.items()}
    return Recording(model, {**inputs, **one.options}, one.axes)


def draw_recorded(name: str, recording: Recording) -> str:
    """Return the picture of an architecture, as SVG."""
    one = PICTURES[name]
    return draw(one.title, one.items, one.links, recording)


def picture(name: str) -> str:
    """Return the picture of an architecture, recorded now."""
    return draw_recorded(name, record(name))


def _values(key: str, sizes: list[int]) -> torch.Tensor:
    return torch.zeros(sizes) if key in ("pixel_values", "points") else torch.full(sizes, 3)
