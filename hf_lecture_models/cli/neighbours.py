# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture neighbours`: the words with the most similar embeddings."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from hf_lecture_models.analysis.neighbours import Neighbour, nearest_neighbours, shown
from hf_lecture_models.cli.io import print_json
from hf_lecture_models.lab.studies.neighbour_pictures import save_neighbour_map
from hf_lecture_models.lab.studies.word_tests import solve_analogy
from hf_lecture_models.loading import load_model


def run(name: str, words: list[str], options: dict[str, Any], output: Path | None, json: bool) -> None:
    """Print each word's nearest neighbours with their similarity, or the answers to an analogy.

    Args:
        options: arguments of `nearest_neighbours`, and `analogy`.
    """
    model, tokenizer = load_model(name)
    if options.pop("analogy"):
        answers = solve_analogy(model, tokenizer, words, options["k"], options["which"])
        row = {"analogy": words, "answers": [asdict(answer) for answer in answers]}
        print_json(row) if json else print(_line(answers))
        return
    found = nearest_neighbours(model, tokenizer, words, **options)
    for one in found:
        print_json(asdict(one)) if json else print(f"{shown(one.word)}\t{_line(one.neighbours)}")
    if output is not None:
        save_neighbour_map(model, found, output, options["which"], options["metric"])


def _line(neighbours: tuple[Neighbour, ...]) -> str:
    return "  ".join(f"{shown(n.word)} {n.similarity:.3f}" for n in neighbours)
