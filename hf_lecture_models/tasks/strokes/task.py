# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The prediction of the next point of a sequence, by a density: pen strokes, series, rows of numbers.

A joint Gaussian is estimated from all sequences in one step, whatever the recipe says of epochs and batches.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from transformers import CONFIG_MAPPING, AutoModel

from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.base.heads.sequence_prediction import SequencePredictionHead
from hf_lecture_models.data.holdout import HeldOut, SplitKeys
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.evaluation.by_length import predict_by_length
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.models.graves import JointGaussianForSequencePrediction
from hf_lecture_models.models.graves.configuration_graves import PointSequenceConfig
from hf_lecture_models.models.graves.estimation_graves import estimate
from hf_lecture_models.tasks.core.factories import load_checkpoint, make_model
from hf_lecture_models.tasks.core.hold_out import keys_of_rows
from hf_lecture_models.tasks.core.lines import LineForm, PredictionOptions
from hf_lecture_models.tasks.core.settings import Settings
from hf_lecture_models.tasks.core.task import Encoded, Measure, Task, TaskRecipe
from hf_lecture_models.tasks.strokes.batches import AllPoints, PointBatches, collate_points
from hf_lecture_models.tasks.strokes.rows import PointRowsRecipe, as_points, checked, fingerprint_points, read_points
from hf_lecture_models.trainer.batches import Batches

_EVALUATION_BATCH = 64
_CONTINUED = 20


@dataclass(kw_only=True)
class PointSettings(Settings):
    """The settings of a model of sequences of points."""

    saved = ("temperature",)

    seed: int = setting(0, "seed of the points that go on")
    temperature: float = setting(1.0, "of continued sequences: 1 draws from the density itself", free=True)

    @property
    def has_grid(self) -> bool:
        """True if the points are known to lie on a grid."""
        return False


_EPOCHS_OF_DRAWN = 12.0


