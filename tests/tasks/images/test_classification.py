# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Classifiers of images: trained, measured, saved with their image processor, fine-tuned, and used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoImageProcessor, AutoModelForImageClassification, ViTConfig, ViTForImageClassification
from transformers import pipeline as make_pipeline

from hf_lecture_cli import app
from hf_lecture_models import hub
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.main import train_from_command
from hf_lecture_models.tasks.images.classification import ImageClassification
from hf_lecture_models.tasks.images.masked import MaskedImagesTask

SHAPE = {"model_type": "lecture_vit", "image_size": 4, "patch_size": 2, "hidden_size": 8, "num_hidden_layers": 1}
SHAPE |= {"num_attention_heads": 2, "intermediate_size": 8}
FAST = ["--epochs", "10", "--batch_size", "4", "--learning_rate", "0.02"]


def write_images(folder: Path, classes: tuple[str, ...] = ("dark", "light"), number: int = 6, mode: str = "L") -> Path:
    """Images of one shade each, by which they can be told apart; every class has its own."""
    generator = np.random.default_rng(0)
    for index, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        for image in range(number):
            pixels = generator.integers(0, 60, (5, 6), dtype=np.uint8) + 190 * index // max(1, len(classes) - 1)
            Image.fromarray(pixels.astype(np.uint8)).convert(mode).save(folder / name / f"{image}.png")
    return folder


def train(output: Path, data: Path, *arguments: str, channels: int = 1, **fields: Any) -> Any:
    model = SHAPE | {"num_channels": channels} | fields
    options = ["--train_files", str(data), "--output_dir", str(output), "--model", str(model), *FAST, *arguments]
    return train_from_command(ImageClassification(), options)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grey classifier, with validation and test data, its predictions, and the images that it has seen."""
    root = tmp_path_factory.mktemp("classifier")
    data = write_images(root / "data")
    more = ["--validation_files", str(data), "--test_files", str(data), "--predict_files", str(data)]
    outcome = train(root / "run", data, *more)
    assert outcome.test_results is not None
    assert (outcome.test_results["accuracy"], outcome.test_results["images"]) == (1.0, 12)
    assert outcome.training.metric_name == "accuracy"
    return root


def test_the_folder_holds_all_that_a_pipeline_needs(trained: Path) -> None:
    """Files of any size and mode; the names of the classes; what was trained, for the card."""
    classify = make_pipeline("image-classification", model=str(trained / "run"))
    for name in ("dark", "light"):
        assert classify(str(trained / "data" / name / "0.png"))[0]["label"] == name
    assert classify(Image.new("RGBA", (50, 9), "white"))[0]["label"] == "light"
    lines = (trained / "run" / "predictions" / "predictions.tsv").read_text().splitlines()
    assert lines[0] == "image\tprediction"
    assert all(Path(file).parent.name == label for file, label in (line.split("\t") for line in lines[1:]))
    model, processor = load_model(str(trained / "run"))
    facts = facts_of(trained / "run", model, processor)
    assert (facts["task"]["pipeline_tag"], facts["task"]["classes"]) == ("image-classification", ["dark", "light"])
    card = hub.card.render_card(facts | {"data": {"name": "shades"}}).content
    assert "Measured on 12 images." in card
    assert 'pipeline("image-classification"' in card


def test_the_terminal_predicts_images_by_their_paths(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images = [str(trained / "data" / name / "0.png") for name in ("dark", "light")]
    (trained / "paths.txt").write_text("\n".join(images) + "\n")
    app(["predict", str(trained / "run"), str(trained / "paths.txt")], prog_name="hf-lecture", standalone_mode=False)
    found = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [(label, path) for label, _, path in found] == [("dark", images[0]), ("light", images[1])]
    (trained / "paths.txt").write_text("nowhere.png\n")
    with pytest.raises(SystemExit, match="1"):
        app(["predict", str(trained / "run"), str(trained / "paths.txt")], prog_name="hf-lecture")
    assert "there is no image nowhere.png" in capsys.readouterr().err


@pytest.mark.slow
def test_masked_pre_training_goes_before(tmp_path: Path) -> None:
    """The head is new, the rest is what masked images have taught; the image processor comes along."""
    data = write_images(tmp_path / "data")
    options = ["--train_files", str(data), "--model", str(SHAPE | {"num_channels": 1}), *FAST]
    train_from_command(MaskedImagesTask(), [*options, "--output_dir", str(tmp_path / "masked")])
    start = ["--train_files", str(data), "--from_pretrained", str(tmp_path / "masked"), *FAST, "--max_steps", "1"]
    train_from_command(ImageClassification(), [*start, "--learning_rate", "0", "--output_dir", str(tmp_path / "run")])
    ours = AutoModelForImageClassification.from_pretrained(tmp_path / "run")
    masked, _ = load_model(str(tmp_path / "masked"))
    for name, tensor in ours.model.state_dict().items():
        assert torch.equal(tensor, masked.model.state_dict()[name]), name
    assert ours.config.id2label == {0: "dark", 1: "light"}
    assert list(AutoImageProcessor.from_pretrained(tmp_path / "run").image_mean) == [0.5]
    frozen = [*start, "--freeze_backbone", "true", "--max_steps", "20", "--output_dir", str(tmp_path / "probe")]
    train_from_command(ImageClassification(), frozen)
    probe = AutoModelForImageClassification.from_pretrained(tmp_path / "probe")
    assert torch.equal(probe.model.norm.weight, masked.model.norm.weight)
    assert probe.classifier.weight.abs().max() > 0


def test_a_classifier_keeps_the_order_of_its_classes(trained: Path, tmp_path: Path) -> None:
    """Another checkpoint of as many classes with other names is refused; one of transformers' own is trained too."""
    start = ["--from_pretrained", str(trained / "run"), "--max_steps", "1", "--output_dir", str(tmp_path / "run")]
    data = write_images(tmp_path / "data", ("cat", "dog"), number=2)
    with pytest.raises(ValueError, match="tells apart dark, light, the data cat, dog; `label_names.LABEL`"):
        train_from_command(ImageClassification(), ["--train_files", str(data), *start])
    theirs = ViTForImageClassification(ViTConfig(**{n: v for n, v in SHAPE.items() if n != "model_type"}, num_labels=3))
    theirs.save_pretrained(tmp_path / "theirs")
    hub_processor = make_image_processor_of(4)
    hub_processor.save_pretrained(tmp_path / "theirs")
    start[1] = str(tmp_path / "theirs")
    outcome = train_from_command(ImageClassification(), ["--train_files", str(data), *start])
    assert outcome.training.step == 1


def make_image_processor_of(size: int) -> Any:
    from hf_lecture_models.tasks.images.processors import make_image_processor

    return make_image_processor(size, 3)
