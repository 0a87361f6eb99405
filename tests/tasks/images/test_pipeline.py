# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""One picture gives one result in every pipeline and verb, whatever the form in which it is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import pipeline

from hf_lecture_models import (
    ImageCaptioningConfig,
    ImageCaptioningForConditionalGeneration,
    LectureViTConfig,
    LectureViTForImageClassification,
    WordTokenizer,
    predict,
)
from hf_lecture_models.base.image_texts import ImageTextProcessor
from hf_lecture_models.tasks.captioning.describe import describe_image
from hf_lecture_models.tasks.images.processors import make_image_processor
from tests.model_tests import perturb

SHAPE = {"image_size": 8, "patch_size": 4, "hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2}


def forms(folder: Path, is_color: bool) -> list[Any]:
    """One picture that is stored on its side, its file first, and the upright pixels."""
    shape = (9, 5, 3) if is_color else (9, 5)
    pixels, exif = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8), Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(pixels).rotate(90, expand=True).save(folder / "a.png", exif=exif)
    file = folder / "a.png"
    found = [str(file), file, file.read_bytes(), Image.open(file), Image.fromarray(pixels).convert("RGBA")]
    found += [pixels, pixels / 255, torch.from_numpy(pixels)]
    return [*found, np.moveaxis(pixels, 2, 0)] if is_color else [*found, pixels[None], pixels[..., None]]


@pytest.mark.parametrize("is_color", [True, False], ids=["color", "grey"])
@pytest.mark.parametrize("channels", [1, 3])
def test_classes_and_vectors(tmp_path: Path, channels: int, is_color: bool) -> None:
    torch.manual_seed(0)
    model = LectureViTForImageClassification(LectureViTConfig(**SHAPE, num_channels=channels, num_labels=3)).eval()
    perturb(model, 0.5)
    processor = make_image_processor(8, channels)
    parts = {"model": model, "image_processor": processor}
    classify, read = pipeline("image-classification", **parts), pipeline("image-feature-extraction", **parts)
    given = forms(tmp_path, is_color)
    expected, vectors = classify(given[0]), read(given[0])
    for form in given:
        results = [classify(form), predict(model, processor, [form], top_k=3)[0]]
        results += [predict(model, processor, [{"image": form}], top_k=3)[0], classify([form])[0]]
        for found in results:
            assert [one["label"] for one in found] == [one["label"] for one in expected]
            assert [one["score"] for one in found] == pytest.approx([one["score"] for one in expected], abs=1e-5)
        assert np.allclose(read(form), vectors, atol=1e-5)
    for pipe in (classify, read):
        with pytest.raises(ValueError, match="pixels of more than eight bits"):
            pipe(Image.new("I;16", (8, 8)))


@pytest.mark.cases(1, 1)
@pytest.mark.parametrize("channels", [1, 3])
def test_captions(tmp_path: Path, channels: int) -> None:
    torch.manual_seed(0)
    tokenizer = WordTokenizer.train(["a dark shirt"], add_bos_token=False, add_eos_token=True, progress=False)
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("eos", "pad")}
    ids |= {"vocab_size": len(tokenizer), "decoder_start_token_id": tokenizer.bos_token_id}
    config = ImageCaptioningConfig(**SHAPE, **ids, num_channels=channels, max_position_embeddings=8)
    model = ImageCaptioningForConditionalGeneration(config).eval()
    perturb(model, 0.5)
    model.tie_weights()
    both = ImageTextProcessor(make_image_processor(8, channels), tokenizer)
    captioner = pipeline("image-captioning", model=model, tokenizer=tokenizer, image_processor=both.image_processor)
    given = forms(tmp_path, True)
    expected, search = captioner(given[0], num_beams=2), {"num_beams": 2, "num_return_sequences": 2}
    pixels = both(images=given[0], return_tensors="pt").pixel_values
    for form in given:
        assert captioner(form, num_beams=2)["score"] == pytest.approx(expected["score"], abs=1e-5)
        assert captioner([form], **search)[0][0]["generated_text"] == expected["generated_text"]
        assert torch.equal(both(images=form, return_tensors="pt").pixel_values, pixels)
        text, alignment = describe_image(model, both, form, "a dark shirt")
        assert text == "a dark shirt"
        reference = describe_image(model, both, given[0], "a dark shirt")[1].of()
        assert torch.equal(alignment.of(), reference)
    assert both(images=given, return_tensors="pt").pixel_values.shape == (len(given), channels, 8, 8)


def test_other_inputs_are_refused(tmp_path: Path) -> None:
    model = LectureViTForImageClassification(LectureViTConfig(**SHAPE, num_channels=1)).eval()
    processor = make_image_processor(8, 1)
    with pytest.raises(TypeError, match="expected a list of texts or of mappings of columns"):
        predict(model, processor, str(tmp_path))
    with pytest.raises(ValueError, match="inputs, line 2 is an array of shape .* cannot be an image"):
        predict(model, processor, [np.zeros((4, 4), np.uint8), np.zeros((4, 4), complex)])
