# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Images as recipes name them, what is refused, and how they are augmented and masked."""

from __future__ import annotations

import gzip
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.layers.patches import mean_colors
from hf_lecture_models.tasks.images.batches import (
    MEAN_COLOR,
    PIXELS,
    ImageBatches,
    ImageCollator,
    MaskedImageBatches,
    MaskedImages,
)
from hf_lecture_models.tasks.images.classification import ImageClassification, ImageClassificationRecipe
from hf_lecture_models.tasks.images.pixels import Augmentation, Normalization, load_pixels
from hf_lecture_models.tasks.images.processors import make_image_processor
from hf_lecture_models.tasks.images.rows import DIGITS, ImagesRecipe, fingerprint_images, read_images
from hf_lecture_models.trainer.batches import RowShard

TREE = (
    *("dog/b.png", "dog/B.JPG", "dog/a/z.webp", "dog/a-b/y.tiff", "dog/a/k/x.PPM", "cat/c.jpeg", "cat/d.pgm"),
    *("cat/deep/er/e.bmp", "cat/g.gif", "cat/notes.txt", "ant/1.tif", "top.png"),
)
READ = (
    *("ant/1.tif", "cat/c.jpeg", "cat/d.pgm", "cat/deep/er/e.bmp"),
    *("dog/B.JPG", "dog/b.png", "dog/a/z.webp", "dog/a-b/y.tiff", "dog/a/k/x.PPM"),
)


def write_tree(folder: Path) -> Path:
    for name in TREE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def write_image(path: Path, shade: int = 9, mode: str = "RGB", size: tuple[int, int] = (5, 4)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, shade).convert(mode).save(path)
    return path


def write_idx(folder: Path, images: np.ndarray, labels: list[int], suffix: str = ".gz") -> Path:
    path = folder / f"some-images-idx3-ubyte{suffix}"
    opened = gzip.open if suffix else open
    with opened(path, "wb") as file:
        file.write(struct.pack(">4I", 0x803, *images.shape) + images.tobytes())
    with opened(folder / f"some-labels-idx1-ubyte{suffix}", "wb") as file:
        file.write(struct.pack(">2I", 0x801, len(labels)) + bytes(labels))
    return path


def read(*files: Any, part: str = "train", labels: bool = True, **fields: Any) -> Any:
    return read_images(ImagesRecipe(**{f"{part}_files": [str(file) for file in files]}, **fields), part, labels)


def test_folders_of_classes(tmp_path: Path) -> None:
    for name in ("dog/b.png", "dog/a.jpg", "cat/c.PNG", "cat/notes.txt", "cat/.hidden.png"):
        write_image(tmp_path / name) if "txt" not in name else (tmp_path / name).write_text("x")
    rows = read(tmp_path)
    assert rows.columns["label"] == ["cat", "dog", "dog"]
    assert [Path(image).name for image in rows.columns["image"]] == ["c.PNG", "a.jpg", "b.png"]
    assert len(read(tmp_path, part="predict")) == 3
    assert "label" not in read(tmp_path, labels=False).columns


