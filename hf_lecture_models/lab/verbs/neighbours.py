# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture neighbours`: the words with the most similar embeddings."""

from dataclasses import asdict
from pathlib import Path

from hf_lecture_models.analysis.neighbours import Neighbour, nearest_neighbours, shown
from hf_lecture_models.cli.io import print_json
from hf_lecture_models.lab.studies.neighbour_pictures import save_neighbour_map
from hf_lecture_models.lab.studies.word_tests import solve_analogy
from hf_lecture_models.loading import load_model


def run(
    name: str,
    words: list[str],
    number: int,
    output_embeddings: bool,
    metric: str,
    mean_of_pieces: bool,
    output: Path | None,
    analogy: bool,
    json: bool,
) -> None:
    """Print each word's nearest neighbours with their similarity, or the answers to an analogy."""
    model, tokenizer = load_model(name)
    which = "output" if output_embeddings else "input"
    if analogy:
        answers = solve_analogy(model, tokenizer, words, number, which)
        row = {"analogy": words, "answers": [asdict(answer) for answer in answers]}
        print_json(row) if json else print(_line(answers))
        return
    found = nearest_neighbours(model, tokenizer, words, number, which, metric, mean_of_pieces=mean_of_pieces)
    for one in found:
        print_json(asdict(one)) if json else print(f"{shown(one.word)}\t{_line(one.neighbours)}")
    if output is not None:
        save_neighbour_map(model, found, output, which, metric)


def _line(neighbours: tuple[Neighbour, ...]) -> str:
    return "  ".join(f"{shown(n.word)} {n.similarity:.3f}" for n in neighbours)
