# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Images with captions: templated ones against the pixels, folders with their metadata, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hf_lecture_models.tasks.captioning.rows import CaptionsRecipe, read_captions, read_slots, slots_of, write_caption
from hf_lecture_models.tasks.captioning.task import ImageCaptioning, ImageCaptioningRecipe

DIGITS: dict[str, Any] = {"dataset_name": "scikit-learn:digits", "captions": "templated"}


def image(folder: Path, name: str = "a.png") -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (4, 4), 9).save(folder / name)


def read(folder: Path, **fields: Any) -> Any:
    return read_captions(CaptionsRecipe(train_files=[str(folder)], **fields), "train")


def test_templated_captions_say_what_the_pixels_say() -> None:
    names = {"0": "zero", "9": "ankle boot"}
    recipe = CaptionsRecipe(**DIGITS, label_names=names, brightness_thresholds=[74, 82])
    rows = read_captions(recipe, "validation")
    assert rows is not None
    assert len(rows) == 200
    for pixels, text in zip(rows.columns["image"], rows.columns["text"], strict=True):
        slots = read_slots(text)
        assert slots is not None
        assert write_caption(slots) == text
        mean = float(pixels.astype(float).mean())
        assert slots.brightness == ("dark" if mean < 74 else "medium" if mean < 82 else "bright")
        left, right = pixels[:, :4].sum(dtype=int), pixels[:, 4:].sum(dtype=int)
        assert slots.half == ("right" if right > left else "left")
    assert {slots.name for slots in map(read_slots, rows.columns["text"]) if slots} >= {"zero", "ankle boot", "5"}


def test_ties_and_middle_columns() -> None:
    assert slots_of(np.full((2, 4), 55, np.uint8), "x") == ("x", "medium", "left")
    assert slots_of(np.array([[1, 200, 2]], np.uint8), "x").half == "right"
    assert slots_of(np.array([[2, 200, 2]], np.uint8), "x").half == "left"
    assert slots_of(np.full((2, 4), 87, np.uint8), "x").brightness == "bright"
    assert slots_of(np.full((2, 4), 54, np.uint8), "x").brightness == "dark"


def test_the_share_to_validate_on_is_drawn_once(tmp_path: Path) -> None:
    for number in range(10):
        image(tmp_path, f"{number}.png")
    lines = "".join(f'{number}.png,"image {number}, with a comma"\n' for number in range(10))
    (tmp_path / "metadata.csv").write_text(f"file_name,text\n{lines}", encoding="utf-8")
    recipe = ImageCaptioningRecipe(train_files=[str(tmp_path)], validation_share=0.3, stratify=False)
    *parts, held_out = ImageCaptioning().hold_out(read_captions(recipe, "train"), recipe)
    assert [len(rows) for rows in parts if rows is not None] == [7, 3]
    assert held_out.validation == sorted(np.random.default_rng(0).permutation(10)[:3].tolist())
    texts = [text for rows in parts if rows is not None for text in rows.columns["text"]]
    assert sorted(texts) == [f"image {number}, with a comma" for number in range(10)]
    unlabelled = read_captions(CaptionsRecipe(predict_files=[str(tmp_path)]), "predict")
    assert unlabelled is not None
    assert list(unlabelled.columns) == ["image"]


def test_tables_name_images_beside_them(tmp_path: Path) -> None:
    image(tmp_path, "photos/a.png")
    (tmp_path / "captions.jsonl").write_text('{"image": "photos/a.png", "text": "a square"}\n', encoding="utf-8")
    rows = read(tmp_path / "captions.jsonl")
    assert rows[0] == {"image": str(tmp_path / "photos/a.png"), "text": "a square"}


@pytest.mark.parametrize(
    ("files", "metadata", "message"),
    [
        (["a.png"], None, "has no metadata.csv; write one with the columns file_name and text"),
        (["a.png", "b/c.png"], "file_name,text\na.png,x\n", r"2 image\(s\), and its metadata.csv 1 row\(s\).*b/c.png"),
        (["a.png"], "file_name,text\na.png,x\na.png,y\n", r"1 image\(s\), and its metadata.csv 2.*names a.png twice"),
        (["a.png"], "file_name,text\na.png,x\nb.png,y\n", "metadata.csv, line 3: there is no image b.png"),
        (["a.png"], "file_name,caption\na.png,x\n", "metadata.csv, line 2 has no text"),
        (["a.png"], "file_name,text\na.png,x,y\n", "line 2 has more than two values; put a caption with commas"),
        (["a.png"], "file_name,text\na.png, \n", "a.png has an empty caption"),
        (["a.png"], b"file_name,text\na.png,\xe0\n", "metadata.csv cannot be read"),
        ([], "file_name,text\n", "holds no image with a caption"),
    ],
)
def test_folders_that_are_refused(tmp_path: Path, files: list[str], metadata: Any, message: str) -> None:
    for name in files:
        image(tmp_path, name)
    if metadata is not None:
        content = metadata if isinstance(metadata, bytes) else metadata.encode()
        (tmp_path / "metadata.csv").write_bytes(content)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        read(tmp_path)
