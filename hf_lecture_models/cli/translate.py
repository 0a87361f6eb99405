# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture translate`: lines in one language to lines in another."""

import sys
from functools import partial
from typing import Any

from transformers import AutoModelForSeq2SeqLM

from hf_lecture_models.cli.io import line_chunks, print_json
from hf_lecture_models.evaluation.translation import translate_n_best
from hf_lecture_models.loading import load_model


def run(name: str, files: list[str], options: dict[str, Any], json: bool, batch_size: int) -> None:
    """Print translations as their batches are ready; an empty line gives empty ones, so that lines stay aligned.

    Args:
        options: of `translate_n_best`; of several translations of a line each is a line, best first.

    Raises:
        ValueError: the model translates nothing, or a line is too long for it.
    """
    model, tokenizer = load_model(name, AutoModelForSeq2SeqLM)
    number = 0
    for chunk in line_chunks(files, batch_size):
        texts = {place: line for place, line in enumerate(chunk) if line.strip()}
        lines = [number + place + 1 for place in texts]
        found = translate_n_best(
            model,
            tokenizer,
            list(texts.values()),
            batch_size=batch_size,
            where=partial(_line, lines),
            **options,
        )
        translations = dict(zip(texts, found, strict=True))
        for place, line in enumerate(chunk):
            written = [(one.text, one.score) for one in translations.get(place, ())]
            for text, score in written or [("", None)] * (options.get("num_return_sequences") or 1):
                shown = " ".join(text.splitlines())
                print_json({"text": line, "translation": text, "score": score}) if json else print(shown)
        number += len(chunk)
        sys.stdout.flush()


def _line(lines: list[int], index: int) -> str:
    """What messages call a text: the line where it stands."""
    return f"line {lines[index]}"
