# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture see alignment`: which words of the source each word of the target attended to."""

from pathlib import Path

from transformers import AutoModelForSeq2SeqLM

from hf_lecture_models.analysis.alignment_pictures import save_alignment
from hf_lecture_models.cli.io import print_json
from hf_lecture_models.evaluation.alignment import align
from hf_lecture_models.evaluation.translation import given_translation, translate
from hf_lecture_models.loading import load_model, short_name

# Of the words that one attends to, those that a line names.
_NAMED = 3


def run(
    name: str,
    text: str,
    target: str | None,
    beams: int | None,
    layer: int | None,
    head: int | None,
    output: Path | None,
    json: bool,
) -> None:
    """Print for each word of the translation, or of `target`, what it attends to; draw the map."""
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
        best = row.topk(min(_NAMED, len(row)))
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        print(f"{word}\t{'  '.join(f'{alignment.source[index]} {value:.3f}' for index, value in pairs)}")
