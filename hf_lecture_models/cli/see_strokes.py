# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture see strokes`: sequences that a model of points draws."""

import json as json_library
from pathlib import Path
from typing import Any

from hf_lecture_models.base.heads.sequence_prediction import SequencePredictionHead
from hf_lecture_models.cli.io import print_json
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.strokes.pictures import save_strokes


def run(name: str, number: int, points: int, temperature: float, seed: int, output: Path | None, json: bool) -> None:
    """Print drawings, each a line of points; draw all of them.

    Raises:
        ValueError: the model predicts no points, or the picture is no .svg.
    """
    model = load_point_model(name)
    drawings = model.generate_points(points, temperature, seed, num_sequences=number).tolist()
    for drawing in drawings:
        rounded = [[round(number, 3) for number in point] for point in drawing]
        print_json({"points": rounded}) if json else print(json_library.dumps(rounded))
    if output is not None:
        save_strokes(drawings, output)


def load_point_model(name: str) -> Any:
    """Load a model of points.

    Raises:
        ValueError: the model predicts no points.
    """
    model, _ = load_model(name)
    if not isinstance(model, SequencePredictionHead):
        raise ValueError(
            f"{name} holds {type(model).__name__}, which predicts no points: a model of lecture_graves does"
        )
    return model
