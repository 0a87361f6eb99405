# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Captioning of images: its measures against the definitions, an encoder that was trained before, and its commands."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.testing import assert_close
from transformers import AutoProcessor, pipeline
from typer.testing import CliRunner

from hf_lecture_cli import app
from hf_lecture_models import (
    LectureViTConfig,
    LectureViTForImageClassification,
    WordTokenizer,
    hub,
    load_model,
    predict,
)
from hf_lecture_models.base.grayscale_images import GrayscaleImageProcessor
from hf_lecture_models.base.image_texts import ImageTextProcessor
from hf_lecture_models.tasks.captioning.batches import CaptionCollator
from hf_lecture_models.tasks.captioning.describe import Caption, caption_log_probs, on_patches, patch_attention
from hf_lecture_models.tasks.captioning.task import ImageCaptioning, attention_on_half, chance_of_matches
from hf_lecture_models.tasks.core.main import train_from_command
from hf_lecture_models.tasks.core.task import recipe_of
from hf_lecture_models.tasks.images.pixels import Normalization
from hf_lecture_models.tokenization.corpus import fingerprint_tokenizer

SHAPE = {"model_type": "lecture_image_captioning", "image_size": 8, "patch_size": 2, "num_channels": 1}
SHAPE |= {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}


def write_captions(folder: Path, captions: Sequence[tuple[str, int]]) -> Path:
    """A folder of images of one shade each, with a caption for each."""
    folder.mkdir(parents=True)
    for number, (_, shade) in enumerate(captions):
        Image.new("L", (6, 5), shade).save(folder / f"{number}.png")
    with (folder / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file_name", "text"])
        writer.writerows([[f"{number}.png", text] for number, (text, _) in enumerate(captions)])
    return folder


def train(output: Path, *arguments: str, **fields: Any) -> Any:
    options = [
        "--output_dir",
        str(output),
        "--model",
        json.dumps(SHAPE | fields),
        "--epochs",
        "2",
        "--batch_size",
        "64",
    ]
    return train_from_command(ImageCaptioning(), [*options, "--batch_size", "64", *arguments])


TEMPLATED = ("--dataset_name", "scikit-learn:digits", "--captions", "templated", "--label_names", "{0: zero}")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captions")
    train(folder / "model", *TEMPLATED, "--num_beams", "2")
    Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8)).save(folder / "image.png")
    return folder


@pytest.mark.slow
def test_the_measures_follow_their_definitions(trained: Path) -> None:
    model, processor = load_model(str(trained / "model"))
    task = ImageCaptioning()
    facts = {"recipe": {}, "task": json.loads((trained / "model" / "task.json").read_text())}
    recipe = recipe_of(task, facts | {"recipe": {"dataset_name": "scikit-learn:digits", "label_names": {"0": "zero"}}})
    data = task.read(recipe, "validation")
    assert data is not None
    found = task.evaluate(model, processor, data, recipe)
    written = [
        one[0].text for one in task.predict(model, processor, task.encode(model, processor, data, recipe), recipe)
    ]
    truth = data.columns["text"]
    assert found["exact_match"] == np.mean([one == other for one, other in zip(written, truth, strict=True)])
    pairs = [one == other for one in written for other in truth]
    assert found["chance_exact_match"] == pytest.approx(np.mean(pairs)) == chance_of_matches(written, truth)
    for place, key in ((1, "brightness_match"), (-1, "half_match")):
        words = [(one.split() or ["", ""])[place if len(one.split()) > 1 else 0] for one in written]
        whole = [" with more ink on the " in one for one in written]
        right = [w == t.split()[place] and f for w, t, f in zip(words, truth, whole, strict=True)]
        assert found[key] == pytest.approx(np.mean(right))
    assert found["num_beams"] == 2
    assert found["images"] == 200


