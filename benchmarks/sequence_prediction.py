# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Independent points, the joint Gaussian and Graves' network on the same test data, in nats and in bits.

    OMP_NUM_THREADS=1 python -m benchmarks.sequence_prediction --folder FOLDER

FOLDER: where the recipes graves_omniglot, graves_digits and graves_sunspots were trained, each in a folder of its name.
The Gaussians are estimated here. Sunspots need statsmodels. Bits are code lengths of the integers that the data are;
sunspots are continuous and have none.
"""

from pathlib import Path
from typing import Any

import torch

from benchmarks.common import ROOT, check_trained_on_committed_code, new_parser, read_options, write_results
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.strokes.task import SequencePrediction, SequencePredictionRecipe

TASK = SequencePrediction()
ORDERS = {"omniglot": (0, 1, 4), "digits": (0, 1, 7), "sunspots": (0, 1, 2, 9, 20)}
RECIPES = ROOT / "training" / "recipes"


def recipe_of(name: str) -> SequencePredictionRecipe:
    """Return a recipe by its name."""
    return load_recipe(RECIPES / f"{name}.yaml", {}, recipe_class=SequencePredictionRecipe)


def gaussian(data: str, order: int) -> dict[str, Any]:
    """Estimate a joint Gaussian, and return its measures on the test data."""
    recipe = recipe_of(f"graves_joint_{data}")
    recipe.model["order"] = order
    rows = TASK.read(recipe, "train")
    assert rows is not None
    model = TASK.model(recipe, None, rows)
    fitted = type(model).fit(
        [points.tolist() for points in rows.columns["points"]],
        **{"has_pen": True} | {key: value for key, value in recipe.model.items() if key != "model_type"},
    )
    return {"model": "joint Gaussian" if order else "independent", "order": order, **measured(fitted, recipe)}


def network(data: str, folder: Path) -> dict[str, Any]:
    """Return the measures of a trained network on the test data."""
    check_trained_on_committed_code(folder)
    model, _ = load_model(folder)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return {"model": "network", "parameters": parameters, **measured(model, recipe_of(f"graves_{data}"))}


def measured(model: Any, recipe: SequencePredictionRecipe) -> dict[str, Any]:
    """Return the measures of a model on the recipe's test data."""
    return TASK.evaluate(model, None, TASK.read(recipe, "test"), recipe)


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "runs")
    options = read_options(parser)
    torch.set_num_threads(1)
    results: dict[str, list[dict[str, Any]]] = {}
    for data, orders in ORDERS.items():
        rows = [gaussian(data, order) for order in orders]
        results[data] = [*rows, network(data, options.folder / f"graves_{data}")]
        for row in results[data]:
            print(data, row, flush=True)
    write_results("sequence_prediction", results)


if __name__ == "__main__":
    main()
