# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture neighbours`: the words with the most similar embeddings."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from hf_lecture_models.analysis.neighbour_pictures import save_neighbour_map
from hf_lecture_models.analysis.neighbours import nearest_neighbours, shown
from hf_lecture_models.cli.io import print_json
from hf_lecture_models.loading import load_model


def run(name: str, words: list[str], options: dict[str, Any], picture: Path | None, json: bool) -> None:
    """Print each word's nearest neighbours with their similarity; `options` as for `nearest_neighbours`."""
    model, tokenizer = load_model(name)
    found = nearest_neighbours(model, tokenizer, words, **options)
    for one in found:
        near = "  ".join(f"{shown(n.word)} {n.similarity:.3f}" for n in one.neighbours)
        print_json(asdict(one)) if json else print(f"{shown(one.word)}\t{near}")
    if picture is not None:
        save_neighbour_map(model, found, picture, options["which"], options["metric"])
