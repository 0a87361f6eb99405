# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture see alignment`: the words, or the patches of an image, to which each word of the target attended."""

from pathlib import Path

import numpy as np
from transformers import AutoModelForImageTextToText, AutoModelForSeq2SeqLM

from hf_lecture_models.analysis.alignment_pictures import save_alignment, save_patch_alignment
from hf_lecture_models.cli.io import NAMED, heaviest, print_json
from hf_lecture_models.data.images import open_image
from hf_lecture_models.evaluation.alignment import align
from hf_lecture_models.evaluation.captions import align_patches, caption_pixels, longest_caption
from hf_lecture_models.evaluation.translation import given_translation, translate
from hf_lecture_models.loading import load_model, short_name


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
    tokenizer, opened = getattr(processor, "tokenizer", None), open_image(str(image), str(image))
    if tokenizer is None:
        raise ValueError(f"{name} has no tokenizer, so it writes no captions")
    pixels = processor.image_processor(opened, return_tensors="pt").pixel_values
    if caption is not None:
        ids = tokenizer(caption)["input_ids"]
        if len(ids) > longest_caption(model):
            raise ValueError(f"the caption has {len(ids)} tokens, and the model reads {longest_caption(model)} at most")
    else:
        ((found,),) = caption_pixels(model, tokenizer, pixels, **({} if beams is None else {"num_beams": beams}))
        ids = found.ids
    alignment = align_patches(model, tokenizer, pixels, ids)
    weights, which = alignment.of(layer, head), alignment.which(layer, head)
    text = tokenizer.decode(ids, skip_special_tokens=True).strip()
    if output is not None:
        side = round(len(alignment.source) ** 0.5)
        shown = np.asarray(opened.convert("RGB" if model.config.num_channels == 3 else "L"))
        grids = weights.unflatten(1, (side, side))
        save_patch_alignment(shown, alignment.target, grids, output, which, short_name(name))
    if json:
        sides = {"caption": text, "patches": list(alignment.source), "target": list(alignment.target)}
        print_json({**sides, "layer": layer, "head": head, "weights": weights.tolist()})
        return
    print(f"{which}: {text}")
    for word, row in zip(alignment.target, weights, strict=True):
        print(f"{word}\t{heaviest(row, alignment.source, NAMED)}")
