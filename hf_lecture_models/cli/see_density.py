# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture see density`: the mixture of the point after a sequence, and where the model expects each next point."""

from pathlib import Path
from typing import Any

import torch

from hf_lecture_models.cli.io import print_columns, print_json
from hf_lecture_models.cli.see_strokes import load_point_model
from hf_lecture_models.loading import short_name
from hf_lecture_models.tasks.strokes.pictures import save_density
from hf_lecture_models.tasks.strokes.rows import PointRowsRecipe, read_points


@torch.no_grad()
def run(name: str, file: str, row: int, output: Path | None, json: bool) -> None:
    """Print the mixture of the point after a sequence, the components by weight; draw the densities of all points.

    Raises:
        ValueError: the model predicts no points, or the file has no such row.
    """
    model = load_point_model(name)
    rows = read_points(PointRowsRecipe(predict_files=[file], train_files=[file]), "predict")
    if rows is None or not 1 <= row <= len(rows):
        raise ValueError(f"{file} has {0 if rows is None else len(rows)} sequences, and no row {row}")
    points = torch.from_numpy(rows.columns["points"][row - 1])
    after = torch.cat((points, torch.zeros_like(points[:1])))
    mixture, pen = model.distribution(model(points=after[None]).logits[:, -1:].to(model.precision))
    config = model.config
    table: list[dict[str, Any]] = [
        {
            "weight": weight.exp().item(),
            "mean": (mean * config.scale + config.shift).tolist(),
            "deviations": (scales * config.scale).tolist(),
        }
        for weight, mean, scales in zip(
            mixture.log_weights[0, 0], mixture.means[0, 0], mixture.scales[0, 0], strict=True
        )
    ]
    table.sort(key=lambda component: -component["weight"])
    lifted = None if pen is None else pen.sigmoid().item()
    if json:
        print_json({"components": table, "pen": lifted})
    else:
        shown = [[f"{one['weight']:.3f}", _numbers(one["mean"]), _numbers(one["deviations"])] for one in table]
        print_columns([["weight", "mean", "deviations"], *shown])
        print("" if lifted is None else f"the pen is lifted after the point with probability {lifted:.3f}")
    if output is not None:
        save_density(model, points, output, f"{short_name(file)}, row {row}, under {short_name(name)}")


def _numbers(values: list[float]) -> str:
    return " ".join(f"{value:.2f}" for value in values)
