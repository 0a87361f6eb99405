# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture see alignment`: the words, or the patches of an image, to which each word of the target attended."""

from pathlib import Path

from transformers import AutoModelForImageTextToText, AutoModelForSeq2SeqLM

from hf_lecture_models.base.pillow_images import open_image
from hf_lecture_models.cli.io import NAMED, heaviest, print_json
from hf_lecture_models.loading import load_model, short_name
from hf_lecture_models.tasks.captioning.describe import describe_image
from hf_lecture_models.tasks.translation.alignment import align
from hf_lecture_models.tasks.translation.pictures import save_alignment, save_patch_alignment
from hf_lecture_models.tasks.translation.translate import given_translation, translate


def run(
    name: str,
    text: str | None,
    image: Path | None,
    target: str | None,
    beams: int | None,
    layer: int | None,
    head: int | None,
    output: Path | None,
    json: bool,
) -> None:
    """Print the source's words to which each word of the translation, or of `target`, attends, and draw the map.

    With `image`, the patches to which each word of its caption attends.
    """
    if image is not None:
        _see_patches(name, image, target, beams, layer, head, output, json)
        return
    assert text is not None
    model, tokenizer = load_model(name, AutoModelForSeq2SeqLM)
    if target is not None:
        found = given_translation(model, tokenizer, text, target)
    else:
        (found,) = translate(model, tokenizer, [text], **({} if beams is None else {"num_beams": beams}))
    (alignment,) = align(model, tokenizer, [found])
    weights, which = alignment.of(layer, head), alignment.which(layer, head)
    if output is not None:
        save_alignment(alignment.source, alignment.target, weights, output, which, short_name(name))
    if json:
        sides = {"translation": found.text, "source": list(alignment.source), "target": list(alignment.target)}
        print_json({**sides, "layer": layer, "head": head, "weights": weights.tolist()})
        return
    print(f"{which}: {found.text}")
    for word, row in zip(alignment.target, weights, strict=True):
        print(f"{word}\t{heaviest(row, alignment.source, NAMED)}")


def _see_patches(
    name: str,
    image: Path,
    caption: str | None,
    beams: int | None,
    layer: int | None,
    head: int | None,
    output: Path | None,
    json: bool,
) -> None:
    """Print the patches to which each word of an image's caption attends, and draw the image for each word."""
    model, processor = load_model(name, AutoModelForImageTextToText)
    opened, options = open_image(str(image), str(image)), {} if beams is None else {"num_beams": beams}
    text, alignment = describe_image(model, processor, opened, caption, **options)
    weights, which = alignment.of(layer, head), alignment.which(layer, head)
    if output is not None:
        save_patch_alignment(opened, alignment.target, weights, output, which, short_name(name))
    if json:
        sides = {"caption": text, "patches": list(alignment.source), "target": list(alignment.target)}
        print_json({**sides, "layer": layer, "head": head, "weights": weights.tolist()})
        return
    print(f"{which}: {text}")
    for word, row in zip(alignment.target, weights, strict=True):
        print(f"{word}\t{heaviest(row, alignment.source, NAMED)}")