@dataclass(kw_only=True)
class SequencePredictionRecipe(TaskRecipe, PointRowsRecipe, PointSettings):
    """The recipe of a model of sequences of points."""

    batch_size: int = setting(32, "sequences per optimizer step", least=1)
    learning_rate: float = setting(5e-3, "learning rate after warm-up", least=0)
    tokenizer: dict[str, Any] = setting({}, "none: points have no tokenizer")
    model: dict[str, Any] = setting(
        {"model_type": "lecture_graves", "hidden_size": 64},
        "model_type, lecture_graves or lecture_joint_gaussian, and the fields of its config; point_size is that of the "
        "data",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tokenizer:
            raise ValueError("recipe: points have no tokenizer; leave tokenizer out")
        if self.is_drawn:
            self.data = {"name": "drawn spirals and waves"} | self.data

    def usual_epochs(self) -> float | None:
        """Return 12 epochs for the sequences that are drawn; else as any task."""
        return _EPOCHS_OF_DRAWN if self.is_drawn else super().usual_epochs()

    @property
    def has_grid(self) -> bool:
        """True if the points of a new model lie on a grid."""
        return bool(self.model.get("quantization_step"))


class PointLines(LineForm):
    """Lines of the points of a sequence, as JSON."""

    def read(self, text: str) -> dict[str, Any]:
        """Return the points of a line of JSON.

        Raises:
            ValueError: the line is not a list of points.
        """
        try:
            return {"points": as_points(json.loads(text)).tolist()}
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{text[:60]!r} is no list of points such as [[3, 1, 0]]: {error}") from None

    def check(self, fields: Mapping[str, Any]) -> None:
        """Raise a ValueError if a row does not hold points."""
        as_points(fields["points"])

    def shown(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the points that were given."""
        return {"points": np.asarray(row["points"]).tolist()}

    def line_of(self, fields: Mapping[str, Any], prediction: Mapping[str, Any]) -> str:
        """Return the points that go on, as JSON."""
        return json.dumps([[round(number, 4) for number in point] for point in prediction["points"]])


class SequencePrediction(Task[SequencePredictionRecipe]):
    """The task of predicting points; its data are `Rows` of `points` and `given`. There is no processing class.

    >>> [measure.key for measure in SequencePrediction().measures(SequencePredictionRecipe())]
    ['nats_per_point', 'bits_per_point', 'nats_of_coordinates']
    """

    name = "sequence_prediction"
    auto_class = AutoModel
    pipeline_tag = ""
    items = "points"
    script = "train_sequence_prediction.py"
    next_command = "hf-lecture see strokes {}"
    recipe_class: ClassVar[type[SequencePredictionRecipe]] = SequencePredictionRecipe
    settings_class = PointSettings
    line_form = PointLines("lists of points to go on from, [[3, 1, 0], [4, 1, 1]]", {"points": list})

    def is_for(self, model: Any) -> bool:
        """Return whether the model predicts points: its Auto class gives models of any kind."""
        return isinstance(model, SequencePredictionHead)

    def measures(self, settings: PointSettings) -> tuple[Measure, ...]:
        """Return the nats of a point, and the bits of its code if the data are on a grid, those first."""
        nats = Measure("nats_per_point", "nats per point (scaled)", lower_is_better=True)
        bits = Measure("bits_per_point", "bits per point (on the grid)", lower_is_better=True)
        coordinates = Measure("nats_of_coordinates", "nats per point, without the pen", True, "nats_per_point")
        first = (bits, nats) if settings.has_grid else (nats, bits)
        return (*first, coordinates)

    def read(self, recipe: SequencePredictionRecipe, part: str) -> Rows | None:
        """Read or draw the sequences of the part."""
        return read_points(recipe, part)

    def hold_out(self, data: Rows, recipe: SequencePredictionRecipe) -> tuple[Rows, Rows | None, HeldOut | None]:
        """Split sequences as all tasks do; of drawn curves, those to validate on are drawn, too."""
        return (data, None, None) if recipe.is_drawn else super().hold_out(data, recipe)

    def split_keys(self, recipe: SequencePredictionRecipe, data: Rows) -> SplitKeys:
        """Keep equal sequences on one side."""
        return keys_of_rows(data, {"sequence": [repr(points.tolist()) for points in data.columns["points"]]})

    def processor(self, recipe: SequencePredictionRecipe, data: Rows) -> None:
        """Return None: the model reads points as they are."""

    def model(self, recipe: SequencePredictionRecipe, processor: Any, data: Rows) -> Any:
        """Return the model, for points of the data's width; a checkpoint must have all of its weights."""
        if recipe.from_pretrained:
            model, new = load_checkpoint(self.auto_class, recipe.from_pretrained, recipe.seed)
            if new or not self.is_for(model):
                raise ValueError(f"{recipe.from_pretrained} holds {type(model).__name__}, no whole model of points")
            return model
        fields, model_type = dict(recipe.model), str(recipe.model.get("model_type", ""))
        if model_type in CONFIG_MAPPING and not issubclass(CONFIG_MAPPING[model_type], PointSequenceConfig):
            raise ValueError(f"recipe: model.model_type {model_type} is no model of points: lecture_graves is one")
        width = data.columns["points"][0].shape[1]
        fields.setdefault("point_size", width - bool(fields.get("has_pen", True)))
        return make_model(self.auto_class, fields, None, recipe.seed)

    def batches(self, model: Any, processor: Any, data: Rows, recipe: SequencePredictionRecipe) -> Batches:
        """Return batches of sequences of like length, or all sequences for a joint Gaussian."""
        sequences, given = self.encode(model, processor, data, recipe).inputs, data.columns["given"]
        if isinstance(model, JointGaussianForSequencePrediction):
            return AllPoints(sequences, given)
        return PointBatches(sequences, given, recipe.batch_size, recipe.seed)

    def train(self, model: Any, processor: Any, data: Any, validation_data: Any, recipe: Any, **options: Any) -> Any:
        """Train as all tasks do; a joint Gaussian has one step, in which it is estimated."""
        task: SequencePrediction = self
        if isinstance(model, JointGaussianForSequencePrediction):
            recipe = replace(recipe, max_steps=1)
            task = _JointGaussianEstimation(_Estimation(model, self.encode(model, processor, data, recipe).inputs))
        return super(SequencePrediction, task).train(model, processor, data, validation_data, recipe, **options)

    def training_options(self, model: Any, recipe: SequencePredictionRecipe) -> dict[str, Any]:
        """Turn off the cache."""
        return {"forward_options": {"use_cache": False}}

    def encode(self, model: Any, processor: Any, data: Rows, settings: PointSettings) -> Encoded:
        """Return the sequences as tensors (points, numbers).

        Raises:
            ValueError: points have another width than the model's, a pen that is not 0 or 1, or are off its grid.
        """
        config, inputs = model.config, []
        for index, points in enumerate(data.columns["points"]):
            problem = _problem(config, points)
            if problem:
                raise ValueError(f"{data.where(index)}: {problem}")
            inputs.append(torch.from_numpy(points))
        return Encoded(data, inputs)

    def measure(self, model: Any, processor: Any, encoded: Encoded, settings: PointSettings) -> dict[str, Any]:
        """Return the means over the points that count, and how many there are."""
        given = encoded.data.columns["given"]
        sums = _sums(model, list(zip(encoded.inputs, given, strict=True)))
        points = int(sums.pop("points"))
        found = {key: value / points for key, value in sums.items()}
        first = "bits_per_point" if "bits_per_point" in found else "nats_per_point"
        ordered = {first: found[first]}
        return {**ordered, **found, "points": points, "sequences": len(given)}

    def predictions(
        self, model: Any, processor: Any, data: Rows, settings: PointSettings, options: PredictionOptions
    ) -> list[list[dict[str, Any]]]:
        """Continue each sequence by `top_k` points, which are drawn by the recipe's seed and temperature."""
        rows, count = checked(Rows(data.columns, data.sources, data.lines)), options.top_k or _CONTINUED
        found = [
            model.generate_points(count, settings.temperature, settings.seed, own.unsqueeze(0).to(model.device))
            for own in self.encode(model, processor, rows, settings).inputs
        ]
        return [[{"points": points[0].tolist()}] for points in found]

    def write_predictions(self, model: Any, processor: Any, data: Rows, settings: PointSettings, folder: Path) -> Path:
        """Write lines of points, which go on from each sequence."""
        found = self.predictions(model, processor, data, settings, PredictionOptions())
        lines = (f"{json.dumps(row[0]['points'])}\n" for row in found)
        return write_file(folder / "predictions.jsonl", "".join(lines))

    def fingerprint(self, recipe: SequencePredictionRecipe, part: str, data: Any) -> str:
        """Return a checksum of the sequences."""
        return fingerprint_points(data)


class _Estimation:
    """The update of a joint Gaussian: it is estimated, and its loss is then measured."""

    def __init__(self, model: Any, sequences: list[Tensor]) -> None:
        self.model, self.sequences = model, sequences

    def __call__(self, optimizer: Any, batch: Any) -> Tensor:
        """Estimate the model from all sequences; return its mean loss."""
        estimate(self.model, self.sequences)
        sums = _sums(self.model, [(own, 0) for own in self.sequences])
        return torch.tensor(sums["nats_per_point"] / sums["points"])


class _JointGaussianEstimation(SequencePrediction):
    """The task for one joint Gaussian: its only step calls `update`."""

    def __init__(self, update: _Estimation) -> None:
        self.update = update

    def training_options(self, model: Any, recipe: SequencePredictionRecipe) -> dict[str, Any]:
        """Return the update, and all weights as one group: they have no gradients."""
        return {"update": self.update, "groups": lambda model, recipe: [{"params": list(model.parameters())}]}


def _problem(config: Any, points: np.ndarray) -> str:
    """Return what keeps the model from reading a sequence, or ""."""
    if points.shape[1] != config.point_width:
        pen = " with the pen" if config.has_pen else ", without a pen (model.has_pen)"
        return f"points have {points.shape[1]} numbers, and the model reads {config.point_width}{pen}"
    if config.has_pen and not np.isin(points[:, -1], (0, 1)).all():
        return "the last number of a point is the pen, 0 or 1; for points without a pen set model.has_pen to false"
    step = config.quantization_step
    if step and (np.abs(points[:, : config.point_size] / step % 1 - 0.5) < 0.499).any():
        return f"a number is no multiple of model.quantization_step, {step}; continuous data have quantization_step 0"
    return ""


def _sums(model: Any, rows: list[tuple[Tensor, int]]) -> dict[str, float]:
    """Return the sums of each measure over the points that count, and their number."""
    has_grid, has_pen = model.config.quantization_step > 0, model.config.has_pen

    def of_batch(batch: list[tuple[Tensor, int]]) -> list[dict[str, float]]:
        inputs = collate_points([own for own, _ in batch], [given for _, given in batch])
        inputs = {name: tensor.to(model.device) for name, tensor in inputs.items()}
        counted = inputs.pop("labels") != NOT_COUNTED
        found = {"points": counted.double(), "nats_per_point": -model.log_density(**inputs)}
        if has_pen:
            found["nats_of_coordinates"] = -model.log_density(**inputs, with_pen=False)
        if has_grid:
            found["bits_per_point"] = model.code_lengths(**inputs)
        return [
            {key: float(values[row][counted[row]].double().sum()) for key, values in found.items()}
            for row in range(len(batch))
        ]

    parts = predict_by_length(model, rows, of_batch, _EVALUATION_BATCH, lambda row: len(row[0]))
    return {key: sum(part[key] for part in parts) for key in parts[0]}
