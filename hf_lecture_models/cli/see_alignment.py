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
    search = {} if beams is None else {"num_beams": beams}
    if image is None:
        assert text is not None
        model, tokenizer = load_model(name, AutoModelForSeq2SeqLM)
        given = None if target is None else given_translation(model, tokenizer, text, target)
        found = given or translate(model, tokenizer, [text], **search)[0]
        written, (alignment,) = found.text, align(model, tokenizer, [found])
    else:
        model, processor = load_model(name, AutoModelForImageTextToText)
        opened = open_image(str(image), str(image))
        written, alignment = describe_image(model, processor, opened, target, **search)
    weights, which = alignment.of(layer, head), alignment.which(layer, head)
    if output is not None and image is None:
        save_alignment(alignment.source, alignment.target, weights, output, which, short_name(name))
    elif output is not None:
        save_patch_alignment(opened, alignment.target, weights, output, which, short_name(name))
    if json:
        of_text, of_source = ("translation", "source") if image is None else ("caption", "patches")
        sides = {of_text: written, of_source: list(alignment.source), "target": list(alignment.target)}
        print_json({**sides, "layer": layer, "head": head, "weights": weights.tolist()})
        return
    print(f"{which}: {written}")
    for word, row in zip(alignment.target, weights, strict=True):
        print(f"{word}\t{heaviest(row, alignment.source, NAMED)}")
