# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Masked images, both ways: trained, measured, and the card of what comes out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from hf_lecture_models import hub
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.main import train_from_command
from hf_lecture_models.tasks.images.batches import MaskedImages
from hf_lecture_models.tasks.images.masked import MaskedImagesTask, measure_masked_images
from hf_lecture_models.tasks.images.pixels import Normalization
from hf_lecture_models.tasks.registry import task_of
from tests.tasks.images.test_classification import FAST, SHAPE, write_images


def train(output: Path, data: Path, *arguments: str) -> Any:
    model = SHAPE | {"num_channels": 1}
    options = ["--train_files", str(data), "--validation_files", str(data), "--model", str(model), *FAST]
    return train_from_command(MaskedImagesTask(), [*options, "--output_dir", str(output), *arguments])


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("target", ["pixels", "mean_color"])
def test_it_learns_and_the_card_says_what(tmp_path: Path, target: str) -> None:
    data = write_images(tmp_path / "data")
    outcome = train(tmp_path / "run", data, "--target", target)
    first = "masked_distance" if target == "pixels" else "masked_perplexity"
    assert outcome.training.metric_name == first
    assert outcome.training.best_metric < (0.6 if target == "pixels" else 4)
    model, processor = load_model(str(tmp_path / "run"))
    assert type(model).__name__ == f"LectureViTForMasked{'ImageModeling' if target == 'pixels' else 'PatchPrediction'}"
    assert task_of(model).name == "masked_images"
    facts = facts_of(tmp_path / "run", model, processor)
    card = hub.card.render_card(facts | {"data": {"name": "shades"}}).content
    assert "Measured on 24 masked patches, 50 % of all." in card
    assert "pipeline_tag: image-feature-extraction\n" in card.split("---")[1], "the nearest task that the Hub has"


def test_the_measures_are_those_of_the_model(tmp_path: Path) -> None:
    """Of all images, whatever their number is in a batch."""
    train(tmp_path / "run", write_images(tmp_path / "data"), "--target", "mean_color", "--max_steps", "1")
    model, processor = load_model(str(tmp_path / "run"))
    pixels = torch.randint(256, (300, 1, 4, 4), dtype=torch.uint8)
    images = MaskedImages(pixels, Normalization(processor), 2, "mean_color", 0.5)
    measured = measure_masked_images(model, images)
    assert measured["patches"] == 600
    model.requires_grad_(False)
    for parameter in model.parameters():
        parameter.zero_()
    assert measure_masked_images(model, images)["masked_perplexity"] == pytest.approx(8)
    assert math.isfinite(measured["masked_perplexity"])


def test_a_share_of_the_training_images_is_measured(tmp_path: Path) -> None:
    """No file, split or row of validation data is named."""
    options = ["--train_files", str(write_images(tmp_path / "data")), "--validation_share", "0.25", "--max_steps", "1"]
    model = str(SHAPE | {"num_channels": 1})
    outcome = train_from_command(
        MaskedImagesTask(), [*options, "--model", model, "--output_dir", str(tmp_path / "run")]
    )
    assert outcome.training.metric_name == "masked_distance"


def test_a_model_without_colors_is_refused(tmp_path: Path) -> None:
    data = write_images(tmp_path / "data", number=1)
    train(tmp_path / "run", data, "--max_steps", "1")
    again = ["--train_files", str(data), "--from_pretrained", str(tmp_path / "run"), "--max_steps", "1"]
    train_from_command(MaskedImagesTask(), [*again, "--target", "mean_color", "--output_dir", str(tmp_path / "colors")])
    model, _ = load_model(str(tmp_path / "colors"))
    assert type(model).__name__ == "LectureViTForMaskedPatchPrediction"