def test_folders_of_classes_are_read_as_torchvision_reads_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Depth, suffixes in any case, order; links are followed, and a line says what is left out."""
    folder = write_tree(tmp_path / "tree")
    rows = read(folder)
    assert [str(Path(image).relative_to(folder)) for image in rows.columns["image"]] == list(READ)
    assert rows.columns["label"] == ["ant", *["cat"] * 3, *["dog"] * 5]
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "tree: 3 file(s) left out" in line
    assert line.endswith("the first is top.png\n")
    (folder / "dog" / "linked").symlink_to(folder / "cat" / "deep")
    assert "dog/linked/er/e.bmp" in "".join(read(folder).columns["image"])
    unlabelled = [str(Path(image).relative_to(folder)) for image in read(folder, labels=False).columns["image"]]
    assert set(unlabelled) == {*READ, "top.png", "dog/linked/er/e.bmp"}
    (folder / "cow").mkdir()
    (folder / "cow" / "a.gif").touch()
    with pytest.raises(ValueError, match=r"tree/cow holds no image; remove the folder, or put files that end in .bmp"):
        read(folder)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_idx_files(tmp_path: Path, suffix: str) -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 4, 5), dtype=np.uint8)
    rows = read(write_idx(tmp_path, images, [7, 0, 2], suffix))
    assert rows.columns["label"] == [7, 0, 2]
    assert np.array_equal(np.stack(rows.columns["image"]), images)


def test_tables_of_paths_beside_them(tmp_path: Path) -> None:
    write_image(tmp_path / "pictures" / "a.png", shade=200)
    (tmp_path / "all.csv").write_text("file,class\npictures/a.png,cat\n")
    rows = read(tmp_path / "all.csv", columns={"image": "file", "label": "class"})
    assert load_pixels(rows, make_image_processor(4, 1), 1).unique().tolist() == [200]
    assert rows.columns["label"] == ["cat"]


def test_digits_in_three_parts() -> None:
    parts = [
        read_images(ImagesRecipe(dataset_name=DIGITS, test_split="test"), part) for part in ("train", "validation")
    ]
    parts.append(read_images(ImagesRecipe(dataset_name=DIGITS, test_split="test"), "test"))
    assert [len(rows) for rows in parts] == [1297, 200, 300]
    seen = [image.tobytes() for rows in parts for image in rows.columns["image"]]
    assert len(set(seen)) == 1797
    with pytest.raises(ValueError, match="no split 'dev', only train, validation, test"):
        read_images(ImagesRecipe(dataset_name=DIGITS, train_split="dev"), "train")


def test_a_share_of_the_training_images_is_for_validation(tmp_path: Path) -> None:
    """Without `stratify` it is the draw of the published recipes."""
    images = np.arange(40, dtype=np.uint8)[:, None, None] * np.ones((1, 4, 4), dtype=np.uint8)
    path = write_idx(tmp_path, images, [i % 5 for i in range(40)])
    recipe = ImageClassificationRecipe(train_files=[str(path)], validation_share=0.25, stratify=False)
    task = ImageClassification()
    train, validation, held_out = task.hold_out(task.read(recipe, "train"), recipe)
    order = np.random.default_rng(0).permutation(40).tolist()
    shades = [[int(image[0, 0]) for image in rows.columns["image"]] for rows in (train, validation)]
    assert (len(shades[0]), len(shades[1])) == (30, 10)
    assert shades == [order[10:], order[:10]]
    assert held_out.validation == sorted(order[:10])
    assert all(shade % 5 == label for shade, label in zip(shades[1], validation.columns["label"], strict=True))
    assert read_images(recipe, "test") is None
    # Of a part of the rows, the numbers are those in the file.
    _, some, held_out = task.hold_out(task.read(recipe, "train").select(range(20, 40)), recipe)
    assert held_out.validation == sorted(int(image[0, 0]) for image in some.columns["image"])
    assert (held_out.rows, held_out.sources) == (40, [(str(path), 40)])
    with pytest.raises(ValueError, match="validation_share and validation data are both given"):
        ImagesRecipe(train_files=[str(path)], validation_files=[str(path)], validation_share=0.25)


def broken(tmp_path: Path) -> dict[str, tuple[Any, str]]:
    """Sources that are refused, with the message."""
    images = np.zeros((3, 4, 5), dtype=np.uint8)
    for name in ("cut", "long", "header", "count", "other", "alone", "gz"):
        (tmp_path / name).mkdir()
    cut = write_idx(tmp_path / "cut", images, [0, 1, 2], "")
    cut.write_bytes(cut.read_bytes()[:-1])
    long = write_idx(tmp_path / "long", images, [0, 1, 2], "")
    long.write_bytes(long.read_bytes() + b"x")
    header = write_idx(tmp_path / "header", images, [0, 1, 2], "")
    header.write_bytes(struct.pack(">4I", 0x803, 2**31, 2**14, 2**14))
    sides = tmp_path / "header" / "sides-images-idx3-ubyte"
    sides.write_bytes(struct.pack(">4I", 0x803, 1, 2**31, 4))
    alone = write_idx(tmp_path / "alone", images, [0, 1, 2], "")
    (tmp_path / "alone" / "some-labels-idx1-ubyte").unlink()
    damaged = write_idx(tmp_path / "gz", images, [0, 1, 2])
    damaged.write_bytes(damaged.read_bytes()[:20])
    (tmp_path / "other" / "data.bin").write_bytes(b"something else")
    write_image(tmp_path / "flat" / "a.png")
    write_image(tmp_path / "empty" / "cat" / "a.png")
    (tmp_path / "empty" / "dog").mkdir()
    return {
        "cut off": (cut, "cut.some-images-idx3-ubyte is cut off; restore the file"),
        "too long": (long, "longer than its header says"),
        "a header that lies": (header, "is cut off"),
        "sides that cannot be": (sides, r"announces 1 images of \[2147483648, 4\] pixels, which cannot be"),
        "other counts": (write_idx(tmp_path / "count", images, [0, 1]), "holds 2 labels, but .* 3 images"),
        "no labels": (alone, "no labels beside .*; put some-labels-idx1-ubyte there"),
        "damaged gzip": (damaged, "is damaged"),
        "no image file": (tmp_path / "other" / "data.bin", "is no IDX file of images, no folder, and no table"),
        "no classes": (tmp_path / "flat", "flat holds no folder; put the images of each class into a folder"),
        "an empty class": (tmp_path / "empty", "empty/dog holds no image; remove the folder"),
        "nothing there": (tmp_path / "absent", "there is no file .*absent"),
    }


def test_sources_that_are_refused(tmp_path: Path) -> None:
    for kind, (source, message) in broken(tmp_path).items():
        with pytest.raises((ValueError, OSError), match=message):
            read(source)
            pytest.fail(f"{kind} is accepted")


def test_images_that_are_refused(tmp_path: Path) -> None:
    """By their names, and before training."""
    fine = write_image(tmp_path / "cat" / "a.png")
    (tmp_path / "cat" / "b.png").write_bytes(fine.read_bytes()[:40])
    Image.fromarray(np.zeros((4, 4), dtype=np.uint16)).save(tmp_path / "cat" / "c.png")
    processor = make_image_processor(4, 3)
    for name, message in (("b.png", "cannot be read as an image"), ("c.png", "pixels of more than eight bits")):
        rows = read(tmp_path / "cat" / name, part="predict")
        with pytest.raises(ValueError, match=f"{re.escape(str(tmp_path))}/cat/{name} .*{message}|{name} has {message}"):
            load_pixels(rows, processor, 3)
    with pytest.raises(ValueError, match="makes 3 channels, but the model reads num_channels=1"):
        load_pixels(read(fine, part="predict"), processor, 1)
    with pytest.raises(ValueError, match="num_channels must be 1 or 3, not 2"):
        make_image_processor(4, 2)


@pytest.mark.parametrize("channels", [1, 3])
def test_images_of_every_kind_become_what_the_processor_makes_of_them(tmp_path: Path, channels: int) -> None:
    """Grey, with a palette, with transparency, of any size; then normalized as it does it."""
    modes = {"grey.png": "L", "palette.png": "P", "alpha.png": "RGBA", "bits.png": "1", "cmyk.jpg": "CMYK"}
    for index, (name, mode) in enumerate(modes.items()):
        write_image(tmp_path / "cat" / name, 40 * index + 9, mode, (3 + index, 6))
    rows, processor = read(tmp_path), make_image_processor(8, channels)
    pixels = load_pixels(rows, processor, channels)
    assert (pixels.shape, pixels.dtype) == ((5, channels, 8, 8), torch.uint8)
    images = [Image.open(path).convert("RGB") for path in rows.columns["image"]]
    expected = processor(images, return_tensors="pt").pixel_values
    torch.testing.assert_close(Normalization(processor)(pixels), expected.float(), rtol=0, atol=0.01)


def test_a_checksum_follows_content_and_labels(tmp_path: Path) -> None:
    path = write_image(tmp_path / "cat" / "a.png")
    first = fingerprint_images(read(tmp_path))
    assert fingerprint_images(read(tmp_path)) == first
    write_image(path, shade=10)
    assert fingerprint_images(read(tmp_path)) != first


# Steps


def some_images(number: int = 10, size: int = 8) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(0, 256, (number, 3, size, size), dtype=np.uint8))


def make(kind: str, batch_size: int = 4) -> Any:
    pixels, normalize = some_images(), Normalization(make_image_processor(8, 3))
    if kind == "classes":
        collate = ImageCollator(pixels, list(range(10)), normalize)
        return ImageBatches(collate, Augmentation(2, True), batch_size, seed=1)
    return MaskedImageBatches(MaskedImages(pixels, normalize, 2, kind, 0.4), Augmentation(1), batch_size, seed=1)


@pytest.mark.parametrize("kind", ["classes", PIXELS, MEAN_COLOR])
def test_steps_are_the_same_resumed_and_shared(kind: str) -> None:
    """Whoever makes them: after a pause, or as two processes of two micro-batches each."""
    straight, resumed = make(kind), make(kind)
    steps = [straight.next_step() for _ in range(7)]
    for _ in range(4):
        resumed.next_step()
    again = make(kind)
    again.load_state_dict(resumed.state_dict())
    for step in steps[4:]:
        for ours, theirs in zip(step, again.next_step(), strict=True):
            assert ours.num_items == theirs.num_items
            assert all(torch.equal(ours.inputs[name], theirs.inputs[name]) for name in ours.inputs)
    shared = []
    for process in range(2):
        batches = make(kind)
        batches.set_shard(RowShard(4, 2, process, 2))
        shared.append([batches.next_step() for _ in range(2)])
    for index, step in enumerate(steps[:2]):
        parts = [batch for process in shared for batch in process[index]]
        joined = torch.cat([batch.inputs["pixel_values"] for batch in parts])
        assert torch.equal(joined, step[0].inputs["pixel_values"])
        assert sum(batch.num_items for batch in parts) == step[0].num_items


def test_the_last_step_of_an_epoch_counts_its_images_alone() -> None:
    for kind in ("classes", PIXELS, MEAN_COLOR):
        batches = make(kind)
        *_, last = (batches.next_step()[0] for _ in range(3))
        assert last.num_items == (2 if kind == "classes" else 2 * round(0.4 * 16))


def test_what_is_masked() -> None:
    """As many patches as asked for in each image; for colors, 80 % masked, 10 % another patch, 10 % as they were."""
    pixels, normalize = some_images(200), Normalization(make_image_processor(8, 3))
    images = MaskedImages(pixels, normalize, 2, MEAN_COLOR, 0.5)
    rows = np.arange(200)
    rows[7] = -1
    drawn = images.draw(rows, np.random.default_rng(0))
    chosen = drawn.labels != NOT_COUNTED
    assert chosen.sum(1).tolist() == [8 if row != 7 else 0 for row in range(200)]
    assert torch.equal(drawn.labels[chosen], mean_colors(pixels, 2)[chosen])
    assert not drawn.masked[~chosen].any()
    before = normalize(pixels[np.maximum(rows, 0)])
    changed = (drawn.pixel_values != before).any(1).float()
    changed = torch.nn.functional.max_pool2d(changed[:, None], 2).flatten(1).bool()
    assert not changed[~chosen | drawn.masked].any()
    shares = [drawn.masked[chosen].float().mean(), changed[chosen].float().mean()]
    assert shares == pytest.approx([0.8, 0.1], abs=0.03)
    moved = normalize(pixels)[0].unfold(1, 2, 2).unfold(2, 2, 2).permute(1, 2, 0, 3, 4).flatten(0, 1)
    for patch in drawn.pixel_values[0].unfold(1, 2, 2).unfold(2, 2, 2).permute(1, 2, 0, 3, 4).flatten(0, 1):
        assert (moved == patch).flatten(1).all(1).any(), "a patch that is none of the image"
    of_pixels = MaskedImages(pixels, normalize, 2, PIXELS, 0.01).draw(rows, np.random.default_rng(0))
    assert of_pixels.masked.sum(1).tolist() == [1 if row != 7 else 0 for row in range(200)]
    assert torch.equal(of_pixels.pixel_values, before)


def test_augmented_images_are_shifted_and_mirrored() -> None:
    image = torch.zeros(1, 1, 5, 5, dtype=torch.uint8)
    image[..., 2, 1] = 255
    generator = np.random.default_rng(0)
    found = {tuple(Augmentation(1, True)(image, generator)[0, 0].nonzero()[0].tolist()) for _ in range(200)}
    assert found == {(y, x) for y in (1, 2, 3) for x in (0, 1, 2, 3, 4)}
    assert not Augmentation()
