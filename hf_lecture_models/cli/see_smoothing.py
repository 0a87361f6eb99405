# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture see smoothing`: the probability of words seen after a context, after a part of it, or never."""

from pathlib import Path

from transformers import AutoModelForCausalLM

from hf_lecture_models.analysis.neighbours import shown
from hf_lecture_models.analysis.smoothing import WordGroup, group_words, probabilities_of, save_smoothing
from hf_lecture_models.cli.io import load_side_by_side, print_columns, print_json


def run(name: str, words: list[str], beside: list[str], number: int, output: Path | None, json: bool) -> None:
    """Print each group's share of the probability under each model and its most probable words, and draw the shares."""
    models = dict(load_side_by_side([name, *beside], AutoModelForCausalLM))
    first = group_words(*next(iter(models.values())), words)
    groups = {title: probabilities_of(*loaded, words, first) for title, loaded in models.items()}
    if json:
        for title, parts in groups.items():
            rows = [{"context": list(g.context), "words": len(g.words), "share": g.share} for g in parts]
            print_json({"model": title, "groups": rows})
    else:
        _print_table(groups, number)
    if output is not None:
        save_smoothing(groups, output, f"after “{' '.join(words)}”" if words else "without context")


def _print_table(groups: dict[str, list[WordGroup]], number: int) -> None:
    rows = [["", *groups]]
    for parts in zip(*groups.values(), strict=True):
        rows.append([f"{parts[0].name} ({len(parts[0].words):,})", *(f"{part.share:.4f}" for part in parts)])
        for i, word in enumerate(parts[0].words[:number]):
            rows.append([f"  {shown(word)}", *(f"{part.probs[i]:.4f}" for part in parts)])
    print_columns(rows)