@pytest.mark.slow
def test_right_captions_of_other_images_are_right_by_chance(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is always right, of which the shuffled images take away all but the chance of equal captions."""
    model, processor = load_model(str(trained / "model"))
    task = ImageCaptioning()
    recipe = task.recipe_class(dataset_name="scikit-learn:digits", captions="templated")
    data = task.read(recipe, "validation")
    assert data is not None
    truth = data.columns["text"]
    monkeypatch.setattr(task, "predict", lambda *given: [[Caption(text, [])] for text in truth])
    found = task.measure(model, processor, task.encode(model, processor, data, recipe), recipe)
    keys = ("exact_match", "class_match", "brightness_match", "half_match")
    assert [found[key] for key in keys] == [1.0] * 4
    counts = np.unique(truth, return_counts=True)[1]
    assert found["chance_exact_match"] == pytest.approx((counts**2).sum() / len(truth) ** 2)
    assert found["shuffled_exact_match"] < 0.1


@pytest.mark.parametrize(("captions", "bleu"), [(["a cat", "a red dog"], None), (["a cat", "a red dog runs"], 100)])
def test_bleu_of_short_captions_is_left_out(
    captions: list[str], bleu: float | None, trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where no caption has four words, right ones would have a BLEU of 0."""
    model, processor = load_model(str(trained / "model"))
    task = ImageCaptioning()
    folder = write_captions(tmp_path / "short", [(text, 9 * place) for place, text in enumerate(captions)])
    recipe = task.recipe_class(test_files=[str(folder)])
    encoded = task.encode(model, processor, task.read(recipe, "test"), recipe)
    monkeypatch.setattr(task, "predict", lambda *given: [[Caption(text, [])] for text in captions])
    found = task.measure(model, processor, encoded, recipe)
    assert found["exact_match"] == 1.0
    assert found.get("bleu") == (None if bleu is None else pytest.approx(bleu))


def test_each_token_of_a_caption_is_an_item() -> None:
    """An empty place is left out; one image that counts nothing stays where all places are empty."""
    pixels = torch.arange(3, dtype=torch.uint8).view(3, 1, 1, 1)
    collate = CaptionCollator(pixels, [[5, 6, 2], [7, 2], [2]], Normalization(GrayscaleImageProcessor()))
    batch = collate(np.array([1, 0, -1]))
    assert batch.num_items == 5
    assert batch.inputs["labels"].tolist() == [[7, 2, -100], [5, 6, 2]]
    assert_close(batch.inputs["pixel_values"].flatten(), torch.tensor([1 / 127.5 - 1, -1.0]))
    empty = collate(np.array([-1, -1]))
    assert (empty.num_items, empty.inputs["labels"].tolist(), len(empty.inputs["pixel_values"])) == (0, [[-100]], 1)


def test_a_resumed_run_knows_both_parts_of_its_processor() -> None:
    words = [WordTokenizer.train([text], progress=False) for text in ("a dark shoe", "a light shoe")]
    images = [GrayscaleImageProcessor(size={"height": side, "width": side}) for side in (4, 8)]
    both = {fingerprint_tokenizer(ImageTextProcessor(one, other)) for one in images for other in words}
    assert len(both) == 4


@pytest.mark.slow
@torch.no_grad()
def test_attention_on_the_named_half(trained: Path) -> None:
    """By hand, for one image: the position before the last word, [CLS] left out, the mean over layers and heads."""
    model, processor = load_model(str(trained / "model"))
    image = torch.randn(1, 1, 8, 8)
    for half, columns in (("left", slice(0, 2)), ("right", slice(2, 4))):
        text = f"a dark zero with more ink on the {half}"
        (ids,) = processor.tokenizer([text])["input_ids"]
        read = torch.tensor([[model.config.decoder_start_token_id, *ids[:-1]]])
        model.set_attn_implementation("eager")
        shown = model(image, decoder_input_ids=read, output_attentions=True).cross_attentions
        model.set_attn_implementation("sdpa")
        place = len(text.split()) - 1
        masses = []
        for weights in torch.cat(shown)[:, :, place, 1:].flatten(0, 1):
            grid = weights.reshape(4, 4) / weights.sum()
            masses.append(grid[:, columns].sum())
        found = attention_on_half(model, processor.tokenizer, image, [ids], [text])
        assert found == pytest.approx(torch.stack(masses).mean().item(), abs=1e-6)


@pytest.mark.slow
@torch.no_grad()
def test_given_captions_in_a_batch_are_those_alone(trained: Path) -> None:
    model, processor = load_model(str(trained / "model"))
    images = torch.randn(3, 1, 8, 8)
    rows = processor.tokenizer(["a dark zero", "a bright 5 with more ink on the left", "a"])["input_ids"]
    weights, chances = patch_attention(model, images, rows), caption_log_probs(model, images, rows)
    for index, ids in enumerate(rows):
        (alone,) = patch_attention(model, images[index : index + 1], [ids])
        assert alone.shape == (1, 2, len(ids), 17)
        assert_close(weights[index], alone)
        assert_close(on_patches(alone).sum((-2, -1)), torch.ones(1, 2, len(ids)))
        loss = model(images[index : index + 1], labels=torch.tensor([ids])).loss
        assert_close(chances[index], -loss * len(ids), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_an_encoder_that_was_trained_before(tmp_path: Path) -> None:
    """The weights of a classifier's backbone, and its image processor's size; other sizes are refused."""
    names = ("image_size", "patch_size", "num_channels", "hidden_size", "num_hidden_layers", "num_attention_heads")
    torch.manual_seed(3)
    config = LectureViTConfig(**{name: SHAPE[name] for name in (*names, "intermediate_size")})
    vit = LectureViTForImageClassification(config)
    vit.save_pretrained(tmp_path / "vit")
    GrayscaleImageProcessor(size={"height": 8, "width": 8}).save_pretrained(tmp_path / "vit")
    options = (*TEMPLATED, "--encoder_from_pretrained", str(tmp_path / "vit"), "--learning_rate", "0")
    train(tmp_path / "model", *options)
    model, _ = load_model(str(tmp_path / "model"))
    ours = model.model.encoder.state_dict()
    for name, tensor in vit.model.state_dict().items():
        if not name.startswith("pooler"):
            assert torch.equal(ours[name], tensor), name
    with pytest.raises(ValueError, match="model.hidden_size is 16, but 8 in"):
        train(tmp_path / "other", *options, hidden_size=16)


@pytest.mark.slow
def test_the_folder_is_used_by_everyone(trained: Path, tmp_path: Path) -> None:
    """`predict`, the pipeline, `AutoProcessor`, an exported folder and the commands give the same caption."""
    folder, image = str(trained / "model"), str(trained / "image.png")
    model, processor = load_model(folder)
    ((one,),) = predict(model, processor, [image])
    several = predict(model, processor, [image], top_k=2)[0]
    assert several[0]["label"] == one["label"]
    assert 0 <= one["score"] <= 1
    assert pipeline("image-captioning", model=folder)(image)["generated_text"] == one["label"]
    pixels = AutoProcessor.from_pretrained(folder)(images=[Image.open(image)], return_tensors="pt")
    assert processor.batch_decode(model.generate(**pixels), skip_special_tokens=True) == [one["label"]]
    hub.export(model, processor, tmp_path / "exported")
    assert pipeline("image-captioning", model=str(tmp_path / "exported"))(image)["generated_text"] == one["label"]
    runner = CliRunner()
    (tmp_path / "names.txt").write_text(f"{image}\n", encoding="utf-8")
    for given in (str(tmp_path / "names.txt"), image):
        shown = runner.invoke(app, ["predict", folder, given])
        assert shown.exit_code == 0, shown.output
        assert shown.output.rstrip("\n") == f"{one['label']}\t{one['score']:.4f}\t{image}"


@pytest.mark.slow
def test_predictions_are_written(trained: Path, tmp_path: Path) -> None:
    photos = write_captions(tmp_path / "photos", [("a dark image", 0), ("a light image", 250)] * 4)
    for name in ("a.png", "b.png"):
        Image.new("L", (9, 9), 250).save(tmp_path / name)
    outcome = train(
        tmp_path / "out",
        "--train_files",
        str(photos),
        "--predict_files",
        str(tmp_path / "a.png"),
        max_position_embeddings=8,
    )
    lines = outcome.predictions.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "image\tcaption"
    assert lines[1].startswith(f"{tmp_path / 'a.png'}\t")
    assert outcome.training.best_metric is None


@pytest.mark.slow
def test_see_alignment_shows_the_patches_of_each_word(trained: Path, tmp_path: Path) -> None:
    runner, folder, image = CliRunner(), str(trained / "model"), str(trained / "image.png")
    given = ["see", "alignment", folder, "--image", image, "--target", "a dark zero with more ink on the left"]
    shown = runner.invoke(app, [*given, "--layer", "1", "--head", "2", "--output", str(tmp_path / "map.png")])
    assert shown.exit_code == 0, shown.output
    first, *lines = shown.output.splitlines()
    assert first == "layer 1, head 2: a dark zero with more ink on the left"
    assert [line.split("\t")[0] for line in lines] == [
        *["a", "dark", "zero", "with", "more", "ink", "on", "the", "left"],
        "</s>",
    ]
    assert Image.open(tmp_path / "map.png").size[0] > 600
    found = json.loads(runner.invoke(app, [*given, "--json"]).output)
    assert found["patches"][5] == "row 2 column 2"
    model, processor = load_model(folder)
    pixels = processor(images=[Image.open(image)], return_tensors="pt").pixel_values
    (ids,) = processor.tokenizer(["a dark zero with more ink on the left"])["input_ids"]
    (weights,) = patch_attention(model, pixels, [ids])
    per_head = weights[..., 1:] / weights[..., 1:].sum(-1, keepdim=True)
    assert_close(torch.tensor(found["weights"]), per_head.mean((0, 1)), rtol=0, atol=1e-6)
    own = json.loads(runner.invoke(app, ["see", "alignment", folder, "--image", image, "--json"]).output)
    assert own["caption"] == pipeline("image-captioning", model=folder)(image)["generated_text"]
    for wrong in ([], ["a text", "--image", image]):
        refused = runner.invoke(app, ["see", "alignment", folder, *wrong])
        assert refused.exit_code == 2
        assert "one of them" in refused.output
